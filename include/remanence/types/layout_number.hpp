// The layout number of a class that hides its members. Depends on the standard library only.
#pragma once

#include <cstdint>

namespace remanence {

/// A number for the layout of a class of yours. Remanence sees no more of a class that hides its members than name, size
/// and alignment; so when you change such a class (or what the values of a member mean, in any class), state the next
/// number, before its first use with a heap:
///
///     template <>
///     inline constexpr std::uint32_t remanence::layout_number<my::account> = 2;
///
/// A heap that has another number is errc::type_mismatch. 0, as if there were none, is the layout of heaps that were
/// made before the class had a number.
template <class T>
inline constexpr std::uint32_t layout_number = 0;

} // namespace remanence
