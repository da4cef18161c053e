#include "testing/simulated_inode.hpp"

#include <algorithm>

namespace remanence::simulation {

void simulated_disk::inode::fill(std::uint64_t offset, std::span<const std::byte> bytes) {
    contents->write(offset, bytes);
    size = std::max(size, offset + bytes.size());
}

void simulated_disk::inode::resize(std::uint64_t bytes) {
    if (bytes < size)
        contents->zero({bytes, size - bytes});
    size = bytes;
}

} // namespace remanence::simulation
