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

/// Places of words, as heap offsets. Takes one bit for each word of the heap.
class pointer_places {
public:
    explicit pointer_places(std::uint64_t heap_bytes) : bits_((heap_bytes + k_bytes_each - 1) / k_bytes_each) {}

    void add(std::uint64_t at);
    [[nodiscard]] bool contains(std::uint64_t at) const;
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Adds `distance` to each of the words. `memory` is where the heap lies. Calls `told` now and then with how many
    /// bytes of the heap are done. O(heap / 512, and places).
    void move(std::byte* memory, std::uint64_t distance, const std::function<void(std::uint64_t done)>& told) const;

private:
    static constexpr std::uint64_t k_bytes_each = 64 * k_address_bytes; // of the heap, for each number in bits_

    std::vector<std::uint64_t> bits_;
    std::set<std::uint64_t> unaligned_; // places that are no multiples of 8
    std::uint64_t count_ = 0;
};

/// `blocks`: all blocks of the heap, sorted. Memory must not change meanwhile. errc::not_supported, with a sentence that
/// names the root and the type, if not all pointers are known; errc::corrupt if an object that a root owns is damaged.
/// O(heap), in time; memory O(blocks and pointers).
result<pointer_places> pointers_of(const heap_to_read& heap, std::vector<heap_range> blocks);

/// Returns every aligned word in a block whose value is an address in a block, or the one that allocators store: a
/// guess.
result<pointer_places> words_like_pointers(const heap_to_read& heap, const std::vector<heap_range>& blocks);

} // namespace remanence::inspect
