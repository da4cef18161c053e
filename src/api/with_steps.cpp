#include "api/with_steps.hpp"

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "inspect/last_commit.hpp"

#include <utility>

namespace remanence::inspect {

namespace {

/// True for errors that a concurrent writer may cause.
bool is_writers_doing(errc code) { return is_damage(code) || code == errc::in_use || code == errc::not_found; }

/// True if the heap has a later commit or another checkpoint. Then the history that was read may belong to that one.
result<bool> has_moved_on(os::file_system& files, inspection& from) {
    auto same = from.is_unchanged(files);
    if (!same || !*same || !from.is_live()) // while the superblock is the same, no process has begun to write
        return same ? result<bool>(!*same) : same.error();
    auto now = inspection::open_live(files, from.path(), {});
    if (!now && !is_writers_doing(now.why().code))
        return now.error();
    return !now || (*now)->version() != from.version() || (*now)->super().checksum != from.super().checksum;
}

} // namespace

// The writer moves steps from the log to the history file, and replaces that file. So the file that was read may not
// match the log, but a history file always exists.
result<std::optional<recover::history_beside>> history_of(os::file_system& files, inspection& heap,
                                                          std::span<const version_or_name> wanted) {
    auto found = recover::read_history(files, heap.store(), wanted);
    if (found && (found->steps || !found->is_there))
        return std::optional(std::move(*found));
    if (!found && found.why().code == errc::in_use)
        return std::optional<recover::history_beside>();
    if (!found && !is_writers_doing(found.why().code))
        return found.error();
    auto moved = has_moved_on(files, heap);
    if (!moved)
        return moved.error();
    if (*moved)
        return std::optional<recover::history_beside>();
    return found ? result<std::optional<recover::history_beside>>(std::move(*found)) : found.error();
}

result<void> look_at_history(os::file_system& files, const std::string& path, const inspection_progress& progress,
                             const history_visitor& use, std::span<const version_or_name> wanted) {
    attempt_count attempts{k_attempts_to_look_back};
    while (attempts.made < attempts.most) {
        bool is_passed = false;
        auto heap = with_last_commit(files, path, attempts, progress, [&](inspection& now) -> result<void> {
            is_passed = false;
            if (!now.problems().empty()) // the cause may also be a new commit; then the heap is read again
                return unexpected(now.problems().front());
            auto found = history_of(files, now, wanted);
            if (!found)
                return found.error();
            is_passed = !found->has_value();
            return is_passed ? result<void>() : use(now, **found);
        });
        if (!heap)
            return heap.error();
        if (!(*heap)->problems().empty())
            return unexpected((*heap)->problems().front());
        if (!is_passed)
            return {};
    }
    return fail(
        errc::in_use,
        path + " is open elsewhere and written to faster than its history can be read: it changed during each of " +
            std::to_string(k_attempts_to_look_back) + " attempts. Try again when less is written.",
        path);
}

result<void> look_at_steps(os::file_system& files, const std::string& path, const inspection_progress& progress,
                           const steps_visitor& use, std::span<const version_or_name> wanted) {
    const auto use_steps = [&](inspection& now, recover::history_beside& found) -> result<void> {
        if (found.steps)
            return use(now, *found.steps);
        return fail(errc::no_step, now.path() + " has no history: " + found.why, now.path());
    };
    return look_at_history(files, path, progress, use_steps, wanted);
}

inspection_progress progress_of_log(const progress_callback& on_progress) {
    return [&](std::uint64_t done, std::uint64_t total) {
        if (on_progress)
            on_progress(step::reading_log, done, total);
    };
}

void with_steps(const std::string& path, const progress_callback& on_progress, const steps_visitor& use,
                std::span<const version_or_name> wanted) {
    detail::check(look_at_steps(os::posix_file_system(), detail::real_path(path).string(), progress_of_log(on_progress),
                                use, wanted));
}

} // namespace remanence::inspect
