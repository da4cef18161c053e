// Bytes that are to go to a place in the heap file, once somebody writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::store {

struct planned_write {
    std::uint64_t offset; // in the file
    std::vector<std::byte> bytes;
};

} // namespace remanence::store
