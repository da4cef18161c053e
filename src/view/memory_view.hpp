// The view: the memory that the program uses. This class assembles the parts, and has the functions that involve
// several of them: opening, the end of a commit, rollback. Other code uses the parts that it needs. The view knows
// nothing of allocation.
//
// | part | owns |
// |---|---|
// | mapped_memory | the addresses, and what each chunk is mapped from |
// | written_pages | the tracker, and what it has reported |
// | committed_content | before-images and frozen before-images (R1) |
// | change_collector | what a commit must write; with page_comparer, word_comparer and chunk_mover |
// | chunk_spiller | memory that is written before its commit; with spilled_chunks |
// | memory_settler | what goes back to the kernel after a checkpoint |
//
// page_evictor keeps memory within a limit; it is made where there is one. page_mover moves the contents of blocks.
//
// R4: only commit, rollback, settling and eviction, which hold the write lock, drop or remap committed pages. Spilling,
// with the store locked and writers paused, remaps uncommitted ones.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "change/declared_pages.hpp"
#include "os/memory.hpp"
#include "store/heap_file.hpp"
#include "view/change_collector.hpp"
#include "view/chunk_mover.hpp"
#include "view/chunk_spiller.hpp"
#include "view/committed_content.hpp"
#include "view/kept_pages.hpp"
#include "view/mapped_memory.hpp"
#include "view/memory_settler.hpp"
#include "view/page_predicate.hpp"
#include "view/spilled_chunks.hpp"
#include "view/view_options.hpp"
#include "view/written_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace remanence::view {

class memory_view {
public:
    /// Maps the store's image at the reserved addresses. Complexity: O(extents), whatever their size.
    static result<std::unique_ptr<memory_view>> open(store::heap_file& store, os::reservation place,
                                                     const view_options& options);
    memory_view(const memory_view&) = delete;
    memory_view& operator=(const memory_view&) = delete;
    ~memory_view() = default;

    [[nodiscard]] std::byte* base() const { return memory_.base(); }
    [[nodiscard]] const char* tracker_name() const {
        return written_.has_tracker() ? written_.tracker().name() : "none";
    }
    [[nodiscard]] mapped_memory& memory() { return memory_; }
    [[nodiscard]] written_pages& written() { return written_; }
    [[nodiscard]] committed_content& committed() { return committed_; }
    [[nodiscard]] change_collector& collector() { return collector_; }
    [[nodiscard]] chunk_spiller& spiller() { return spiller_; }
    [[nodiscard]] memory_settler& settler() { return settler_; }

    // For writers.

    /// Lets system calls write to this range until the next accept() or rollback(). While declarations are noted,
    /// change_collector::collect_declared() collects these pages.
    result<void> declare(std::uint64_t offset, std::uint64_t bytes) {
        const bool is_known = notes_declarations_ && bytes != 0 && !declared_.add(offset, bytes);
        return written_.has_tracker() && !is_known ? written_.tracker().declare(offset, bytes) : result<void>();
    }
    /// As declare(), but declares only these words, not the rest of their pages.
    result<void> declare_words(std::uint64_t offset, std::uint64_t bytes) {
        const bool is_known = notes_declarations_ && bytes != 0 && !declared_.add_words(offset, bytes);
        return written_.has_tracker() && !is_known ? written_.tracker().declare(offset, bytes) : result<void>();
    }
    /// Allows or forbids writes. Has an effect only with view_options::report_stray_write.
    void allow_writes(bool allowed) {
        if (written_.has_tracker())
            written_.tracker().allow_writes(allowed);
    }

    // Declared sections: writers declare what they write, so that a commit needs no tracker. Undeclared writes are not
    // committed, but not lost either: the tracker still reports them to the next collect() or rollback().

    /// Starts or stops noting declarations. Forgets those noted before.
    void note_declarations(bool noted) {
        notes_declarations_ = noted;
        declared_.clear();
    }
    /// True if nothing was declared since the last accept, rollback or note_declarations().
    [[nodiscard]] bool has_no_declarations() const { return declared_.is_empty(); }
    /// False if memory ran out while a declaration was noted; then collect_declared() would miss changes.
    [[nodiscard]] bool notes_all_declarations() const { return declared_.is_complete(); }

    // The end of a commit.

    /// Notes that the changes are durable, and makes them committed content. Precondition: the store has accepted the
    /// whole chunks.
    void accept(const change::change_set& changes);
    // The same in two steps, for changes that collect_declared() found.

    /// First step, before the record is written: makes the changes committed content. That is safe, because afterwards
    /// either the changes are durable or the heap is poisoned. Computes the checksums that the record needs.
    void renew_declared(change::change_set& changes) { committed_.renew_declared(changes, base()); }
    /// Second step: the changes are durable.
    void accept_declared(const change::change_set& changes);

    // Commits that only copy their pages; the records are written later, in the same order.

    /// Makes the copied pages committed content. Precondition: memory equals the copies. The copies must not move until
    /// accept_copies() or give_up_copies(). Throws std::bad_alloc; then nothing has changed.
    void begin_with_copies(const page_copies& copies);
    /// Notes that a record has these changes, which compare_copies() found in the oldest copies. Precondition: as for
    /// accept().
    void accept_copies(const change::change_set& changes, const page_copies& copies);
    /// Notes that the changes of the oldest copies are not committed. The next collect() finds those that are still in
    /// memory. Call it for all copies, since the changes of newer ones are relative to these.
    void give_up_copies(const page_copies& copies);
    /// Copies the pages back to memory, where they count as written.
    void restore_copies(const page_copies& copies);

    /// Begins a new round of written pages. Precondition: collector().holds_changes() has just found none.
    void note_no_changes() { written_.begin_round(); }

    using change_listener = std::function<void(const change::change_set&)>;
    /// Restores the committed content of memory. Before that, passes uncommitted() to `lost` unless that is empty.
    result<void> rollback(const page_predicate& is_unused = {}, const change_listener& lost = {});
    /// Returns a copy of the pages that a commit would compare. Precondition, as for restore(): nothing is spilled.
    /// Throws std::bad_alloc.
    result<kept_pages> keep_written();
    /// Restores memory to its state when `kept` was made. Precondition: since then nothing was committed, rolled back
    /// or spilled.
    result<void> restore(const kept_pages& kept);
    /// Calls `visit` for each page that has changed since `kept` was made, with the page's content at that time.
    /// Precondition: as for restore(). errc::corrupt, errc::io.
    using page_visitor = std::function<void(std::uint64_t page, const std::byte* was)>;
    result<void> for_each_changed_since(const kept_pages& kept, const page_visitor& visit);
    /// Makes whole chunks zeros and forgets their before-images, because the store holds nothing there now.
    /// Precondition: these chunks have no uncommitted changes, and no before-image is frozen.
    result<void> forget(heap_range chunks);

    /// Makes private copies of these pages (sorted) of stored chunks, and before-images of their committed content
    /// (R1), because another process is about to overwrite them in the file. Other threads may be reading; nobody may
    /// be in a write section.
    result<void> make_private(std::span<const heap_range> pages);

    // Functions that make what other processes have committed the committed content of this view, too. Preconditions of
    // all: nobody is in a section, and the memory that they change, or its whole chunks, holds exactly the committed
    // content. end_following() must be called last.

    /// Maps a chunk after the store has accepted its place.
    result<void> follow_chunk(std::uint64_t chunk);
    /// Returns the memory of a page so that the caller can change it. Precondition: its chunk is stored.
    result<std::byte*> open_to_follow(std::uint64_t page);
    /// Notes that the page's memory now holds its committed content, newer than the image and with this checksum.
    void follow_page(std::uint64_t page, std::uint32_t checksum) {
        committed_.take(page, base() + page * k_page_bytes, checksum);
    }
    /// Maps another image. The caller must then follow everything committed after that image's version.
    result<void> follow_image();
    /// Makes sure that none of these changes counts as written. Nothing else may count as written either.
    result<void> end_following();
    /// As end_following(), for changes in `changed` (sorted) only. What was written elsewhere still counts as written.
    result<void> end_following(const std::vector<heap_range>& changed);

private:
    memory_view(store::heap_file& store, os::reservation place, std::unique_ptr<track::page_scanner> tracker,
                const view_options& options);
    result<void> restore(heap_range pages);
    result<void> restore(std::uint64_t page, const kept_pages& kept);
    result<void> restore_zeros(heap_range pages);

    const view_options options_;
    store::image& image_;
    mapped_memory memory_;
    written_pages written_; // destroyed before memory_, which the tracker watches
    committed_content committed_;
    spilled_chunks spilled_;
    change::declared_pages declared_;
    bool notes_declarations_ = false;
    chunk_spiller spiller_;
    chunk_mover mover_;
    change_collector collector_;
    memory_settler settler_;
};

} // namespace remanence::view
