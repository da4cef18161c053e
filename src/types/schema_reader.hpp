// What checks ask of src/inspect, which goes through all roots of an open heap by their schemas: what lies at a place, and where a pointer
// can lie. That takes code: programs with the checking library have it, and those that call heap::check_pointers().
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

/// A multiple of 8 bytes from the heap's base, and the block that the word lies in.
struct word_in_block {
    std::uint64_t at;
    heap_range block;
};

using names_by_place = std::map<std::uint64_t, std::string>;

/// Memory must not change meanwhile. O(heap), both.
struct schema_reader {
    /// The names of these places, heap offsets, as a program would write them, people["KNUTH"].street: if the heap has the schema of the root
    /// in which they lie.
    names_by_place (*names_of_parts)(txn::heap_memory& memory, const std::set<std::uint64_t>& places);
    /// Of each word, in ascending order, whether the schema of a root leaves no room for a pointer there: a number, padding, the rest of a
    /// text, what an optional or a variant does not hold, memory of a container behind its elements. False also where no schema describes it.
    std::vector<bool> (*hold_no_pointer)(txn::heap_memory& memory, std::span<const word_in_block> words);
};
extern const schema_reader k_schema_reader;

/// What this library checks commits with; null: it does not check them.
[[nodiscard]] const schema_reader* checks_pointers();

/// ", in people["KNUTH"].street"; empty: no name is known.
inline std::string part_in_words(const names_by_place& names, std::uint64_t place) {
    const auto name = names.find(place);
    return name == names.end() ? std::string() : ", in " + name->second;
}
inline std::string part_in_words(txn::heap_memory& memory, std::uint64_t place) {
    const schema_reader* const reader = checks_pointers();
    return reader != nullptr ? part_in_words(reader->names_of_parts(memory, {place}), place) : std::string();
}

} // namespace remanence::types
