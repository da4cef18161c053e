// The view: the memory the program uses. It puts the parts together and does what takes several of them: opening,
// the end of a commit, rollback. Callers hold the part that they need. Knows nothing of allocation.
//
// | part | owns |
// |---|---|
// | mapped_memory | the addresses, and what each chunk is mapped from |
// | written_pages | the tracker, and what it has reported |
// | committed_content | before-images and frozen before-images (R1) |
// | change_collector | what a commit is to write; with page_comparer and chunk_mover |
// | chunk_spiller | memory that is written early; with spilled_chunks |
// | memory_settler | what goes back to the kernel after a checkpoint |
//
// R4: only commit, rollback and what settles, called with the write lock held, drop or remap pages that are committed; spilling,
// with the store locked and writers paused, those that are not.
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
    /// Maps the store's image at the reservation. Complexity: O(extents), whatever their size.
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
    [[nodiscard]] committed_content& committed() { return committed_; }
    [[nodiscard]] change_collector& collector() { return collector_; }
    [[nodiscard]] chunk_spiller& spiller() { return spiller_; }
    [[nodiscard]] memory_settler& settler() { return settler_; }

    // Who writes.

    /// System calls may write there until the next accept() or rollback(). While declarations are noted, the pages are
    /// those of change_collector::collect_declared().
    result<void> declare(std::uint64_t offset, std::uint64_t bytes) {
        const bool is_known = notes_declarations_ && bytes != 0 && !declared_.add(offset, bytes);
        return written_.has_tracker() && !is_known ? written_.tracker().declare(offset, bytes) : result<void>();
    }
    /// The same, and nothing else in these pages is declared by it.
    result<void> declare_words(std::uint64_t offset, std::uint64_t bytes) {
        const bool is_known = notes_declarations_ && bytes != 0 && !declared_.add_words(offset, bytes);
        return written_.has_tracker() && !is_known ? written_.tracker().declare(offset, bytes) : result<void>();
    }
    /// Only with view_options::report_stray_write does it matter.
    void allow_writes(bool allowed) {
        if (written_.has_tracker())
            written_.tracker().allow_writes(allowed);
    }

    // Declared sections: whoever writes declares it, so that a commit needs no tracker. What was written undeclared is
    // neither committed nor lost: the tracker goes on knowing it, and the next collect() or rollback() finds it.

    /// From now on, or not any more. What was noted before is forgotten.
    void note_declarations(bool noted) {
        notes_declarations_ = noted;
        declared_.clear();
    }
    /// Nothing was declared since the last accept, rollback or note_declarations().
    [[nodiscard]] bool has_no_declarations() const { return declared_.is_empty(); }
    /// False when the process lacked the memory to note one: then collect_declared() would lack changes.
    [[nodiscard]] bool notes_all_declarations() const { return declared_.is_complete(); }

    // The end of a commit.

    /// The changes are durable: they are committed content now. Precondition: the store has accepted the whole chunks.
    void accept(const change::change_set& changes);
    // The same in two steps, of what collect_declared() found.

    /// The changes are going to be durable, unless the heap is poisoned. Makes the checksums that the record needs.
    void renew_declared(change::change_set& changes) { committed_.renew_declared(changes, base()); }
    void accept_declared(const change::change_set& changes);

    // A commit of which only copies are made, to be written later.

    /// What was copied is committed content now, and memory holds just that. The copies stay where they are until accept_copies()
    /// or give_up_copies().
    void begin_with_copies(const page_copies& copies);
    /// These changes, which changes_in_copies() found, are in a record. Precondition: as for accept().
    void accept_copies(const change::change_set& changes, const page_copies& copies);
    /// What was copied is not committed, and the next collect() finds it, as far as it is there still.
    void give_up_copies(const page_copies& copies);
    /// Puts them back into memory, where they count as written.
    void restore_copies(const page_copies& copies);

    using change_listener = std::function<void(const change::change_set&)>;
    /// Memory becomes the committed content again. `lost`, if there is one, is told of uncommitted() before.
    result<void> rollback(const page_predicate& is_unused = {}, const change_listener& lost = {});
    /// Returns what a commit would look at, as it is now. Precondition, as of restore(): nothing is spilled. Throws std::bad_alloc.
    result<kept_pages> keep_written();
    /// Memory becomes what it was when `kept` was made. Precondition: nothing was committed or rolled back since, nor spilled.
    result<void> restore(const kept_pages& kept);
    /// Shows each page that differs from what it was when `kept` was made, with what that was. Precondition: as restore(). errc::corrupt, errc::io.
    using page_visitor = std::function<void(std::uint64_t page, const std::byte* was)>;
    result<void> for_each_changed_since(const kept_pages& kept, const page_visitor& visit);
    /// The store holds nothing there any more, in whole chunks: memory becomes zeros, and before-images go. Precondition: nothing
    /// uncommitted lies there, and no before-image is frozen.
    result<void> forget(heap_range chunks);

    /// Another process is about to overwrite these pages, of stored chunks, in the file: they stay as they are in memory, and what
    /// is committed of them here stays known (R1). Sorted. Threads may be reading; nobody may be in a write section.
    result<void> make_private(std::span<const heap_range> pages);

    // What other processes have committed becomes what is committed here, too. Preconditions of all: nobody is in a section, and
    // memory holds just what is committed; end_following() comes last.

    /// The store has accepted a chunk's place: memory shows what is there.
    result<void> follow_chunk(std::uint64_t chunk);
    /// Returns the memory of a page, to be changed, of a chunk that is stored.
    result<std::byte*> open_to_follow(std::uint64_t page);
    /// The page holds what is committed, newer than the image, with this checksum.
    void follow_page(std::uint64_t page, std::uint32_t checksum) {
        committed_.take(page, base() + page * k_page_bytes, checksum);
    }
    /// The image is another one, and what was committed after the one before is to be followed from its version on.
    result<void> follow_image();
    /// None of that counts as written.
    result<void> end_following();

private:
    memory_view(store::heap_file& store, os::reservation place, std::unique_ptr<track::page_scanner> tracker,
                const view_options& options);
    result<void> restore(heap_range pages);
    result<void> restore(std::uint64_t page, const kept_pages& kept);
    result<void> restore_zeros(heap_range pages);

    const view_options options_;
    store::image& image_;
    mapped_memory memory_;
    written_pages written_; // ends before the memory that the tracker watches
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
