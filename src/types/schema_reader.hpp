// The functions by which checks ask src/inspect what lies at a place of an open heap, and where a pointer can lie.
// src/inspect walks through all roots by their schemas, which needs much code. So only programs with the checking
// library and those that call heap::check_pointers() link it.
#pragma once

#include "base/range.hpp"
#include "txn/heap_memory.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace remanence::types {

/// A word at a multiple of 8 bytes from the heap's base, and the block that contains it.
struct word_in_block {
    std::uint64_t at;
    heap_range block;
};

using names_by_place = std::map<std::uint64_t, std::string>;

/// Memory must not change meanwhile. Both functions take O(heap).
struct schema_reader {
    /// Returns names for these heap offsets, as a program would write them: people["KNUTH"].street. Names only places
    /// in roots whose schema the heap stores.
    names_by_place (*names_of_parts)(txn::heap_memory& memory, const std::set<std::uint64_t>& places);
    /// Returns for each word, in ascending order, true if the schema of a root excludes a pointer there: in a number,
    /// padding, the unused rest of a text, an empty optional or variant, or a container's memory behind its elements.
    /// Returns false also for a word that no schema describes.
    std::vector<bool> (*hold_no_pointer)(txn::heap_memory& memory, std::span<const word_in_block> words);
};
extern const schema_reader k_schema_reader;

/// Returns the functions with which this library checks commits; null if it does not check them.
[[nodiscard]] const schema_reader* checks_pointers();

/// Returns ", in people["KNUTH"].street"; empty if no name is known.
inline std::string part_in_words(const names_by_place& names, std::uint64_t place) {
    const auto name = names.find(place);
    return name == names.end() ? std::string() : ", in " + name->second;
}
inline std::string part_in_words(txn::heap_memory& memory, std::uint64_t place) {
    const schema_reader* const reader = checks_pointers();
    return reader != nullptr ? part_in_words(reader->names_of_parts(memory, {place}), place) : std::string();
}

} // namespace remanence::types
