// Bytes to be written later to a place in the heap file.
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
