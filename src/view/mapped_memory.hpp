// The memory of a view: its addresses, and what each chunk is mapped from.
//
// Stored chunks are mapped privately from the file; everything else is anonymous memory. A gap between stored chunks
// may be mapped from a hole of the file, but is treated like anonymous memory in all other ways. This class knows where
// committed content lies, not what it is.
//
// R4: callers that drop or map committed pages must hold the write lock. Spilling, which maps uncommitted ones, holds
// the store's lock and has paused writers. reserved_bytes() is thread-safe; all other functions require the lock of the
// view.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "os/memory.hpp"
#include "place/chunk_places.hpp"
#include "store/image.hpp"
#include "store/retired_copies.hpp"
#include "view/view_options.hpp"
#include "view/written_pages.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace remanence::view {

class mapped_memory {
public:
    /// `place` must be large enough for the image. `written` owns the tracker, which is told of every new mapping.
    mapped_memory(store::image& image, store::retired_copies& retired, os::reservation place, written_pages& written,
                  const view_options& options)
        : image_(image),
          retired_(retired),
          written_(written),
          place_(std::move(place)),
          reserved_(place_.bytes()),
          core_dump_(options.core_dump),
          read_ahead_(options.read_ahead) {}
    mapped_memory(const mapped_memory&) = delete;
    mapped_memory& operator=(const mapped_memory&) = delete;
    ~mapped_memory() = default;

    /// Maps the stored chunks. Must be called first. Complexity: O(extents), whatever their size.
    result<void> map_image(const view_options& options);

    /// Maps everything again, because the image is now another one.
    result<void> map_image_again(const view_options& options);

    /// Makes a view that was opened read-only writable, in private pages, or read-only again.
    result<void> allow_writes_to_all(bool allowed) {
        return allowed ? os::protect_nothing(base(), accessible_) : os::protect_read_only(base(), accessible_);
    }

    [[nodiscard]] std::byte* base() const { return place_.base(); }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
    /// Returns how many bytes, from the base on, may be accessed.
    [[nodiscard]] std::uint64_t accessible_bytes() const { return accessible_; }
    /// Extends the accessible memory to at least `bytes`, in larger steps. If necessary, extends the reservation, which
    /// fails when the addresses behind it are in use.
    result<void> make_accessible(std::uint64_t bytes);

    [[nodiscard]] heap_range range_of(std::uint64_t chunk) const {
        return {chunk * image_.chunk_bytes(), image_.chunk_bytes()};
    }
    /// Returns the state of each chunk.
    [[nodiscard]] const place::chunk_places& places() const { return places_; }
    /// True if the chunk is mapped from its current copy.
    [[nodiscard]] bool maps_copy(std::uint64_t chunk) const { return places_.is_mapped_from_copy(chunk); }
    /// Allocates the memory that later notes about the chunk need.
    void reserve_place_of(std::uint64_t chunk) { places_.reserve(chunk); }

    // New mappings.

    result<void> map_zeros(std::uint64_t from, std::uint64_t to);
    /// Maps whole chunks from their copies, which must be contiguous in the file.
    result<void> map_copies(heap_range chunks);
    /// Makes a chunk that is not stored read as zeros again. If it was mapped from a hole of the file, it becomes
    /// anonymous, since a failed spill may have left bytes there; this may add two mappings. Returns false, and does
    /// nothing, if there are too many scattered mappings.
    result<bool> make_zeros(std::uint64_t chunk);
    /// Makes whole chunks anonymous zeros, after the store has discarded their contents.
    result<void> forget(heap_range chunks);
    [[nodiscard]] bool is_in_file_hole(std::uint64_t chunk) const;
    /// Maps the part of the file at `file_offset` to `aside`, from where it can be moved to the chunk's address later.
    result<void> map_aside(os::moving_mapping& aside, std::uint64_t file_offset);
    /// Moves the mapping `aside`, which is of the chunk's current copy, to the chunk's address. Does so in one atomic
    /// step, since other threads may be reading.
    result<void> replace_by_copy(std::uint64_t chunk, os::moving_mapping& aside);

    // Moving pages.

    /// True if the chunk is anonymous memory, which may move, and to which other memory may move.
    [[nodiscard]] bool is_anonymous(std::uint64_t chunk) const {
        return places_.is_anonymous(chunk) && !is_in_file_hole(chunk);
    }
    /// Moves the pages of anonymous chunks to those of others, where they count as written. The contents of `from` are
    /// undefined afterwards: the caller maps it again. If the tracker cannot move pages, or if many were moved, fails
    /// and moves nothing.
    result<void> move_pages(heap_range from, std::uint64_t to);

    // Notes about what other code has done.

    /// Notes that a commit stored the chunk for the first time.
    void note_committed(std::uint64_t chunk) { places_.commit_fresh(chunk); }
    /// Notes that a commit moved the chunk. Precondition: its memory holds the committed content.
    void note_moved(std::uint64_t chunk) { places_.commit_relocated(chunk); }
    /// Notes that the chunk is mapped from the copy to which it was spilled.
    void note_spilled(std::uint64_t chunk) {
        places_.spill(chunk);
        note_new_mapping(range_of(chunk));
    }
    /// Notes that the chunk is anonymous again.
    void note_given_up(std::uint64_t chunk) { places_.give_up(chunk); }

    /// Returns the bytes of chunks that were stored since they were mapped. They are anonymous memory until they are
    /// mapped from the file.
    [[nodiscard]] std::uint64_t unmapped_bytes() const { return places_.unmapped_count() * image_.chunk_bytes(); }

    // Scattered chunks: those that are mapped one by one between others. Each adds at most two mappings, and a process
    // may have 65,530.

    [[nodiscard]] bool may_scatter() const { return scattered_chunks_ < k_scattered_chunks_max; }
    void note_scattered() { ++scattered_chunks_; }
    void note_none_scattered() { scattered_chunks_ = 0; }

private:
    void note_new_mapping(heap_range where);
    result<std::vector<store::extent>> gaps_to_map(std::span<const store::extent> extents, std::size_t stretches_max);
    void advise(std::byte* where, std::uint64_t bytes) const;
    result<void> tell_tracker(heap_range mapped, track::page_contents contents) {
        return written_.has_tracker() ? written_.tracker().mapped(mapped.offset, mapped.bytes, contents)
                                      : result<void>();
    }

    static constexpr std::uint64_t k_scattered_chunks_max = 4096;

    store::image& image_;
    store::retired_copies& retired_;
    written_pages& written_;
    os::reservation place_;
    std::atomic<std::uint64_t> reserved_; // bytes of place_
    std::uint64_t accessible_ = 0;
    bool core_dump_;
    bool read_ahead_;
    place::chunk_places places_;
    std::uint64_t scattered_chunks_ = 0;
    /// Sorted ranges to which pages were moved. Each adds at most two mappings, since the kernel does not join moved
    /// memory with that around it.
    std::vector<heap_range> moved_in_;
    /// Sorted ranges of the heap that were mapped at opening from the holes of the file at which their copies would
    /// lie. A stored chunk follows each range, so that the file extends beyond it. Parts of the ranges may be mapped
    /// otherwise by now.
    std::vector<heap_range> file_holes_;
};

} // namespace remanence::view
