// The check for pointers that leave the heap: to a stack, to malloc's memory, to another open heap. Such a heap
// would be broken for every later process, and often is only noticed there.
//
// Of commits, in builds without NDEBUG and in remanence::checked; of a whole heap, when somebody asks. It guesses: a
// pointer is a word whose value is an address. What it looks at is chosen so that it hardly ever takes something else for one:
//
//  P1  Only aligned words within live blocks. Of a commit those that it changes; the engine zeroes blocks as they are freed, so
//      no word is left over from an earlier block of the same transaction.
//  P2  Only addresses from 4 GiB up: small numbers are no pointers, even where a program's data begins at 4 MiB.
//  P3  Only memory that is private, writable and of no file (os::memory_of_process), or another heap. Not vtables,
//      functions and constants: they are found in no such memory. When a whole heap is checked, these, too.
//  P4  Not the start of a page of the process, where hardly an object lies. A hash container's load factor, the float 1, seems to lead
//      there when the four bytes of padding behind it are the upper half of some address.
//
//  P5  What a string or container of no heap has taken, in an object of the heap, is found by where the allocator is and the
//      mark in front of the block. Bytes that a program copied from its stack may hold the one or the other, not both. Likewise
//      what one of another heap has taken, by where its allocator is and an address in that heap.
//
//  P6  Not words that can hold no pointer by their type, where the schema of a root says what lies there (described_words.hpp):
//      numbers, padding, the rest of a text or of an optional hold what the stack held. Objects without a description are looked at
//      whole: roots of C programs, classes that hide their members, what no root leads to.
//
// What remains, in objects without a description: a number that happens to equal an address, and bytes that a program copied from its
// stack without ever having set them. Of a std::string, malloc's memory is found from 16
// characters on, since a shorter one lies in the heap as a whole. It misses pointers that are packed, tagged in their
// upper bits, not aligned, or kept as numbers.
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

/// The path of the open heap that an address lies in; empty when it lies in none. O(1), any thread.
using heap_finder = std::function<std::string(const void*)>;

/// errc::foreign_pointer when the commit would store one. The message names the first by root, type and offset, what it
/// points to, what to do, and how many there are. To be called with the allocation lock held.
/// Complexity: O(changed bytes); reads /proc/self/maps at most once. If a word looks like an address, also O(heap).
result<void> check_pointers(txn::heap_memory& memory, const change::change_set& changes,
                            const alloc::block_allocator& blocks, const heap_finder& heap_at);

/// Refuses as check_pointers() does, in any build and without a guess. `places` in the heap are those where an allocator of no
/// heap, or of another one, was made, or asked for memory, and is still: P5. It has memory if a word near it, an address or a
/// distance from its own place (detail::link), leads to a block that has the mark of what an allocator of no heap took
/// (remanence/types/detail/outside_block.hpp), or into that other heap. To be called with the allocation lock held, while
/// memory does not change.
/// Complexity: O(places), and that of check_pointers() on a find.
result<void> refuse_strange_memory(txn::heap_memory& memory, const std::vector<const void*>& places,
                                   const alloc::block_allocator& blocks, const heap_finder& heap_at);

/// A word of the heap that leads out of it.
struct foreign_pointer {
    std::string root;     // that reaches it; empty: none does, or that cannot be told
    std::string type;     // of that root
    std::uint64_t offset; // of the word, in the heap
    std::string what;     // a sentence
};
struct pointer_survey {
    std::uint64_t blocks = 0; // that were looked at
    std::uint64_t found = 0;
    std::vector<foreign_pointer> first; // of those, k_pointers_listed_max at most
};
inline constexpr std::size_t k_pointers_listed_max = 1000;

/// Looks at every live block, in any build; `reader` tells where no pointer can lie. To be called with the allocation lock held, while memory does not change.
/// Complexity: O(heap); reads /proc/self/maps at most once.
pointer_survey survey_pointers(txn::heap_memory& memory, const alloc::block_allocator& blocks,
                               const heap_finder& heap_at, const schema_reader& reader);

} // namespace remanence::types
