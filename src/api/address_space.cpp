#include "os/memory.hpp"

#include <remanence/address_space.hpp>
#include <remanence/error.hpp>

#include <string>

namespace remanence {

static constexpr std::uint64_t k_begin = 4 * GiB;
static constexpr std::uint64_t k_end = 64 * TiB;

std::uintptr_t find_address_space(std::uint64_t bytes, address_end from) {
    if (bytes == 0)
        throw error(errc::invalid_argument, "find_address_space() was asked for 0 bytes.");
    const std::uint64_t found = from == address_end::low ? os::lowest_free_addresses(k_begin, k_end, bytes)
                                                         : os::highest_free_addresses(k_begin, k_end, bytes);
    if (found == 0) {
        throw error(errc::exhausted, "nowhere between 4 GiB and 64 TiB are " + std::to_string(bytes) +
                                         " bytes of addresses free in this process.");
    }
    return found;
}

} // namespace remanence
