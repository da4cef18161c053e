// Finds pointers that leave the heap: to a stack, to malloc's memory, to another open heap. Such a pointer breaks the
// heap for every later process, and often only that process notices.
//
// Commits are checked in builds without NDEBUG and in remanence::checked; a whole heap is checked when the program
// asks. The check guesses: a pointer is a word whose value is an address. The rules below keep false findings rare:
//
//  P1  Only aligned words within live blocks count; for a commit, only those that it changes. The engine zeroes blocks
//      when they are freed, so no word is left over from an earlier block of the same transaction.
//  P2  Only addresses from 4 GiB up count: small numbers are no pointers, even where a program's data begins at 4 MiB.
//  P3  The address must lie in private, writable memory that belongs to no file (os::memory_of_process), or in another
//      heap. So addresses of vtables, functions and constants do not count; a check of the whole heap counts them, too.
//  P4  The start of a page of the process does not count, because objects rarely begin there, except on this thread's
//      stack. A hash container's load factor, the float 1, looks like such an address when the four bytes of padding
//      behind it are the upper half of some address.
//
//  P5  A string or container in the heap may own memory that belongs to no heap. Two things identify such an owner: the
//      place of its allocator, and the mark in front of the block. Bytes that a program copied from its stack may
//      contain one of the two, but not both. A container that owns memory of another heap is identified by the place of
//      its allocator and an address in that heap.
//
//  P6  Words whose type can hold no pointer do not count, if the schema of a root describes them (described_words.hpp):
//      numbers, padding, and the unused rest of a text or an optional may contain old bytes of the stack. Objects
//      without a description are checked as a whole: roots of C programs, classes that hide their members, and blocks
//      that no root leads to.
//
// Two false findings remain, in objects without a description: a number that happens to equal an address, and bytes
// that a program copied from its stack without ever having set them. In a std::string, malloc's memory is found from 16
// characters on, since a shorter text lies in the heap as a whole. The check misses pointers that are packed, tagged in
// their upper bits, not aligned, or stored as numbers.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "txn/heap_memory.hpp"
#include "types/schema_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace remanence::types {

/// Returns the path of the open heap that contains an address; empty if none does. O(1), any thread.
using heap_finder = std::function<std::string(const void*)>;

/// Fails with errc::foreign_pointer if the commit would store a pointer that leaves the heap. The message names the
/// first one by root, type and offset, says where it points and what to do, and counts them. The caller must hold the
/// allocation lock. Complexity: O(changed bytes); reads /proc/self/maps at most once. If a word looks like an address,
/// also O(heap).
result<void> check_pointers(txn::heap_memory& memory, const change::change_set& changes,
                            const alloc::block_allocator& blocks, const heap_finder& heap_at);

/// Refuses as check_pointers() does, but in every build and without a guess (P5). `places` in the heap are those where
/// an allocator of no heap, or of another heap, was constructed or has allocated, and still exists. The allocator owns
/// memory if a word near it leads to a block that has the mark of an allocator of no heap
/// (remanence/types/detail/outside_block.hpp), or into that other heap. The word is an address, or a distance from its
/// own place (detail::link). The caller must hold the allocation lock, and memory must not change meanwhile.
/// Complexity: O(places), and that of check_pointers() if it finds a word.
result<void> refuse_foreign_memory(txn::heap_memory& memory, const std::vector<const void*>& places,
                                   const alloc::block_allocator& blocks, const heap_finder& heap_at);

/// A word of the heap that leads out of the heap.
struct foreign_pointer {
    std::string root;     // the root that reaches the word; empty if none does, or if that is not known
    std::string type;     // the type of that root
    std::uint64_t offset; // heap offset of the word
    std::string what;     // a sentence
};
struct pointer_survey {
    std::uint64_t blocks = 0; // blocks that were checked
    std::uint64_t found = 0;
    std::vector<foreign_pointer> first; // the first of them, at most k_pointers_listed_max
};
inline constexpr std::size_t k_pointers_listed_max = 1000;

/// True for addresses of vtables, which the next commit replaces.
using vtable_predicate = std::function<bool(std::uint64_t)>;

/// Checks every live block, in any build; `reader` tells where no pointer can lie. The caller must hold the allocation
/// lock, and memory must not change meanwhile. Complexity: O(heap); reads /proc/self/maps at most once.
pointer_survey survey_pointers(txn::heap_memory& memory, const alloc::block_allocator& blocks,
                               const heap_finder& heap_at, const schema_reader& reader,
                               const vtable_predicate& is_vtable);

} // namespace remanence::types
