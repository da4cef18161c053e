// What lies at a place of an open heap, as a program would write it: people["KNUTH"].street. Part of programs with the checking library,
// and of those that call heap::check_pointers(): going through all roots by their schemas takes code. So the function is weak, and
// src/api/part_names.cpp has it.
#pragma once

#include "txn/heap_memory.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace remanence::types {

/// The names of these places, heap offsets, if the heap has the schema of the root in which they lie. Memory must not change meanwhile.
/// O(heap).
using names_by_place = std::map<std::uint64_t, std::string>;
[[gnu::weak]] names_by_place names_of_parts(txn::heap_memory& memory, const std::set<std::uint64_t>& places);

/// ", in people["KNUTH"].street"; empty: no name is known.
inline std::string part_in_words(const names_by_place& names, std::uint64_t place) {
    const auto name = names.find(place);
    return name == names.end() ? std::string() : ", in " + name->second;
}
inline std::string part_in_words(txn::heap_memory& memory, std::uint64_t place) {
    return names_of_parts == nullptr ? std::string() : part_in_words(names_of_parts(memory, {place}), place);
}

/// Whoever calls it has names_of_parts() and hold_no_pointer() (described_words.hpp) in his program. It does nothing.
void link_names_of_parts() noexcept;

} // namespace remanence::types
