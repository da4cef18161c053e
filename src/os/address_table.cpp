#include "os/address_table.hpp"

#include <sys/mman.h>

namespace remanence::os {

void* make_address_table(std::size_t bytes) noexcept {
    void* const table =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return table != MAP_FAILED ? table : nullptr;
}

void unmake_address_table(void* table, std::size_t bytes) noexcept { ::munmap(table, bytes); }

} // namespace remanence::os
