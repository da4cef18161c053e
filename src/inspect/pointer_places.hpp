// Finds the places of all pointers in a heap, so that the heap can move to other addresses.
//
//  MP1  Where the schema describes memory, it decides. A word that a type declares as a pointer, or in which a container
//       keeps an address, is a pointer if its value lies in the heap. Numbers are none, whatever their value.
//  MP2  A pointer leads to an object of its type, to a part of an object that was found otherwise, or into an array:
//       if its block has room for several objects, and these own nothing, all of them are looked at.
//  MP3  Everywhere else in what was reached (RW2; behind the last member of an object, where a derived class has its
//       own; in blocks that are not what MP2 says), no eight bytes may have an address in a block as their value, or
//       the one that allocators store, unless MP1 has found them. If some do, nobody can know whether they are a
//       pointer, and the heap is refused.
//  MP4  Hash containers whose keys hold pointers are refused: the places of their elements depend on addresses. Trees
//       stay in order, since all addresses move by the same distance.
//  MP5  What no root reaches is not looked at. Pointers to what is no block are pointers.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/reference_walk.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace remanence::inspect {

/// Places of words, as heap offsets. Takes one bit for each word of the heap, once it has a place.
class word_places {
public:
    explicit word_places(std::uint64_t heap_bytes) : heap_bytes_(heap_bytes) {}

    void add(std::uint64_t at);
    [[nodiscard]] bool contains(std::uint64_t at) const;
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Adds `distance` to the words that begin in a part of the heap. `memory` is where the heap lies. `part`: a multiple
    /// of k_part_bytes.
    void move_part(std::byte* memory, std::uint64_t part, std::uint64_t distance) const;
    static constexpr std::uint64_t k_part_bytes = 64 * k_address_bytes; // for each number in bits_

private:
    std::uint64_t heap_bytes_;
    std::vector<std::uint64_t> bits_;
    std::set<std::uint64_t> unaligned_; // places that are no multiples of 8
    std::uint64_t count_ = 0;
};

/// All words of a heap that depend on its base.
struct pointer_places {
    explicit pointer_places(std::uint64_t heap_bytes) : bytes(heap_bytes), pointers(heap_bytes), vptrs(heap_bytes) {}

    std::uint64_t bytes; // of the heap
    word_places pointers;
    word_places vptrs; // of objects with virtual functions

    [[nodiscard]] std::uint64_t count() const { return pointers.count() + vptrs.count(); }
    /// Rewrites the words for another base. `memory` is where the heap lies. Calls `told` now and then with how many
    /// bytes of the heap are done. O(heap / 512, and places).
    void move(std::byte* memory, std::uint64_t old_base, std::uint64_t base,
              const std::function<void(std::uint64_t done)>& told) const;
};

/// `blocks`: all blocks of the heap, sorted. Memory must not change meanwhile. errc::not_supported, with a sentence that
/// names the root and the type, if not all pointers are known; errc::corrupt if an object that a root owns is damaged.
/// O(heap), in time; memory O(blocks and pointers).
result<pointer_places> pointers_of(const heap_to_read& heap, std::vector<heap_range> blocks);

/// Returns every aligned word in a block whose value is an address in a block, or the one that allocators store, or that
/// of a vptr: a guess.
result<pointer_places> words_like_pointers(const heap_to_read& heap, const std::vector<heap_range>& blocks);

} // namespace remanence::inspect
