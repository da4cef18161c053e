// Structs of the caller's that say their own size, since they may be those of an older or a newer release than this one.
#pragma once

#include "capi/guard.hpp"

#include <remanence/remanence.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace remanence::capi {

/// No struct of any release is longer: what says so is not set.
inline constexpr std::size_t k_struct_bytes_max = 4096;

/// Of the struct in the first release that has it.
template <class Struct>
inline constexpr std::size_t k_first_bytes = sizeof(Struct);
template <>
inline constexpr std::size_t k_first_bytes<rem_options> = offsetof(rem_options, log_directory);

/// A copy of what the caller set, with zeros where its struct ends before ours; all zeros, if there is none. `what` names it.
/// Throws errc::invalid_argument when the size is not set, errc::not_supported when something is set that we do not have.
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

/// Writes as much of `values` as the caller's struct has room for, zeros where that is larger; its size stays.
template <class Struct>
void fill_struct(Struct* into, Struct values) {
    const std::size_t size = into->size;
    auto* const bytes = reinterpret_cast<std::byte*>(into);
    std::memcpy(bytes, &values, std::min(size, sizeof values));
    std::fill(bytes + std::min(size, sizeof values), bytes + size, std::byte{0});
    into->size = size;
}

} // namespace remanence::capi
