#include "api/with_steps.hpp"

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "inspect/last_commit.hpp"
#include "recover/steps_beside.hpp"

#include <variant>

namespace remanence::inspect {

void with_steps(const std::string& path, const progress_callback& on_progress,
                const std::function<result<void>(inspection&, history::step_tree&)>& use) {
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        if (on_progress)
            on_progress(step::reading_log, done, total);
    };
    auto heap =
        with_last_commit(os::posix_file_system(), detail::real_path(path).string(), k_attempts_to_look_back, progress,
                         [&](inspection& now) -> result<void> {
                             if (!now.problems().empty()) // or the writer moved on: it is looked at again
                                 return unexpected(now.problems().front());
                             auto found = recover::read_history(os::posix_file_system(), now.store());
                             if (!found)
                                 return found.error();
                             if (!found->steps)
                                 return fail(errc::no_step, now.path() + " has no history: " + found->why, now.path());
                             return use(now, *found->steps);
                         });
    if (!heap)
        detail::raise(heap.why());
    if (!(*heap)->problems().empty())
        detail::raise((*heap)->problems().front());
}

result<std::uint64_t> state_of(const history::step_tree& steps, const version_or_name& version,
                               const std::string& path) {
    return std::visit([&](const auto& asked) { return recover::state_of(steps, asked, path); }, version);
}

} // namespace remanence::inspect
