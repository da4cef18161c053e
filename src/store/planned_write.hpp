// Bytes that are to be written to a place in the heap file later.
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
