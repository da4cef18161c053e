#include "operations.hpp"

#include <rapidcheck.h>

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

bool check_sequences(event often, const std::function<void(const std::vector<operation>&)>& run) {
    return rc::check(std::string("conforms to the standard container: ") + name_of(often),
                     [&] { run(*rc::gen::container<std::vector<operation>>(k_steps, any_operation(often))); });
}

} // namespace remanence::test
