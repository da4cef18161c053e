// Structs of the caller that state their own size, since the caller may be compiled with an older or a newer release.
#pragma once

#include "capi/guard.hpp"

#include <remanence/remanence.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace remanence::capi {

/// No release has a larger struct, so a larger size was not set by the caller.
inline constexpr std::size_t k_struct_bytes_max = 4096;

/// The size of the struct in the first release that has this struct.
template <class Struct>
inline constexpr std::size_t k_first_bytes = sizeof(Struct);
template <>
inline constexpr std::size_t k_first_bytes<rem_options> = offsetof(rem_options, log_directory);

/// Returns a copy of the caller's struct. Fields that the caller's release does not have are zero; so are all fields
/// for null. `what` names the struct in errors. Throws errc::invalid_argument if the size is not set, and
/// errc::not_supported if a field is set that this release does not have.
template <class Struct>
Struct whole_struct(const Struct* given, const char* what) {
    Struct whole{};
    if (given == nullptr)
        return whole;
    if (given->size < k_first_bytes<Struct> || given->size > k_struct_bytes_max)
        throw error(errc::invalid_argument, std::string("the size of ") + what + " is not set to its sizeof.");
    const auto* const bytes = reinterpret_cast<const std::byte*>(given);
    const std::size_t known = std::min(sizeof whole, given->size);
    if (!std::all_of(bytes + known, bytes + given->size, [](std::byte each) { return each == std::byte{0}; }))
        throw error(errc::not_supported, std::string(what) +
                                             " sets what this release does not have: the program was compiled for a "
                                             "newer one.");
    std::memcpy(&whole, given, known);
    return whole;
}

/// Writes as much of `values` as fits into the caller's struct. Sets further bytes of that struct to zero, and does not
/// change its size.
template <class Struct>
void fill_struct(Struct* into, Struct values) {
    const std::size_t size = into->size;
    auto* const bytes = reinterpret_cast<std::byte*>(into);
    std::memcpy(bytes, &values, std::min(size, sizeof values));
    std::fill(bytes + std::min(size, sizeof values), bytes + size, std::byte{0});
    into->size = size;
}

} // namespace remanence::capi
