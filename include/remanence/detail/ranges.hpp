// What C++23 gives containers for ranges, for C++20: the tag of constructors, and which ranges a container takes. Depends on the
// standard library only.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>
#include <utility>
#include <version>

namespace remanence {

#ifdef __cpp_lib_containers_ranges
using std::from_range;
using std::from_range_t;
#else
/// Before a range, as a constructor's argument: makes a container of it. std::from_range where the standard library has that.
struct from_range_t {
    explicit from_range_t() = default;
};
inline constexpr from_range_t from_range{};
#endif

namespace detail {

/// Ranges whose elements can become a container's.
template <class Range, class Value>
concept range_of_elements =
    std::ranges::input_range<Range> && std::convertible_to<std::ranges::range_reference_t<Range>, Value>;

} // namespace detail
} // namespace remanence
