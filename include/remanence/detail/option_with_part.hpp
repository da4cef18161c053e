// Options that need an optional part of the library's code. That part is linked into a program only if the program sets
// such an option.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace remanence::detail {

struct version_part; // src/api/version_opening.hpp
extern const version_part k_version_part;
struct leak_part; // src/api/leak_part.hpp
extern const leak_part k_leak_part;

/// An option's value. Code that assigns a value refers to the part that it needs, so that the linker includes the part;
/// a default-constructed option does not refer to it.
template <class T, class Part, const Part& The>
class option_with_part : public T {
public:
    option_with_part() = default;
    template <class U>
        requires(std::constructible_from<T, U> && !std::derived_from<std::remove_cvref_t<U>, option_with_part>)
    option_with_part(U&& value)
        : T(std::forward<U>(value)), part_(&The) {} // NOLINT(google-explicit-constructor): as T's

    /// Returns the part; null if the option was given no value.
    [[nodiscard]] const Part* part() const noexcept { return part_; }

private:
    const Part* part_ = nullptr;
};

/// The number check_options::leak_frames. As option_with_part, a number that is assigned brings its part along.
class call_count {
public:
    constexpr call_count() = default;    // `= {}` makes it 0
    constexpr call_count(unsigned count) // NOLINT(google-explicit-constructor): as the number's
        : call_count(count, &k_leak_part) {}
    /// Used by the library only.
    constexpr call_count(unsigned count, const leak_part* part) : count_(count), part_(part) {}
    constexpr operator unsigned() const noexcept { return count_; } // NOLINT(google-explicit-constructor)
    [[nodiscard]] constexpr const leak_part* part() const noexcept { return part_; }

private:
    unsigned count_; // NOLINT(cppcoreguidelines-pro-type-member-init): see the constructor
    const leak_part* part_;
};

} // namespace remanence::detail
