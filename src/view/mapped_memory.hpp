// The memory of a view: its addresses, and what each chunk is mapped from.
//
// Stored chunks are mapped privately from the file, all else is anonymous memory. A gap between stored chunks may be mapped from
// a hole of the file; it is anonymous in all else. Knows nothing of what is committed, only where it lies.
//
// R4: whoever drops or maps committed pages holds the write lock; spilling, which maps others, holds the store's and has paused
// writers. reserved_bytes() may be asked by any thread, all else by who may use the view.
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

    /// Maps what is stored: comes first. Complexity: O(extents), whatever their size.
    result<void> map_image(const view_options& options);

    /// The same, when the image has become another one: everything is mapped anew.
    result<void> map_image_again(const view_options& options);

    /// All of a view that is open read-only becomes writable, in private pages, or read-only again.
    result<void> allow_writes_to_all(bool allowed) {
        return allowed ? os::protect_nothing(base(), accessible_) : os::protect_read_only(base(), accessible_);
    }

    [[nodiscard]] std::byte* base() const { return place_.base(); }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
    /// Bytes from the base that may be used.
    [[nodiscard]] std::uint64_t accessible_bytes() const { return accessible_; }
    /// Extends them to at least `bytes`, in larger steps; and the reservation, while the addresses behind it are free.
    result<void> make_accessible(std::uint64_t bytes);

    [[nodiscard]] heap_range range_of(std::uint64_t chunk) const {
        return {chunk * image_.chunk_bytes(), image_.chunk_bytes()};
    }
    /// Where each chunk lives.
    [[nodiscard]] const place::chunk_places& places() const { return places_; }
    /// Whether the chunk is mapped from the copy where it is.
    [[nodiscard]] bool maps_copy(std::uint64_t chunk) const { return places_.is_mapped_from_copy(chunk); }
    /// Takes the memory that noting what becomes of the chunk needs.
    void reserve_place_of(std::uint64_t chunk) { places_.reserve(chunk); }

    // New mappings.

    result<void> map_zeros(std::uint64_t from, std::uint64_t to);
    /// Maps whole chunks from their copies, which follow each other in the file.
    result<void> map_copies(heap_range chunks);
    /// Makes a chunk that is not stored read as zeros again. In a hole of the file a spill that failed may have left bytes, so
    /// that it becomes anonymous, which may cost two mappings. False, and nothing done, when there are too many such.
    result<bool> make_zeros(std::uint64_t chunk);
    /// Makes whole chunks anonymous zeros: the store holds nothing there any more.
    result<void> forget(heap_range chunks);
    [[nodiscard]] bool is_in_file_hole(std::uint64_t chunk) const;
    /// Maps a chunk's bytes of the file, from `file_offset` on, where they are to be moved into place from.
    result<void> map_aside(os::moving_mapping& aside, std::uint64_t file_offset);
    /// What was mapped aside, from the copy where the chunk is, takes its place in one step: others may be reading.
    result<void> replace_by_copy(std::uint64_t chunk, os::moving_mapping& aside);

    // What others have done.

    /// A commit gave the chunk its first place.
    void note_committed(std::uint64_t chunk) { places_.commit_fresh(chunk); }
    /// A commit moved the chunk; memory holds what is committed.
    void note_moved(std::uint64_t chunk) { places_.commit_relocated(chunk); }
    /// The chunk is mapped from where it was spilled to.
    void note_spilled(std::uint64_t chunk) { places_.spill(chunk); }
    /// It is anonymous again.
    void note_given_up(std::uint64_t chunk) { places_.give_up(chunk); }

    /// Returns the bytes of chunks that were committed first, and stay anonymous until they are mapped from the file.
    [[nodiscard]] std::uint64_t unmapped_bytes() const { return places_.unmapped_count() * image_.chunk_bytes(); }

    // Chunks that are mapped one by one between others, each of which costs two mappings at worst. A process has 65,530.

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
    /// Of the heap, sorted: since it was opened they have been mapped from holes of the file, in which they would have their
    /// copies. Behind each comes a stored chunk, so that the file does not end before. Parts that are mapped otherwise by now may
    /// be among them.
    std::vector<heap_range> file_holes_;
};

} // namespace remanence::view
