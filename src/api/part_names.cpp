// Names of places for messages of the checking library: src/inspect goes through the roots by their schemas.
#include "types/part_names.hpp"

#include "inspect/heap_schema.hpp"
#include "inspect/object_parts.hpp"
#include "types/root_directory.hpp"

#include <string>
#include <utility>

namespace remanence::types {

names_by_place names_of_parts(txn::heap_memory& memory, const std::set<std::uint64_t>& places) {
    memory_bytes bytes(memory);
    const inspect::heap_to_read heap{
        bytes, memory.path(),   reinterpret_cast<std::uintptr_t>(memory.base()), memory.accessible_bytes(),
        0,     &memory.header()};
    auto found = inspect::names_of_places(heap, places);
    if (!found)
        return {}; // the message does without them
    std::erase_if(*found, [](const auto& each) { return each.second.find_first_of(".[") == std::string::npos; });
    return std::move(*found); // the names of whole roots say no more than the message
}

void link_names_of_parts() noexcept {}

} // namespace remanence::types
