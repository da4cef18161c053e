// The memory of a view: its addresses, and what each chunk is mapped from.
//
// Stored chunks are mapped privately from the file; everything else is anonymous memory. A gap between stored chunks
// may be mapped from a hole of the file; otherwise it is treated like anonymous memory. Knows only where committed
// content lies, not what it is.
//
// R4: code that drops or maps committed pages holds the write lock. Spilling, which maps others, holds the store's lock
// and has paused writers. reserved_bytes() is thread-safe; all else requires the right to use the view.
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
    /// `place` has room for the image. `written` has the tracker, which is told of every new mapping.
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

    /// Maps what is stored. Call it first. Complexity: O(extents), whatever their size.
    result<void> map_image(const view_options& options);

    /// Maps everything again, after the image has become another one.
    result<void> map_image_again(const view_options& options);

    /// Makes a view that is open read-only writable, in private pages, or read-only again.
    result<void> allow_writes_to_all(bool allowed) {
        return allowed ? os::protect_nothing(base(), accessible_) : os::protect_read_only(base(), accessible_);
    }

    [[nodiscard]] std::byte* base() const { return place_.base(); }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
    /// Returns how many bytes from the base may be used.
    [[nodiscard]] std::uint64_t accessible_bytes() const { return accessible_; }
    /// Extends the accessible bytes to at least `bytes`, in larger steps. Extends the reservation as long as the
    /// addresses behind it are free.
    result<void> make_accessible(std::uint64_t bytes);

    [[nodiscard]] heap_range range_of(std::uint64_t chunk) const {
        return {chunk * image_.chunk_bytes(), image_.chunk_bytes()};
    }
    /// Returns the states of the chunks.
    [[nodiscard]] const place::chunk_places& places() const { return places_; }
    /// True if the chunk is mapped from the copy that it is in.
    [[nodiscard]] bool maps_copy(std::uint64_t chunk) const { return places_.is_mapped_from_copy(chunk); }
    /// Allocates what later notes about the chunk need.
    void reserve_place_of(std::uint64_t chunk) { places_.reserve(chunk); }

    // New mappings.

    result<void> map_zeros(std::uint64_t from, std::uint64_t to);
    /// Maps whole chunks from their copies, which are contiguous in the file.
    result<void> map_copies(heap_range chunks);
    /// Makes a chunk that is not stored read as zeros again. A hole of the file becomes anonymous, since a failed spill
    /// may have left bytes there; that may cost two mappings. Returns false, and does nothing, if there are too many of
    /// these.
    result<bool> make_zeros(std::uint64_t chunk);
    /// Makes whole chunks anonymous zeros, after the store has forgotten their contents.
    result<void> forget(heap_range chunks);
    [[nodiscard]] bool is_in_file_hole(std::uint64_t chunk) const;
    /// Maps a chunk's bytes of the file, from `file_offset` on, at the place aside. They are moved into place later.
    result<void> map_aside(os::moving_mapping& aside, std::uint64_t file_offset);
    /// Moves what was mapped aside, from the copy that the chunk is in, into place. One atomic step, since others may
    /// be reading.
    result<void> replace_by_copy(std::uint64_t chunk, os::moving_mapping& aside);

    // Notes about what other code has done.

    /// Notes that a commit stored the chunk for the first time.
    void note_committed(std::uint64_t chunk) { places_.commit_fresh(chunk); }
    /// Notes that a commit moved the chunk. Memory holds what is committed.
    void note_moved(std::uint64_t chunk) { places_.commit_relocated(chunk); }
    /// Notes that the chunk is mapped from the copy that it was spilled to.
    void note_spilled(std::uint64_t chunk) { places_.spill(chunk); }
    /// Notes that the chunk is anonymous again.
    void note_given_up(std::uint64_t chunk) { places_.give_up(chunk); }

    /// Returns the bytes of chunks that were stored since they were mapped, and are anonymous until they are mapped
    /// from the file.
    [[nodiscard]] std::uint64_t unmapped_bytes() const { return places_.unmapped_count() * image_.chunk_bytes(); }

    // Chunks that are mapped one by one between others. Each costs two mappings at worst; a process has 65,530.

    [[nodiscard]] bool may_scatter() const { return scattered_chunks_ < k_scattered_chunks_max; }
    void note_scattered() { ++scattered_chunks_; }
    void note_none_scattered() { scattered_chunks_ = 0; }

private:
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
    /// Sorted ranges of the heap that were mapped at opening from holes of the file, where they would have their
    /// copies. A stored chunk follows each, so that the file does not end before it. Parts of them may be mapped
    /// otherwise by now.
    std::vector<heap_range> file_holes_;
};

} // namespace remanence::view
