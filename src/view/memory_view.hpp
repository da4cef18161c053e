// The view: the memory the program uses. A private mapping of the image, anonymous memory where nothing is committed
// yet, a scanner that finds what changed, and twins to compare with. May use: base, os, format, store, log (for the
// form of ranges). Knows nothing of allocation.
//
// R1 is kept here: committed content is the twin if there is one, else the frozen twin, else the image; never the view
// itself.
// R4: only commit, rollback and what settles, called with the write lock held, drop or remap pages that are committed; spilling,
// with the store locked and writers paused, those that are not.
//
// A checkpoint that commits go on beside takes the twins that there are: they are *frozen*, and the next commit of such a
// page makes another one. While they are written, nobody reads these pages from the image.
#pragma once

#include "base/page_aligned.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "format/log_record.hpp"
#include "os/memory.hpp"
#include "track/page_scan.hpp"
#include "track/private_copies.hpp"
#include "store/heap_file.hpp"
#include "view/announced_pages.hpp"
#include "view/chunk_mappings.hpp"
#include "view/spilled_chunks.hpp"
#include "view/twins.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace remanence::view {

struct changed_page {
    std::uint64_t page;
    std::uint32_t checksum; // after the change
    std::uint32_t range_count;
    std::size_t first_range; // in change_set::ranges
};

/// A chunk that is to be written whole.
struct whole_chunk {
    std::uint64_t chunk;
    /// One for each page; 0: all zeros; `k_to_be_made`: not before memory_view::make_checksums(), which may make just this, too.
    std::vector<std::uint32_t> checksums;
    std::vector<bool> is_at_home{}; // likewise, when it was spilled: those not written since, which need not be again

    static constexpr std::uint32_t k_to_be_made = 1;
    [[nodiscard]] bool needs_writing(std::size_t page) const { return is_at_home.empty() || !is_at_home[page]; }
    /// Not so a fresh one whose pages are among change_set::pages.
    [[nodiscard]] bool has_contents() const;
};

/// What a commit has to make durable.
struct change_set {
    std::vector<whole_chunk> fresh; // that have no place in the file yet
    std::vector<whole_chunk> moved; // that were rewritten so far that they are to be written whole, to their other home
    std::vector<changed_page> pages;
    std::vector<format::change_range> ranges;
    std::uint64_t held_back_bytes = 0; // of chunks that would move, but for a checkpoint that must come first

    [[nodiscard]] bool empty() const { return fresh.empty() && moved.empty() && pages.empty(); }
    /// Of ranges, and of the pages that whole chunks have contents for.
    [[nodiscard]] std::uint64_t changed_bytes() const;
    [[nodiscard]] std::span<const format::change_range> ranges_of(const changed_page& page) const {
        return std::span(ranges).subspan(page.first_range, page.range_count);
    }
};

/// Which changes a commit takes.
enum class commit_scope {
    everything,
    declared, // those that were announced
};

/// Where a commit puts what fresh chunks hold.
enum class fresh_contents {
    at_home,
    in_log_if_few, // pages: then nobody has to wait for the device before the record
};

/// Of a page, by its number.
using page_predicate = std::function<bool(std::uint64_t page)>;

struct view_options {
    track::tracker_choice tracker = track::tracker_choice::automatic;
    bool read_only = false;
    bool core_dump = false;
    track::stray_write_reporter report_stray_write = nullptr; // trap tracker only
    std::size_t scattered_max = 0;                         // as in engine_options, and so are these
    std::size_t stretches_max = 16;
    bool read_ahead = true;
};

class memory_view {
public:
    /// Maps the store's image at the reservation. Complexity: O(extents), whatever their size.
    static result<std::unique_ptr<memory_view>> open(store::heap_file& store, os::reservation place,
                                                     const view_options& options);

    [[nodiscard]] std::byte* base() const { return place_.base(); }
    /// The one thing that other threads may ask while the view grows.
    [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
    /// Bytes from the base that may be used.
    [[nodiscard]] std::uint64_t accessible_bytes() const { return accessible_; }
    /// Extends them to at least `bytes`, in larger steps; and the reservation, while the addresses behind it are free.
    result<void> make_accessible(std::uint64_t bytes);
    [[nodiscard]] const char* tracker_name() const { return scanner_ ? scanner_->name() : "none"; }

    /// Everything that differs from the committed content, read from memory that nobody changes meanwhile. Nothing is
    /// lost when no accept() follows: the next collect() reports it again. Chunks that hold nothing, as `is_unused` says
    /// of all their pages, are no changes: their memory goes back to the kernel and reads as it was committed last.
    /// If more than so many bytes are held back, that is all it tells: for who makes a checkpoint, and asks again.
    result<change_set> collect(const page_predicate& is_unused, std::uint64_t held_back_max = ~std::uint64_t{0},
                               fresh_contents fresh = fresh_contents::at_home);
    /// Of whole chunks; collect() leaves most of them to be made, so that they are not waited for before the first byte is
    /// written. Memory must be as it was then. From any thread; it allocates nothing.
    void make_checksums(change_set& changes) const noexcept;
    /// Whether collect() would find any; it ends at the first chunk that has some. Complexity: as collect().
    result<bool> holds_changes(const page_predicate& is_unused);
    /// Whether the chunk is mapped from the home where it is.
    [[nodiscard]] bool maps_home(std::uint64_t chunk) const { return maps(chunk, mapping::home); }
    /// Whether a commit changed the page since the last checkpoint began, and since its chunk moved: then there is room for it
    /// where it lies in the file.
    [[nodiscard]] bool was_committed_in_log(std::uint64_t page) const { return twins_.has_newer(page); }
    /// The changes are durable: they are committed content now. Precondition: the store has accepted the whole chunks.
    void accept(const change_set& changes);
    /// What collect() would find, with nothing moved, for who only tells of it.
    result<change_set> uncommitted(const page_predicate& is_unused);
    using change_listener = std::function<void(const change_set&)>;
    /// Memory becomes the committed content again. `lost`, if there is one, is told of uncommitted() before.
    result<void> rollback(const page_predicate& is_unused = {}, const change_listener& lost = {});

    /// System calls may write there until the next accept() or rollback(). While announcements are noted, the pages are
    /// those of collect_announced().
    result<void> announce(std::uint64_t offset, std::uint64_t bytes) {
        const bool is_known = notes_announcements_ && bytes != 0 && !announced_.add(offset, bytes);
        return scanner_ && !is_known ? scanner_->announce(offset, bytes) : result<void>();
    }

    // Declared sections: whoever writes announces it, so that a commit needs no tracker. What was written unannounced is
    // neither committed nor lost: the tracker goes on knowing it, and the next collect() or rollback() finds it.

    /// From now on, or not any more. What was noted before is forgotten.
    void note_announcements(bool noted) {
        notes_announcements_ = noted;
        announced_.clear();
    }
    /// Nothing was announced since the last accept, rollback or note_announcements().
    [[nodiscard]] bool has_no_announcements() const { return announced_.is_empty(); }
    /// False when the process lacked the memory to note one: then collect_announced() would lack changes.
    [[nodiscard]] bool notes_all_announcements() const { return announced_.is_complete(); }
    /// As collect(), of the announced pages alone. O(their number).
    result<change_set> collect_announced(const page_predicate& is_unused,
                                         fresh_contents fresh = fresh_contents::at_home);
    /// As collect(), of all other pages: what is in no announcement although it was to be.
    result<change_set> collect_unannounced(const page_predicate& is_unused);
    /// As accept(), of what collect_announced() found.
    void accept_announced(const change_set& changes);
    /// Only with view_options::report_stray_write does it matter.
    void allow_writes(bool allowed) {
        if (scanner_)
            scanner_->allow_writes(allowed);
    }

    /// Committed content that the image does not have. None may be frozen.
    [[nodiscard]] std::vector<store::folded_page> twin_pages() const;
    /// How many chunks have been mapped although they have newer pages, since the last checkpoint: each is a mapping of its own,
    /// of the 65,530 that a process may have. At the limit no more are, and a checkpoint is due.
    [[nodiscard]] std::uint64_t chunks_mapped_with_newer() const { return mapped_with_newer_; }
    static constexpr std::uint64_t k_chunks_mapped_with_newer_max = 4096;
    [[nodiscard]] std::uint64_t twin_bytes() const {
        return twins_.bytes() + (frozen_is_in_image_ ? 0 : frozen_.bytes());
    }
    /// Held for what the image has, until it is settled.
    [[nodiscard]] std::uint64_t unsettled_bytes() const { return frozen_is_in_image_ ? frozen_.bytes() : 0; }
    /// The image holds every twin now.
    void drop_twins();

    // Spilling: a chunk is written to the home that it takes with the next commit before that, its other one, if it is stored,
    // and mapped from there, so that its memory goes back to the kernel. Other threads may be writing to memory meanwhile. What was
    // spilled is part of the next commit as it is then, and gone with the next rollback(). Engines call these with nobody else at
    // the store (spilling.cpp).

    struct spillable {
        std::uint64_t written_bytes = 0;     // of memory in use by what was written and is not committed
        std::vector<std::uint64_t> chunks{}; // of them, what may be spilled: those that were found first come first
    };
    /// All but chunks of `handed_out`, which is about to be written. O(pages in memory, and chunks that are stored).
    result<spillable> find_spillable(byte_range handed_out);
    /// Pages of such a chunk that are to be written, in runs.
    result<std::vector<track::page_run>> pages_to_spill(std::uint64_t chunk);
    /// Spills them, for which the store has room; returns the bytes written. 0: nothing was done, since others would have to be
    /// written by now. errc::io after a write: the heap is to be poisoned. Signals are taken afterwards.
    result<std::uint64_t> spill(std::uint64_t chunk, const std::vector<track::page_run>& pages);
    /// Of a chunk without such pages: if all that was written holds zeros, as its home does, its memory goes back to the kernel; so
    /// many bytes. 0: it may not, or others have written by now. Signals are taken afterwards.
    result<std::uint64_t> give_back_zeros(std::uint64_t chunk);
    /// Whoever writes waits until they may go on: for who takes no signals, and spills meanwhile. False when it cannot be, or when
    /// system calls were promised memory.
    bool pause_all();
    result<void> let_all_go_on();
    /// Of chunks that are stored, and have not been mapped from the file since.
    [[nodiscard]] std::uint64_t unmapped_bytes() const { return unmapped_chunks_ * store_.chunk_bytes(); }
    /// Maps them, so that their memory goes back to the kernel. Precondition: the view holds just what is committed, and nobody
    /// writes; others may be reading. A limited number of those that hold pages which the image lacks.
    result<void> map_unmapped();
    [[nodiscard]] bool has_spilled() const { return !spilled_.is_empty(); }
    /// Whether the page's home has bytes that were spilled, so that there is room for others.
    [[nodiscard]] bool has_spilled(std::uint64_t page) const;
    [[nodiscard]] std::vector<std::uint64_t> spilled() const { return spilled_.chunks(); }
    /// Homes of what was spilled may have bytes that are of no use any more: asked once.
    [[nodiscard]] bool has_left_homes() { return std::exchange(has_left_homes_, false); }
    /// Memory that system calls were promised stays as it is until the next accept() or rollback().
    void keep_in_memory(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (bytes != 0)
            (void)kept_in_memory_.add(offset, bytes);
    }

    // A checkpoint beside commits: freeze, write, thaw; then settle bit by bit.

    /// The twins that the image does not have, sorted; valid and unchanged until thaw(), commits or not. What the last
    /// checkpoint left to be settled is settled first.
    result<std::span<const store::folded_page>> freeze();
    /// The image holds the frozen twins now.
    void thaw() noexcept;
    /// After a thaw(), until nothing is left to do: gives private copies of pages that were frozen back to the kernel, if
    /// they hold just what the image has; and after a commit of everything maps chunks from the file that have their place
    /// since they were mapped. About so many pages are looked at.
    result<void> settle_some(commit_scope committed, std::uint64_t pages);
    /// All that is left, but for chunks.
    result<void> settle_rest();
    /// Whether chunks are left to be looked at by settle_some().
    [[nodiscard]] bool has_chunks_to_map() const { return chunk_to_map_ != k_no_chunk; }

    /// The store holds nothing there any more, in whole chunks: memory becomes zeros, and twins go. Precondition: nothing
    /// uncommitted lies there, and no twin is frozen.
    result<void> forget(byte_range chunks);

    /// Gives private copies back to the kernel. Precondition: the image holds just the committed content, and so does the
    /// view after a commit of everything. After one of what was declared only copies that equal their twins are given
    /// back. To be called before drop_twins().
    result<void> settle(commit_scope committed = commit_scope::everything);

private:
    memory_view(store::heap_file& store, os::reservation place)
        : store_(store),
          place_(std::move(place)),
          reserved_(place_.bytes()),
          twins_(twin_memory_, store.chunk_pages()),
          frozen_(twin_memory_, store.chunk_pages()) {}
    result<void> map_image(os::access protection, std::size_t stretches_max);
    result<std::vector<store::extent>> gaps_to_leave(std::span<const store::extent> extents, std::size_t stretches_max);
    result<void> map_zeros(std::uint64_t from, std::uint64_t to);
    result<void> map_file_again(byte_range heap, std::uint64_t file_offset);
    void advise(std::byte* where, std::uint64_t bytes) const;
    result<bool> make_zeros(std::uint64_t chunk);
    result<void> gather_written();
    result<change_set> uncommitted_of_written(const page_predicate& is_unused);
    /// What a tracker has kept counts as committed content only after its collect().
    enum class kept_bytes { usable, not_usable };
    /// Whether chunks may be written whole although the file has them.
    struct moving {
        bool is_allowed;
        std::uint64_t held_back_max; // as of collect()
    };
    result<change_set> changes_in(const std::vector<track::page_run>& runs, const page_predicate& is_unused,
                                  kept_bytes kept, moving move = {false, 0},
                                  fresh_contents fresh = fresh_contents::at_home);
    result<void> collect_fresh(const std::vector<track::page_run>& pages, fresh_contents where, change_set& changes);
    result<std::vector<std::uint64_t>> chunks_to_move(std::span<const byte_range> written, change_set& changes);
    result<bool> is_cheaper_whole(std::span<const byte_range> written);
    result<void> collect_moved(std::span<const byte_range> written, moving move, change_set& changes);
    result<void> collect_scattered(std::span<const byte_range> written, change_set& changes);
    /// Whether these bytes, whose checksum is to be that, or 0 of zeros, are what the image should have.
    result<bool> is_as_in_image(std::uint64_t page, std::span<const std::byte> bytes, std::uint32_t checksum);
    result<std::vector<std::uint32_t>> checksums_to_move(std::uint64_t chunk, std::span<const byte_range> written);
    result<std::vector<byte_range>> set_unused_aside(const std::vector<track::page_run>& runs,
                                                     const page_predicate& is_unused);
    result<bool> give_back(std::uint64_t chunk, const page_predicate& is_unused);
    result<void> collect_stored(byte_range range, kept_bytes kept, change_set& changes);
    /// Of a page whose committed content is in memory; else null.
    [[nodiscard]] const std::byte* committed_copy(std::uint64_t page) const {
        const std::byte* const twin = twins_.find(page);
        return twin != nullptr ? twin : frozen_.find(page);
    }
    /// Whether the image lacks the committed content of a page.
    [[nodiscard]] bool is_newer_than_image(std::uint64_t page) const {
        return twins_.find(page) != nullptr || (!frozen_is_in_image_ && frozen_.find(page) != nullptr);
    }
    /// Whether a checkpoint is writing pages of it to where the chunk is.
    [[nodiscard]] bool is_being_written(std::uint64_t chunk) const {
        return !frozen_is_in_image_ && frozen_.has_any_in(chunk);
    }
    result<void> compare_with_copy(std::uint64_t page, change_set& changes);
    result<void> settle_pages(std::uint64_t pages);
    result<void> map_some_chunks(std::uint64_t pages);
    result<void> read_image(byte_range range, const std::byte* kept, std::byte* into);
    result<void> compare(std::uint64_t page, const std::byte* committed, change_set& changes);
    void renew_twins(const change_set& changes);
    result<void> map_stored_chunks();
    result<void> restore(byte_range range);
    result<void> unspill(const std::vector<std::uint64_t>& chunks);
    result<void> unspill_unused(const page_predicate& is_unused);
    result<void> find_written_stored(std::vector<track::page_run>& runs);
    [[nodiscard]] bool may_be_spilled(std::uint64_t chunk) const;
    [[nodiscard]] bool is_to_move(std::uint64_t chunk) const;
    result<void> restore_committed(std::uint64_t chunk);
    /// As its home has it: zeros, if it was not spilled.
    [[nodiscard]] whole_chunk as_spilled(std::uint64_t chunk) const;
    void add_spilled(change_set& changes) const;
    result<void> map_with_newer_pages(std::uint64_t chunk);
    void count_unmapped(const change_set& changes);
    void note_mapped(std::uint64_t chunks) { unmapped_chunks_ -= std::min(unmapped_chunks_, chunks); }
    void forget_spilled() noexcept;
    void forget_spilled(std::uint64_t chunk) noexcept;
    void reserve_to_stage();
    result<void> stage(std::uint64_t chunk, std::vector<std::uint32_t>& checksums, std::vector<track::page_run>& pages);
    template <class F>
    auto while_paused(byte_range where, const F& f) -> decltype(f());
    result<bool> replace_by_file(std::uint64_t chunk, const std::vector<track::page_run>& pages, os::moving_mapping& by,
                                 std::vector<std::uint32_t>& checksums);

    static constexpr std::uint64_t k_no_chunk = ~std::uint64_t{0};

    store::heap_file& store_;
    os::reservation place_;
    std::atomic<std::uint64_t> reserved_; // its bytes
    twin_memory twin_memory_;
    twins twins_;
    twins frozen_;                              // until they are settled, though the image has them since thaw()
    bool frozen_is_in_image_ = false;           // since thaw()
    std::vector<store::folded_page> to_settle_; // of frozen_
    std::size_t settled_ = 0;                   // of to_settle_
    std::uint64_t chunk_to_map_ = k_no_chunk;   // the next one to look at
    bool has_left_chunks_ = false;              // since thaw(): some were not mapped
    std::unique_ptr<track::page_scanner> scanner_;
    std::uint64_t accessible_ = 0;
    bool core_dump_ = false;
    bool read_ahead_ = true;
    std::size_t scattered_max_ = 0;
    static constexpr std::uint64_t k_scattered_chunks_max = 4096; // two mappings each at worst; a process has 65,530
    std::uint64_t scattered_chunks_ = 0; // mapped from the file one by one since the last settle()
    std::vector<track::page_run> written_;  // sorted; reported by the scanner since the last accept() or rollback()
    announced_pages announced_;          // likewise; by whoever writes
    bool notes_announcements_ = false;
    spilled_chunks spilled_;
    std::vector<std::uint64_t> found_in_turn_; // by find_spillable(), the last time
    std::optional<track::private_copies> copies_; // from the first spill on, as what follows
    page_aligned_bytes staged_;                // a chunk
    std::vector<track::page_run> private_;        // scratch of stage()
    std::vector<track::page_run> staged_runs_;    // scratch of spill()
    bool has_paused_all_ = false;
    announced_pages kept_in_memory_;
    bool has_left_homes_ = false;
    std::uint64_t unmapped_chunks_ = 0;
    std::uint64_t mapped_with_newer_ = 0; // chunks, since the last checkpoint; each is a mapping of its own
    std::vector<std::byte*> unchanged_;   // scratch of collect_stored()
    chunk_mappings mappings_;
    [[nodiscard]] bool maps(std::uint64_t chunk, mapping what) const { return mappings_.of(chunk) == what; }
    /// Of the heap, sorted: since it was opened they have been mapped from holes of the file, in which they would have their
    /// homes. Behind each comes a stored chunk, so that the file does not end before. Parts that are mapped otherwise by now may
    /// be among them.
    std::vector<byte_range> file_holes_;
    [[nodiscard]] bool is_in_file_hole(std::uint64_t chunk) const;
};

} // namespace remanence::view
