// Helpers that several of our own containers share. Depends on the standard library only.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace remanence::detail {

/// The standard's synth-three-way: compares by <=> where there is one, else by <. It cannot be called for a T that has
/// neither.
struct three_way_by_less {
    template <class T>
        requires std::three_way_comparable<T> || requires(const T& x, const T& y) {
            { x < y } -> std::convertible_to<bool>;
        }
    [[nodiscard]] constexpr auto operator()(const T& x, const T& y) const {
        if constexpr (std::three_way_comparable<T>)
            return x <=> y;
        else
            return x < y   ? std::weak_ordering::less
                   : y < x ? std::weak_ordering::greater
                           : std::weak_ordering::equivalent;
    }
};

/// The operators of containers require this concept. So if elements have no order, std::totally_ordered is false for
/// the container, instead of a compile error.
template <class T>
concept has_three_way = std::invocable<three_way_by_less, const T&, const T&>;

/// True if elements can be compared by ==. In libstdc++ std::equality_comparable is true for every pair, so pairs have
/// a specialisation.
template <class T>
inline constexpr bool has_equality_v = std::equality_comparable<T>;
template <class First, class Second>
inline constexpr bool has_equality_v<std::pair<First, Second>> =
    has_equality_v<std::remove_const_t<First>> && has_equality_v<Second>;

/// An argument of erase() and extract() that is neither key nor iterator, for a transparent comparator or hash.
template <class K, class Container>
concept other_key = !std::same_as<std::remove_cvref_t<K>, typename Container::key_type> &&
                    !std::convertible_to<K, typename Container::iterator> &&
                    !std::convertible_to<K, typename Container::const_iterator>;

/// Returns the largest number of elements that the allocator can allocate and a distance can count.
template <class Alloc>
[[nodiscard]] std::size_t elements_max(const Alloc& alloc) noexcept {
    using traits = std::allocator_traits<Alloc>;
    constexpr auto distance_max = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    constexpr std::size_t element = sizeof(typename traits::value_type); // NOLINT(bugprone-sizeof-expression)
    return std::min<std::size_t>(traits::max_size(alloc), distance_max / element);
}

/// The destructor empties the container, also when an exception is thrown.
template <class Container>
class emptied_at_the_end {
public:
    explicit emptied_at_the_end(Container& all) noexcept : all_(all) {}
    emptied_at_the_end(const emptied_at_the_end&) = delete;
    emptied_at_the_end& operator=(const emptied_at_the_end&) = delete;
    ~emptied_at_the_end() { all_.clear(); }

private:
    Container& all_;
};

/// Erases elements one by one; returns how many.
template <class Container, class Predicate>
std::size_t erase_one_by_one(Container& from, Predicate& predicate) {
    const std::size_t before = from.size();
    for (auto each = from.begin(); each != from.end();)
        each = predicate(*each) ? from.erase(each) : std::next(each);
    return before - from.size();
}

} // namespace remanence::detail
