#include "operations.hpp"

#include "os/write_traps.hpp"
#include "support/waiting.hpp"

#include <rapidcheck.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <unistd.h>

namespace remanence::test {

namespace {

rc::Gen<operation> any_operation(event often) {
    using kind = operation::kind;
    const auto share = [often](event e, std::size_t weight) { return often == e ? weight : 0; };
    return rc::gen::build<operation>(
        rc::gen::set(&operation::what,
                     rc::gen::weightedElement<kind>({{66, kind::change},
                                                     {4, kind::change_in_section},
                                                     {20, kind::fail},
                                                     {3 + share(event::commit, 5), kind::commit},
                                                     {2 + share(event::rollback, 5), kind::rollback},
                                                     {share(event::reopen, 1), kind::reopen},
                                                     {share(event::reopen, 1), kind::commit_and_reopen},
                                                     {share(event::kill, 1), kind::kill},
                                                     {share(event::kill, 1), kind::kill_in_commit}})),
        rc::gen::set(&operation::choice, rc::gen::inRange(0U, 1000U)),
        rc::gen::set(&operation::position, rc::gen::inRange(0U, 1000U)),
        rc::gen::set(&operation::key, rc::gen::inRange(0U, 40U)),
        rc::gen::set(&operation::text_bytes, rc::gen::inRange(0U, 201U)),
        rc::gen::set(&operation::fuse, rc::gen::inRange(1U, 30U)));
}

} // namespace

const char* name_of(event often) {
    switch (often) {
    case event::commit:
        return "commit";
    case event::rollback:
        return "rollback";
    case event::reopen:
        return "reopen";
    case event::kill:
        break;
    }
    return "kill";
}

time_limit::time_limit() {
    struct sigaction action{};
    action.sa_handler = [](int) {
        os::say("it has hung; here it was:\n");
        os::say_backtrace();
        std::abort();
    };
    ::sigaction(SIGALRM, &action, nullptr);
    ::alarm(k_hang_seconds);
}

time_limit::~time_limit() { ::alarm(0); }

bool check_sequences(event often, const std::function<void(const std::vector<operation>&)>& run) {
    constexpr int k_shrinking_max = 1000; // sequences that are tried to shorten the one that failed
    std::optional<int> shrinking;
    return rc::check(std::string("conforms to the standard container: ") + name_of(often), [&] {
        const auto all = *rc::gen::container<std::vector<operation>>(k_steps, any_operation(often));
        if (shrinking && ++*shrinking > k_shrinking_max)
            return; // what is found by now is the shortest
        const time_limit of_all_steps;
        try {
            run(all);
        } catch (const std::exception& why) {
            if (!shrinking) {
                std::cerr << "fails, and is shrunk now: " << why.what() << std::endl;
                shrinking = 0;
            }
            throw;
        }
    });
}

} // namespace remanence::test
