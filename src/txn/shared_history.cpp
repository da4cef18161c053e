// The history of a heap that several processes share: each has all steps, and does to them what the records of the others say. Apart
// from heap_history.cpp, which is long enough.
//
// The limits of whoever opens the heap first hold for all: the file has them before anybody joins. Entries of the file are the same bytes
// at the same place whoever writes them (history_file.hpp). Whoever makes a checkpoint, and has the turn to write, makes the file anew when it
// has grown; the others go on in that one before they write to it, or when the old one does not lead to a checkpoint.

#include "history/step_loader.hpp"
#include "log/record.hpp"
#include "store/heap_creation.hpp"
#include "txn/heap_history.hpp"

#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::txn {

namespace {

unexpected cannot_follow(const std::string& path, const std::string& why) {
    return fail(errc::corrupt,
                "the history of " + path + ", which other processes share, cannot be followed: " + why +
                    " Close the heap in all processes. A history that is damaged begins anew when it is opened next.",
                path);
}

} // namespace

result<void> heap_history::share(const history::commit_name& last) {
    is_shared_ = true;
    owes_session_ = false;
    if (file_->has_begun() && file_->has_limits())
        return {};
    auto mode = heap_->permissions();
    return mode ? file_->begin(steps_, last, *mode) : mode.error();
}

result<void> heap_history::join(os::file_system& files, os::file& heap, const heap_names& names,
                                const history::heap_uuid& uuid, const history::commit_name& at,
                                std::uint64_t heap_bytes, std::uint64_t rewritten_from) {
    heap_ = &heap;
    names_ = &names;
    is_shared_ = true;
    owes_session_ = false;
    file_.emplace(files, store::history_path(names.heap()), uuid, rewritten_from);
    std::string why;
    auto loaded = file_->load(at, std::nullopt, heap_bytes, why);
    if (!loaded)
        return loaded.error();
    if (!*loaded)
        return cannot_follow(path_, why);
    if (file_->through().version > at.version)
        REM_TRY(file_->sync_name());
    steps_ = std::move(**loaded);
    return {};
}

result<void> heap_history::follow(const recover::scanned_record& record) {
    const history::commit_name commit{record.version, record.checksum};
    const history::commit_name& known = file_->through();
    if (commit.version < known.version || commit == known)
        return {}; // the file began later
    const auto events = log::events_in(record.bytes);
    if (!events || commit.version != known.version + 1)
        return cannot_follow(path_, "commit " + std::to_string(commit.version) + " does not say what became of it.");
    REM_TRY(follow(commit, *events, record.image_bytes));
    file_->add_of_others(commit, *events);
    return {};
}

result<void> heap_history::follow(const history::commit_name& commit, std::span<const std::byte> events,
                                  std::uint64_t heap_bytes) {
    history::step_loader steps(heap_bytes, std::move(steps_));
    const struct returned {
        history::step_loader& from;
        history::step_tree& to;
        ~returned() { to = from.take(); }
    } at_end{steps, steps_};
    if (!steps.add(commit.version, events))
        return cannot_follow(path_, "what commit " + std::to_string(commit.version) + " did to it is not sound.");
    if (steps.has_lacked_memory())
        throw std::bad_alloc();
    return {};
}

result<void> heap_history::follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) {
    if (file_->through().version >= checkpoint.version)
        return {};
    auto reached =
        file_->read_on(checkpoint, [&](const history::commit_name& commit, std::span<const std::byte> events) {
            return follow(commit, events, heap_bytes);
        });
    if (!reached)
        return reached.error();
    if (*reached)
        return {};
    std::string why; // another process has made the file anew, from one of these commits on
    auto loaded = file_->load(checkpoint, std::nullopt, heap_bytes, why);
    if (!loaded)
        return loaded.error();
    if (!*loaded)
        return cannot_follow(path_, why);
    (*loaded)->continue_group_of(steps_, true);
    steps_ = std::move(**loaded);
    return {};
}

void heap_history::note_checkpoint(std::uint64_t version) noexcept { file_->forget_pending(version); }

} // namespace remanence::txn
