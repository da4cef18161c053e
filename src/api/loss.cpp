// What is said of changes that nobody committed, when they are dropped.

#include "api/heap_impl.hpp"
#include "os/write_traps.hpp"
#include "types/change_place.hpp"
#include "types/pointer_check.hpp"

#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::detail {

namespace {

const char* name_of(discarded_changes::by whom) {
    switch (whom) {
    case discarded_changes::by::close:
        return "close()";
    case discarded_changes::by::destructor:
        return "the destructor";
    case discarded_changes::by::unlock:
        break;
    }
    return "unlock(), or the end of a std::unique_lock,";
}

const char* advice_for(discarded_changes::by whom, bool commits_at_close) {
    if (commits_at_close) // it is not asked for by close()
        return ". An exception, or the end of the process in a section, takes the heap away, so it commits nothing.\n";
    if (whom == discarded_changes::by::unlock)
        return ". Call commit() before, or use write(), which commits.\n";
    return ". Call commit() before, make changes in write(), or open the heap with commit_at_close.\n";
}

} // namespace

bool heap_impl::is_loss_heard() const noexcept { return options.on_discard || types::checks_pointers(); }

// Without memory for that, nothing is said: what is dropped is dropped all the same.
void heap_impl::report_loss(discarded_changes::by whom, std::optional<std::uint64_t> bytes,
                            const std::function<std::string()>& where) noexcept {
    try {
        if (types::checks_pointers() && !std::exchange(has_told_of_loss, true)) {
            std::string text = "remanence: ";
            text += name_of(whom);
            text += " discards ";
            text += bytes ? std::to_string(*bytes) + " bytes that were" : "what was";
            text += " changed in the heap " + path.string() + " and not committed";
            if (const std::string place = where ? where() : std::string(); !place.empty())
                text += ", the first of them " + place;
            text +=
                bytes ? advice_for(whom, options.commit_at_close && whom == discarded_changes::by::destructor)
                      : ". A section was open, of this thread or another. End every section, and the threads that use "
                        "the heap, before it is destroyed.\n";
            os::say(text.c_str());
        }
        if (options.on_discard)
            options.on_discard({whom, path, bytes});
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
    }
}

void heap_impl::unlock() noexcept {
    if (lock.write_depth() > 1) {
        leave_write(); // the outermost unlock decides
        return;
    }
    if (doomed || std::uncaught_exceptions() > exceptions_at_lock) {
        abandon_write();
        return;
    }
    abandon_write([this](txn::heap_memory& all, const change::change_set& lost, const alloc::block_allocator& blocks) {
        const std::uint64_t bytes = lost.changed_bytes();
        discarded_bytes += bytes;
        report_loss(discarded_changes::by::unlock, bytes, [&] { return types::root_of_first(all, lost, blocks); });
    });
}

void heap_impl::tell_of_loss(discarded_changes::by whom) noexcept {
    if (options.read_only || !is_loss_heard())
        return;
    try {
        (void)engine->look_at_changes(
            [&](txn::heap_memory& all, const change::change_set& lost, const alloc::block_allocator& blocks) {
                report_loss(whom, lost.changed_bytes(), [&] { return types::root_of_first(all, lost, blocks); });
            });
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): the heap can still be closed
    }
}

void heap_impl::tell_of_end_in_section() noexcept {
    if (!options.read_only)
        report_loss(discarded_changes::by::destructor, std::nullopt, {});
}

} // namespace remanence::detail
