// Beyond memory: when more is written and not committed than the budget allows, chunks are spilled: written early to the homes
// that they take with the next commit, and mapped from there. Any thread that allocates, frees or announces may find that due,
// while others write to the heap.

#include "txn/engine.hpp"

#include "os/blocked_signals.hpp"
#include "os/cancellation.hpp"
#include "os/memory_limit.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace remanence::txn {

namespace {

constexpr std::uint64_t k_part_for_dirty = 4;     // of memory
constexpr std::uint64_t k_part_for_dirty_max = 2; // whatever is asked for: with more the process would be killed first
// Of memory, for twins and for homes that chunks moved out of. Each keeps as much again, of the page that has it, and comes to
// twice as much while a checkpoint is waited for: half of memory at worst, but for a commit that alone makes more.
constexpr std::uint64_t k_part_until_checkpoint = 16;
constexpr std::uint64_t k_retired_bytes_max = 256 * MiB;
constexpr std::uint64_t k_dirty_chunks_min = 8;
constexpr std::uint64_t k_spilled_in_a_pause = 64 * MiB;
constexpr std::chrono::milliseconds k_between_pauses{5};
constexpr std::uint64_t k_worth_watching = 64 * MiB;
constexpr std::uint64_t k_small_bytes = 4 * MiB; // not worth a look at how much memory there is

/// While it lives nobody else writes to memory, if that can be had, and this thread takes no signals. `silences` is set then:
/// the program's own code must not be called, since it may wait for somebody who is paused.
class others_paused {
public:
    others_paused(view::memory_view& view, std::atomic<bool>& silences) : view_(view), silences_(silences) { begin(); }
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
        silences_ = false;
        return std::exchange(are_paused_, false) ? view_.spiller().let_all_go_on() : result<void>();
    }

private:
    void begin() {
        are_paused_ = view_.spiller().pause_all();
        silences_ = are_paused_;
    }

    os::blocked_signals none_;
    view::memory_view& view_;
    std::atomic<bool>& silences_;
    bool are_paused_ = false;
};

} // namespace

// Asked for only when something is at stake: it means reading several files.
std::uint64_t engine::memory_limit() const {
    if (!memory_limit_)
        memory_limit_ = options_.memory_bytes != 0 ? options_.memory_bytes : os::memory_limit(files_);
    return *memory_limit_ != 0 ? *memory_limit_ : ~std::uint64_t{0};
}

std::uint64_t engine::dirty_limit_bytes() const {
    std::uint64_t wanted = options_.dirty_limit_bytes;
    if (wanted == 0)
        wanted = memory_limit() / k_part_for_dirty;
    else if (wanted > k_small_bytes)
        wanted = std::min(wanted, memory_limit() / k_part_for_dirty_max);
    return std::max(wanted, k_dirty_chunks_min * store_->chunk_bytes());
}

std::uint64_t engine::twin_limit_bytes() const {
    if (view_->committed().twin_bytes() < k_small_bytes)
        return options_.twin_limit_bytes;
    return std::min(options_.twin_limit_bytes, twin_limit_of_memory());
}

std::uint64_t engine::twin_limit_of_memory() const {
    return std::max(memory_limit() / k_part_until_checkpoint, k_small_bytes);
}

std::uint64_t engine::retired_limit_bytes() const {
    if (store_->retired_bytes() < k_small_bytes)
        return k_retired_bytes_max;
    return std::min(k_retired_bytes_max, std::max(memory_limit() / k_part_until_checkpoint, k_small_bytes));
}

bool engine::is_memory_short() const { return retired_limit_bytes() < k_retired_bytes_max; }

bool engine::holds_too_many_unsettled() const {
    return view_->committed().unsettled_bytes() >= k_small_bytes && twin_limit_of_memory() < options_.twin_limit_bytes;
}

// Fresh chunks stay anonymous memory when they are committed.
bool engine::holds_too_many_unmapped() const {
    const std::uint64_t bytes = view_->memory().unmapped_bytes();
    return bytes >= k_dirty_chunks_min / 2 * store_->chunk_bytes() &&
           (options_.dirty_limit_bytes != 0 || bytes >= k_small_bytes) && bytes >= dirty_limit_bytes() / 2;
}

std::uint64_t engine::budget_to_watch() const {
    const std::lock_guard alone(at_store_);
    const std::lock_guard allocation(allocation_);
    const std::uint64_t accessible = view_->memory().accessible_bytes();
    if (options_.read_only || (options_.dirty_limit_bytes == 0 && accessible < k_worth_watching))
        return 0;
    const std::uint64_t budget = dirty_limit_bytes();
    return accessible > budget ? budget : 0;
}

bool engine::spill_excess() noexcept {
    const std::unique_lock allocation(allocation_, std::try_to_lock); // else somebody else is about to look, or commits
    const std::uint64_t before = spilled_bytes_;
    return allocation.owns_lock() && try_to_spill({}, spilled_by::the_side) && spilled_bytes_ == before;
}

bool engine::try_to_spill(byte_range handed_out, spilled_by whom) noexcept {
    const std::unique_lock alone(at_store_, std::try_to_lock); // else another thread commits, or asks for statistics
    if (!alone.owns_lock())
        return false;
    if (options_.read_only || is_poisoned())
        return true;
    const os::no_cancellation whole;
    try {
        auto spilled = poisoning_without_memory([&] { return spill(handed_out, whom); });
        if (!spilled)
            (void)poison(spilled.error()); // the next commit will hear
    } catch (const std::bad_alloc&) {      // NOLINT(bugprone-empty-catch): likewise
    }
    return true;
}

result<void> engine::spill(byte_range handed_out, spilled_by whom) {
    const std::uint64_t budget = dirty_limit_bytes();
    if (view_->memory().accessible_bytes() <= budget) {
        spill_pace_.looked(0, 0, budget);
        return {};
    }
    auto found = view_->spiller().find_spillable(handed_out);
    if (!found) {
        spill_pace_.looked(0, 0, budget);
        return {}; // the next commit will say what is wrong with memory
    }
    const std::uint64_t before = found->written_bytes;
    std::uint64_t left = before;
    if (before >= budget) {
        std::optional<others_paused> paused; // they may write faster than anybody spills
        if (whom == spilled_by::the_side)
            paused.emplace(*view_, is_silent_);
        // Chunks that have moved may not move again before a checkpoint.
        if (run_ && found->chunks.size() * store_->chunk_bytes() < budget / 2) {
            REM_TRY(finish_run());
            found = view_->spiller().find_spillable(handed_out);
            if (!found)
                return {};
        }
        std::span<const std::uint64_t> chunks = found->chunks;
        REM_TRY(spill_some(chunks, left, budget / 2));
        while (!chunks.empty() && left > budget / 2) {
            if (paused)
                REM_TRY(paused->let_them_write_a_while());
            REM_TRY(spill_some(chunks, left, budget / 2));
        }
        if (paused)
            REM_TRY(paused->end());
    }
    spill_pace_.looked(before, left, budget);
    return {};
}

// Until no more than `enough` is left, as far as there is room, and for no longer than others may wait. Takes from `chunks`
// what was seen to.
result<void> engine::spill_some(std::span<const std::uint64_t>& chunks, std::uint64_t& left, std::uint64_t enough) {
    const std::uint64_t end = std::max(enough, left - std::min(left, k_spilled_in_a_pause));
    while (!chunks.empty() && left > end) {
        auto spilled = spill_chunk(chunks.front());
        if (view_->spiller().has_left_homes())
            owes_discard_ = true;
        if (!spilled)
            return spilled.error();
        chunks = *spilled ? chunks.subspan(1) : std::span<const std::uint64_t>();
        left -= std::min(left, spilled->value_or(0));
    }
    return {};
}

// Nothing, when there is no room for it: memory keeps it then. Failures are of the file.
result<std::optional<std::uint64_t>> engine::spill_chunk(std::uint64_t chunk) {
    const auto kept = [](const failure& why) -> result<std::optional<std::uint64_t>> {
        if (why.code == errc::no_space || why.code == errc::exhausted)
            return std::optional<std::uint64_t>();
        return unexpected(why);
    };
    auto pages = view_->spiller().pages_to_spill(chunk);
    if (!pages)
        return kept(pages.why());
    if (pages->empty()) {
        auto given_back = view_->spiller().give_back_zeros(chunk);
        return given_back ? std::optional(*given_back) : kept(given_back.why());
    }
    const bool is_stored = store_->is_stored(chunk);
    if (auto room = is_stored ? reserve_to_move_early(chunk) : reserve_to_spill(chunk, *pages); !room) {
        if (room.why().code == errc::no_space)
            (void)store_->discard_unstored(); // what was reserved in vain would keep the disk full
        return kept(room.why());
    }
    auto spilled = view_->spiller().spill(chunk, *pages);
    if (!spilled && spilled.why().code == errc::exhausted)
        return std::optional<std::uint64_t>();
    if (!spilled)
        return spilled.error(); // I5: without room, too, since it was granted
    spilled_bytes_ += *spilled;
    return std::optional<std::uint64_t>(*spilled);
}

result<void> engine::reserve_to_spill(std::uint64_t chunk, const std::vector<track::page_run>& pages) {
    REM_TRY(store_->reserve_places());
    REM_TRY(discard_before_fresh());
    const std::uint64_t end = (chunk + 1) * store_->chunk_bytes();
    if (store_->needs_regions(end))
        REM_TRY(finish_run()); // a superblock of another kind would come between
    REM_TRY(store_->add_regions(end));
    for (const track::page_run& run : pages) {
        const std::uint64_t behind = run.end() / k_page_bytes;
        for (std::uint64_t page = run.offset / k_page_bytes; page < behind;) {
            const std::uint64_t first = page;
            while (page < behind && !view_->spiller().spilled().has_page(page))
                ++page;
            if (first < page)
                REM_TRY(store_->reserve_pages(first, page - first));
            while (page < behind && view_->spiller().spilled().has_page(page))
                ++page;
        }
    }
    return {};
}

result<void> engine::reserve_to_move_early(std::uint64_t chunk) {
    REM_TRY(store_->reserve_places());
    if (store_->needs_second_homes({{chunk}}))
        REM_TRY(finish_run()); // a superblock of another kind would come between
    REM_TRY(store_->add_second_homes({{chunk}}));
    return store_->reserve_move(chunk, 1);
}

// What is not stored must be holes, since zeros are not written; a file that was copied, or grew by somebody else's hand, has
// bytes there, and they may have rotted.
result<void> engine::discard_before_fresh() {
    if (!owes_discard_)
        return {};
    REM_TRY(store_->confirm());
    REM_TRY(store_->discard_unstored());
    owes_discard_ = false;
    return {};
}

} // namespace remanence::txn
