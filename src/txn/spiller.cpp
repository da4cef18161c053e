#include "txn/spiller.hpp"

#include "base/range.hpp"
#include "os/blocked_signals.hpp"
#include "os/cancellation.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace remanence::txn {

namespace {

constexpr std::uint64_t k_spilled_in_a_pause = 64 * MiB;
constexpr std::chrono::milliseconds k_between_pauses{5};

/// While this object exists, no other thread writes to memory, if the tracker can pause threads, and signals of this
/// thread are blocked. Checkpoints report no progress meanwhile: that would run the program's own code, which may wait
/// for a paused thread.
class others_paused {
public:
    others_paused(view::memory_view& view, checkpointer& checkpoints) : view_(view), checkpoints_(checkpoints) {
        begin();
    }
    others_paused(const others_paused&) = delete;
    others_paused& operator=(const others_paused&) = delete;
    ~others_paused() { (void)end(); }
    result<void> let_them_write_a_while() {
        REM_TRY(end());
        std::this_thread::sleep_for(k_between_pauses);
        begin();
        return {};
    }
    result<void> end() {
        checkpoints_.be_silent(false);
        return std::exchange(are_paused_, false) ? view_.spiller().let_all_go_on() : result<void>();
    }

private:
    void begin() {
        are_paused_ = view_.spiller().pause_all();
        checkpoints_.be_silent(are_paused_);
    }

    os::blocked_signals none_;
    view::memory_view& view_;
    checkpointer& checkpoints_;
    bool are_paused_ = false;
};

} // namespace

bool spiller::spill_excess() noexcept {
    const std::uint64_t before = spilled_bytes_;
    return try_to_spill({}, spilled_by::the_side) && spilled_bytes_ == before;
}

bool spiller::try_to_spill(heap_range handed_out, spilled_by whom) noexcept {
    const std::unique_lock alone(locks_.at_store,
                                 std::try_to_lock); // a thread that has the lock commits, or reads statistics
    if (!alone.owns_lock())
        return false;
    if (never_spills_ || is_held_ || health_.is_poisoned())
        return true;
    if (view_.committed().has_copies())
        return false; // as if locked: a thread is about to make the record of a commit whose pages were only copied
    const os::no_cancellation whole;
    try {
        auto spilled = health_.poisoning_without_memory([&] { return spill(handed_out, whom); });
        if (!spilled)
            (void)health_.poison(spilled.error()); // the next commit reports it
    } catch (const std::bad_alloc&) {              // NOLINT(bugprone-empty-catch): the next commit reports it
    }
    return true;
}

result<void> spiller::spill(heap_range handed_out, spilled_by whom) {
    const std::uint64_t budget = budget_.dirty_limit_bytes();
    if (view_.memory().accessible_bytes() <= budget) {
        pace_.looked(0, 0, budget);
        return {};
    }
    auto found = view_.spiller().find_spillable(handed_out);
    if (!found) {
        pace_.looked(0, 0, budget);
        return {}; // the next commit meets the same failure and reports it
    }
    const std::uint64_t before = found->written_bytes;
    std::uint64_t left = before;
    if (before >= budget) {
        std::optional<others_paused> paused; // other threads may write faster than this one spills
        if (whom == spilled_by::the_side)
            paused.emplace(view_, checkpoints_);
        // A chunk that was spilled, and so moved to its other copy, cannot be spilled again until a checkpoint is done.
        // If too few are left to spill, finish the checkpoint that is under way, and search again.
        if (checkpoints_.is_under_way() && found->chunks.size() * image_.chunk_bytes() < budget / 2) {
            REM_TRY(checkpoints_.finish());
            found = view_.spiller().find_spillable(handed_out);
            if (!found)
                return {};
        }
        std::span<const view::chunk_spiller::written_chunk> chunks = found->chunks;
        REM_TRY(spill_some(chunks, left, budget / 2));
        while (!chunks.empty() && left > budget / 2) {
            if (paused)
                REM_TRY(paused->let_them_write_a_while());
            REM_TRY(spill_some(chunks, left, budget / 2));
        }
        if (paused)
            REM_TRY(paused->end());
    }
    pace_.looked(before, left, budget);
    return {};
}

// Spills chunks until no more than `enough` bytes are left or there is no room, but at most as many bytes as paused
// threads may wait for. Removes the chunks that it has handled from `chunks`.
result<void> spiller::spill_some(std::span<const view::chunk_spiller::written_chunk>& chunks, std::uint64_t& left,
                                 std::uint64_t enough) {
    const std::uint64_t end = std::max(enough, left - std::min(left, k_spilled_in_a_pause));
    while (!chunks.empty() && left > end) {
        auto spilled = spill_chunk(chunks.front());
        space_.note_left_copies();
        if (!spilled)
            return spilled.error();
        chunks = *spilled ? chunks.subspan(1) : std::span<const view::chunk_spiller::written_chunk>();
        left -= std::min(left, spilled->value_or(0));
    }
    return {};
}

// Returns the number of bytes freed; nothing if there is no room, so that the chunk stays in memory. Fails only if the
// file fails.
result<std::optional<std::uint64_t>> spiller::spill_chunk(const view::chunk_spiller::written_chunk& written) {
    const std::uint64_t chunk = written.chunk;
    const auto kept = [](const failure& why) -> result<std::optional<std::uint64_t>> {
        if (is_refusal(why.code) || why.code == errc::exhausted)
            return std::optional<std::uint64_t>();
        return unexpected(why);
    };
    auto pages = view_.spiller().pages_to_spill(chunk);
    if (!pages)
        return kept(pages.why());
    if (pages->empty()) {
        auto given_back = view_.spiller().give_back_zeros(chunk);
        return given_back ? std::optional(*given_back) : kept(given_back.why());
    }
    const bool is_stored = image_.is_stored(chunk);
    if (auto reserved = is_stored ? reserve_to_move_early(chunk) : reserve_to_spill(chunk, *pages); !reserved) {
        if (reserved.why().code == errc::no_space)
            space_.give_back_unstored();
        return kept(reserved.why());
    }
    auto spilled = view_.spiller().spill(chunk, *pages);
    if (!spilled && spilled.why().code == errc::exhausted)
        return std::optional<std::uint64_t>();
    if (!spilled)
        return spilled.error(); // I5: even errc::no_space, since the space was reserved
    spilled_bytes_ += *spilled;
    return std::optional<std::uint64_t>(*spilled == 0 ? 0 : written.bytes);
}

result<void> spiller::reserve_to_spill(std::uint64_t chunk, const std::vector<track::page_run>& pages) {
    REM_TRY(room_.reserve_places());
    REM_TRY(space_.discard_before_fresh());
    const std::uint64_t end = (chunk + 1) * image_.chunk_bytes();
    if (room_.needs_regions(end))
        REM_TRY(checkpoints_.finish()); // the next call writes a superblock of its own
    REM_TRY(room_.add_regions(end));
    for (const track::page_run& run : pages) {
        const std::uint64_t behind = run.end() / k_page_bytes;
        for (std::uint64_t page = run.offset / k_page_bytes; page < behind;) {
            const std::uint64_t first = page;
            while (page < behind && !view_.spiller().spilled().has_page(page))
                ++page;
            if (first < page)
                REM_TRY(room_.reserve_pages(first, page - first));
            while (page < behind && view_.spiller().spilled().has_page(page))
                ++page;
        }
    }
    return room_.extend_to_fresh(chunk);
}

result<void> spiller::reserve_to_move_early(std::uint64_t chunk) {
    REM_TRY(room_.reserve_places());
    if (room_.needs_copies_b({{chunk}}))
        REM_TRY(checkpoints_.finish()); // the next call writes a superblock of its own
    REM_TRY(room_.add_copies_b({{chunk}}));
    return room_.reserve_move(chunk, 1);
}

} // namespace remanence::txn
