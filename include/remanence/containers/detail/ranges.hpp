// What C++23 offers to containers for ranges, in C++20: the tag from_range, which ranges a container accepts, and how
// their elements are counted. Depends on the standard library only.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <version>

namespace remanence {

#ifdef __cpp_lib_containers_ranges
using std::from_range;
using std::from_range_t;
#else
/// The tag of constructors that fill a container from the range that follows. Where the standard library has
/// std::from_range_t, this is that type.
struct from_range_t {
    explicit from_range_t() = default;
};
/// The tag of constructors: the argument that follows is a range.
inline constexpr from_range_t from_range{};
#endif

namespace detail {

/// A range whose elements can be converted to those of a container.
template <class Range, class Value>
concept range_of_elements =
    std::ranges::input_range<Range> && std::convertible_to<std::ranges::range_reference_t<Range>, Value>;

/// A range whose elements can be counted before they are read: it can be walked twice, or knows its size.
template <class Range>
concept counted_range = std::ranges::forward_range<Range> || std::ranges::sized_range<Range>;
template <counted_range Range>
[[nodiscard]] std::size_t count_of(Range& range) {
    return static_cast<std::size_t>(std::ranges::distance(range));
}

/// Returns the elements of a container as a range to move from.
template <class Container>
[[nodiscard]] auto moved_elements(Container& of) noexcept {
    return std::ranges::subrange(std::move_iterator(of.begin()), std::move_iterator(of.end()));
}

/// Tests the category, not the concept: before C++23 std::move_iterator does not satisfy the concept.
template <class Iterator>
concept forward_iterator_of_std =
    std::derived_from<typename std::iterator_traits<Iterator>::iterator_category, std::forward_iterator_tag>;

/// Returns two iterators as a range, with its size if the standard's containers would count its elements, too.
template <std::input_iterator Iterator>
[[nodiscard]] auto range_between(Iterator first, Iterator last) {
    if constexpr (forward_iterator_of_std<Iterator> && !std::forward_iterator<Iterator> &&
                  !std::sized_sentinel_for<Iterator, Iterator>) {
        const auto count = static_cast<std::size_t>(std::distance(first, last));
        return std::ranges::subrange<Iterator, Iterator, std::ranges::subrange_kind::sized>(std::move(first),
                                                                                            std::move(last), count);
    } else {
        return std::ranges::subrange(std::move(first), std::move(last));
    }
}

} // namespace detail
} // namespace remanence
