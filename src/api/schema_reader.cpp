// Finds the names of places in objects, for the messages of checks, and finds words that can hold no pointer. For both,
// src/inspect visits the objects by their roots' schemas.
#include "types/schema_reader.hpp"

#include "api/heap_reading.hpp"
#include "inspect/described_words.hpp"
#include "inspect/object_parts.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::types {

static names_by_place names_of_parts(txn::heap_memory& memory, const std::set<std::uint64_t>& places) {
    memory_bytes bytes(memory);
    const inspect::heap_to_read heap = detail::to_read(bytes, memory);
    auto found = inspect::names_of_places(heap, places);
    if (!found)
        return {}; // the message is complete without the names
    std::erase_if(*found, [](const auto& each) { return each.second.find_first_of(".[") == std::string::npos; });
    return std::move(*found); // whole roots are left out, because the message names them already
}

static std::vector<bool> hold_no_pointer(txn::heap_memory& memory, std::span<const word_in_block> words) {
    memory_bytes bytes(memory);
    return inspect::hold_no_pointer(detail::to_read(bytes, memory), words);
}

constinit const schema_reader k_schema_reader{names_of_parts, hold_no_pointer};

} // namespace remanence::types
