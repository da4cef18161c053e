#include "api/loss_teller.hpp"

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
    return "unlock()";
}

const char* advice_for(discarded_changes::by whom, bool commits_at_close) {
    if (commits_at_close) // the caller passes true only for the destructor
        return ". It commits nothing when an exception destroys the heap, or when the process ends in a section.\n";
    if (whom == discarded_changes::by::unlock)
        return ", since its commit has failed.\n";
    return ". Call commit() before, make changes in write(), or open the heap with commit_at_close.\n";
}

} // namespace

// Without memory for the report, nothing is reported, but the changes are dropped all the same.
void loss_teller::report(discarded_changes::by whom, std::optional<std::uint64_t> bytes,
                         const std::function<std::string()>& where) noexcept {
    try {
        if (types::checks_pointers() && !std::exchange(has_told_, true)) {
            std::string text = "remanence: ";
            text += name_of(whom);
            text += " discards ";
            text += bytes ? std::to_string(*bytes) + " bytes that were" : "what was";
            text += " changed in the heap " + origin_.path.string() + " and not committed";
            if (const std::string place = where ? where() : std::string(); !place.empty())
                text += ", the first of them " + place;
            text +=
                bytes ? advice_for(whom, options_.commit_at_close && whom == discarded_changes::by::destructor)
                      : ". A section was open, of this thread or another. End every section, and the threads that use "
                        "the heap, before it is destroyed.\n";
            os::say(text.c_str());
        }
        if (options_.checks.on_discard)
            options_.checks.on_discard({whom, origin_.path, bytes});
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
    }
}

void loss_teller::tell_of_unlock(txn::heap_memory& all, const change::change_set& lost,
                                 const alloc::block_allocator& blocks) {
    const std::uint64_t bytes = lost.changed_bytes();
    discarded_bytes_ += bytes;
    report(discarded_changes::by::unlock, bytes, [&] { return types::root_of_first(all, lost, blocks); });
}

void loss_teller::tell(discarded_changes::by whom) noexcept {
    const bool is_heard = options_.checks.on_discard || types::checks_pointers();
    if (options_.read_only || !is_heard)
        return;
    try {
        (void)engine_.look_at_changes(
            [&](txn::heap_memory& all, const change::change_set& lost, const alloc::block_allocator& blocks) {
                report(whom, lost.changed_bytes(), [&] { return types::root_of_first(all, lost, blocks); });
            });
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): the heap can still be closed
    }
}

void loss_teller::tell_of_end_in_section() noexcept {
    if (!options_.read_only)
        report(discarded_changes::by::destructor, std::nullopt, {});
}

} // namespace remanence::detail
