// The layout number of a class that hides its members. Depends on the standard library only.
#pragma once

#include <cstdint>

namespace remanence {

/// The layout number of a class of yours. Of a class that hides its members, Remanence sees only name, size and
/// alignment. So when you change such a class (or what the values of a member mean, in any class), give it the next
/// number, before its first use with a heap:
///
///     template <>
///     inline constexpr std::uint32_t remanence::layout_number<my::account> = 2;
///
/// A heap with another number is refused (errc::type_mismatch). 0 means no number, as in heaps that were created
/// before the class got its first number.
template <class T>
inline constexpr std::uint32_t layout_number = 0;

} // namespace remanence
