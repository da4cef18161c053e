// A string that holds no address, for heaps that may be mapped elsewhere. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/between_heaps.hpp>
#include <remanence/containers/detail/fetch_ahead.hpp>
#include <remanence/containers/detail/kept_allocator.hpp>
#include <remanence/containers/detail/ranges.hpp>
#include <remanence/detail/declarer.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>
#include <remanence/types/detail/self_contained.hpp>
#include <remanence/types/detail/structure.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

namespace detail {

/// Any kind of string: const char*, std::string, std::string_view, basic_string_pi.
template <class Text>
concept text_like = std::convertible_to<const Text&, std::string_view>;

/// Any kind of string except const char*: after a const char* argument a number is a length, after any other string it
/// is a position.
template <class Text>
concept string_like = text_like<Text> && !std::convertible_to<const Text&, const char*>;

template <class T>
inline constexpr bool is_string_pi_v = false;

/// The iterators of a string, which are pointers. A literal 0 has neither type, so overload resolution treats it as a
/// number.
template <class Iterator>
concept own_iterator = std::same_as<Iterator, char*> || std::same_as<Iterator, const char*>;

/// Matches std::filesystem::path, without including its header.
template <class T>
concept path_like = requires {
    typename T::format;
    T::preferred_separator;
} && std::same_as<typename T::value_type, char> && std::constructible_from<T, std::string_view>;

/// A range whose elements become characters of a string.
template <class Range>
concept range_of_characters = range_of_elements<Range, char>;
/// Returns the characters of a range: a view where they lie side by side, else a copy.
template <range_of_characters Range>
[[nodiscard]] auto text_of_range(Range&& all) {
    if constexpr (std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                  std::same_as<std::ranges::range_value_t<Range>, char>) {
        return std::string_view(std::ranges::data(all), std::ranges::size(all));
    } else {
        std::string text;
        for (auto&& one : all)
            text.push_back(static_cast<char>(std::forward<decltype(one)>(one)));
        return text;
    }
}

/// An argument of std::string_view's search functions: a string or a character.
template <class What>
concept searchable_text = text_like<What> || std::same_as<What, char>;
template <text_like Text>
[[nodiscard]] std::string_view searched(const Text& text) {
    return text;
}
[[nodiscard]] inline char searched(char character) { return character; }

} // namespace detail

/// A string that holds no address: std::string of C++20, with what C++23 added, for heaps that may be mapped elsewhere.
///
/// It has 24 bytes and those of its allocator (8 in a heap). Up to 23 characters lie in the object itself. Longer texts
/// lie in a block; the string stores the distance to it.
///
/// Missing from std::string's interface: other characters than char, reserve() without an argument, use in constant
/// expressions. It compares with every kind of string and converts to std::string_view, also where a
/// std::filesystem::path is constructed. std::stoi and similar functions need std::string(s), and std::format needs a
/// std::string_view.
///
/// Exceptions. An operation that throws has no effect. It throws on lack of memory, std::length_error beyond
/// max_size(), and std::out_of_range for a position behind the end. Moves throw only between different allocators.
///
/// Invalidation. The same as for std::string; in addition, a move or swap of a string of at most 23 characters
/// invalidates references and iterators.
///
/// Sections. The string declares what it writes itself, so it may be changed in declared sections. There a program must
/// touch() what it writes through references, iterators and data(). Threads: the same rules as for std::string.
template <class Allocator>
class basic_string_pi {
    using alloc_traits = std::allocator_traits<Allocator>;
    using declare_to = detail::declarer<Allocator>;
    static_assert(std::is_same_v<typename alloc_traits::pointer, char*>,
                  "Remanence's containers take allocators with plain pointers");
    static constexpr bool k_swaps_blocks =
        alloc_traits::is_always_equal::value || detail::swaps_allocators_v<Allocator>;

public:
    using traits_type = std::char_traits<char>;
    using value_type = char;
    using allocator_type = Allocator;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = char&;
    using const_reference = const char&;
    using pointer = char*;
    using const_pointer = const char*;
    using iterator = char*;
    using const_iterator = const char*;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    // NOLINTNEXTLINE(readability-identifier-naming): as the standard's
    static constexpr size_type npos = std::string_view::npos;

    basic_string_pi() noexcept(noexcept(Allocator()))
        requires std::default_initializable<Allocator>
        : basic_string_pi(Allocator()) {}
    explicit basic_string_pi(const Allocator& alloc) noexcept : alloc_(alloc) {}
    /// Copies a string of any kind.
    basic_string_pi(const char* text, const Allocator& alloc = Allocator()) // NOLINT(google-explicit-constructor)
        : alloc_(alloc) {
        begin_with(text);
    }
    template <detail::text_like Text>
        requires(!std::same_as<Text, basic_string_pi> && detail::string_like<Text>)
    explicit basic_string_pi(const Text& text, const Allocator& alloc = Allocator()) : alloc_(alloc) {
        begin_with(text);
    }
    basic_string_pi(std::nullptr_t) = delete;
    /// Copies at most `count` characters of a string, from position `at` on. In all functions that have these two
    /// parameters after a string, they mean the same.
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi(const Text& text, size_type at, size_type count, const Allocator& alloc = Allocator())
        : basic_string_pi(part(text, at, count), alloc) {}
    template <detail::string_like Text = basic_string_pi>
    basic_string_pi(const Text& text, size_type at, const Allocator& alloc = Allocator())
        : basic_string_pi(part(text, at, npos), alloc) {}
    basic_string_pi(const char* first, size_type count, const Allocator& alloc = Allocator())
        : basic_string_pi(std::string_view(first, count), alloc) {}
    basic_string_pi(size_type count, char character, const Allocator& alloc = Allocator()) : alloc_(alloc) {
        assign(count, character);
    }
    template <std::input_iterator Iterator>
    basic_string_pi(Iterator first, Iterator last, const Allocator& alloc = Allocator()) : alloc_(alloc) {
        append(first, last);
    }
    basic_string_pi(std::initializer_list<char> all, const Allocator& alloc = Allocator())
        : basic_string_pi(std::string_view(all.begin(), all.size()), alloc) {}
    template <detail::range_of_characters Range>
    basic_string_pi(from_range_t, Range&& all, const Allocator& alloc = Allocator())
        : basic_string_pi(std::string_view(detail::text_of_range(std::forward<Range>(all))), alloc) {}
    basic_string_pi(const basic_string_pi& other)
        : basic_string_pi(other, alloc_traits::select_on_container_copy_construction(other.get_allocator())) {}
    basic_string_pi(const basic_string_pi& other, const Allocator& alloc) : alloc_(alloc) { begin_with(other.view()); }
    basic_string_pi(basic_string_pi&& other) noexcept : alloc_(other.get_allocator()) { take(other); }
    /// Copies the characters if the allocators differ.
    basic_string_pi(basic_string_pi&& other, const Allocator& alloc) : alloc_(alloc) {
        if (get_allocator() == other.get_allocator())
            take(other);
        else
            begin_with(other.view());
    }
    ~basic_string_pi() { free_block(); }

    basic_string_pi& operator=(const basic_string_pi& other) {
        if (this == &other)
            return *this;
        if constexpr (alloc_traits::propagate_on_container_copy_assignment::value) {
            basic_string_pi copy(other, other.get_allocator());
            adopt<true>(copy);
        } else {
            assign(other.view());
        }
        return *this;
    }
    basic_string_pi&
    operator=(basic_string_pi&& other) noexcept(alloc_traits::is_always_equal::value ||
                                                alloc_traits::propagate_on_container_move_assignment::value) {
        if (this == &other)
            return *this;
        constexpr bool propagates = alloc_traits::propagate_on_container_move_assignment::value;
        if (propagates || get_allocator() == other.get_allocator())
            adopt<propagates>(other);
        else
            assign(other.view());
        return *this;
    }
    template <detail::text_like Text>
        requires(!std::same_as<Text, basic_string_pi>)
    basic_string_pi& operator=(const Text& text) {
        assign(text);
        return *this;
    }
    basic_string_pi& operator=(char character) {
        assign(1, character);
        return *this;
    }
    basic_string_pi& operator=(std::initializer_list<char> all) {
        assign(all);
        return *this;
    }

    basic_string_pi& operator=(std::nullptr_t) = delete;

    basic_string_pi& assign(const basic_string_pi& other) { return *this = other; }
    basic_string_pi& assign(basic_string_pi&& other) noexcept(std::is_nothrow_move_assignable_v<basic_string_pi>) {
        return *this = std::move(other);
    }
    template <detail::text_like Text>
        requires(!std::same_as<Text, basic_string_pi>)
    basic_string_pi& assign(const Text& text) {
        return replace(0, size(), text);
    }
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& assign(const Text& text, size_type at, size_type count) {
        return assign(part(text, at, count));
    }
    template <detail::string_like Text = basic_string_pi>
    basic_string_pi& assign(const Text& text, size_type at) {
        return assign(part(text, at, npos));
    }
    basic_string_pi& assign(const char* first, size_type count) { return assign(std::string_view(first, count)); }
    basic_string_pi& assign(size_type count, char character) { return replace(0, size(), count, character); }
    template <std::input_iterator Iterator>
    basic_string_pi& assign(Iterator first, Iterator last) {
        return assign(std::string(first, last));
    }
    basic_string_pi& assign(std::initializer_list<char> all) { return assign(all.begin(), all.size()); }
    template <detail::range_of_characters Range>
    basic_string_pi& assign_range(Range&& all) {
        return assign(std::string_view(detail::text_of_range(std::forward<Range>(all))));
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return alloc_.get(); }

    // Elements. A zero follows the last character and is not counted.

    [[nodiscard]] char* data() noexcept { return const_cast<char*>(std::as_const(*this).data()); } // NOLINT
    [[nodiscard]] const char* data() const noexcept {
        return is_long() ? reinterpret_cast<const char*>(place() + get_long().distance) : raw_.data();
    }
    [[nodiscard]] const char* c_str() const noexcept { return data(); }
    operator std::string_view() const noexcept { return view(); } // NOLINT(google-explicit-constructor): as std::string
    template <detail::path_like Path>
    operator Path() const { // NOLINT(google-explicit-constructor): as std::string
        return Path(view());
    }
    [[nodiscard]] reference operator[](size_type at) noexcept { return data()[at]; }
    [[nodiscard]] const_reference operator[](size_type at) const noexcept { return data()[at]; }
    [[nodiscard]] reference at(size_type at) { return data()[checked(at, at < size())]; }
    [[nodiscard]] const_reference at(size_type at) const { return data()[checked(at, at < size())]; }
    [[nodiscard]] reference front() noexcept { return *data(); }
    [[nodiscard]] const_reference front() const noexcept { return *data(); }
    [[nodiscard]] reference back() noexcept { return data()[size() - 1]; }
    [[nodiscard]] const_reference back() const noexcept { return data()[size() - 1]; }

    [[nodiscard]] iterator begin() noexcept { return data(); }
    [[nodiscard]] const_iterator begin() const noexcept { return data(); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return data(); }
    [[nodiscard]] iterator end() noexcept { return data() + size(); }
    [[nodiscard]] const_iterator end() const noexcept { return data() + size(); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }

    // Capacity.

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] size_type size() const noexcept {
        return is_long() ? static_cast<size_type>(get_long().size) : k_short_max - static_cast<unsigned char>(last());
    }
    [[nodiscard]] size_type length() const noexcept { return size(); }
    [[nodiscard]] size_type max_size() const noexcept {
        return std::min<size_type>(alloc_traits::max_size(get_allocator()), k_capacity_max) - 1;
    }
    [[nodiscard]] size_type capacity() const noexcept {
        return is_long() ? static_cast<size_type>(get_long().capacity) : k_short_max;
    }
    void reserve(size_type count) {
        if (count > max_size())
            throw std::length_error("string_pi::reserve");
        if (count > capacity())
            move_to_block(rounded(count));
    }
    void shrink_to_fit() {
        if (!is_long() || rounded(size()) >= capacity())
            return;
        if (size() > k_short_max)
            return move_to_block(rounded(size()));
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        const long_form was = get_long();
        char* const block = data();
        set_empty();
        std::memcpy(raw_.data(), block, was.size);
        last() = static_cast<char>(k_short_max - was.size);
        free_block(block, was.capacity);
    }
    void clear() noexcept { erase_some(0, size()); }
    void resize(size_type count, char character = '\0') {
        if (count <= size())
            erase_some(count, size() - count);
        else
            append(count - size(), character);
    }

    /// Like C++23's: `operation(data(), count)` writes up to `count` characters, over the present ones and behind them,
    /// and returns the new size. It must not throw.
    template <class Operation>
    void resize_and_overwrite(size_type count, Operation operation) {
        if (count > max_size())
            throw std::length_error("string_pi::resize_and_overwrite");
        if (count > capacity())
            move_to_block(grown(count));
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        char* const all = data();
        const bool was_long = is_long(); // the operation may write to all[count], the byte that marks a short string
        const size_type room = capacity();
        if (was_long)
            declare(all, count + 1);
        const auto after = static_cast<size_type>(std::move(operation)(all, count));
        all[after] = '\0';
        if (was_long)
            set_long(all, after, room);
        else
            last() = static_cast<char>(k_short_max - after);
    }

    // Changes. All of them call replace(). `Text` is this class by default, since the compiler cannot deduce it from an
    // argument in braces.

    /// Replaces at most `count` characters from position `at` on.
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& replace(size_type at, size_type count, const Text& text) {
        return replace_by(at, count, std::string_view(text));
    }
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& replace(size_type at, size_type count, const Text& text, size_type from, size_type added) {
        return replace_by(at, count, part(text, from, added));
    }
    template <detail::string_like Text = basic_string_pi>
    basic_string_pi& replace(size_type at, size_type count, const Text& text, size_type from) {
        return replace_by(at, count, part(text, from, npos));
    }
    basic_string_pi& replace(size_type at, size_type count, const char* first, size_type added) {
        return replace_by(at, count, std::string_view(first, added));
    }
    basic_string_pi& replace(size_type at, size_type count, size_type added, char character) {
        change(at, count, added, [&](char* where) {
            if (added != 0)
                std::memset(where, character, added);
        });
        return *this;
    }
    template <detail::own_iterator First, detail::own_iterator Last, detail::text_like Text = basic_string_pi>
    basic_string_pi& replace(First first, Last last, const Text& text) {
        return replace(index_of(first), static_cast<size_type>(last - first), text);
    }
    template <detail::own_iterator First, detail::own_iterator Last>
    basic_string_pi& replace(First first, Last last, size_type added, char character) {
        return replace(index_of(first), static_cast<size_type>(last - first), added, character);
    }

    template <detail::own_iterator First, detail::own_iterator Last>
    basic_string_pi& replace(First first, Last last, const char* text, size_type added) {
        return replace(first, last, std::string_view(text, added));
    }
    template <detail::own_iterator First, detail::own_iterator Last, std::input_iterator Iterator>
    basic_string_pi& replace(First first, Last last, Iterator begin, Iterator end) {
        return replace(first, last, std::string(begin, end));
    }
    template <detail::own_iterator First, detail::own_iterator Last>
    basic_string_pi& replace(First first, Last last, std::initializer_list<char> all) {
        return replace(first, last, all.begin(), all.size());
    }
    template <detail::range_of_characters Range>
    basic_string_pi& replace_with_range(const_iterator first, const_iterator last, Range&& all) {
        return replace(first, last, std::string_view(detail::text_of_range(std::forward<Range>(all))));
    }

    void push_back(char character) { append(1, character); }
    void pop_back() noexcept { erase_some(size() - 1, 1); }
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& append(const Text& text) {
        return replace(size(), 0, text);
    }
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& append(const Text& text, size_type at, size_type count) {
        return append(part(text, at, count));
    }
    template <detail::string_like Text = basic_string_pi>
    basic_string_pi& append(const Text& text, size_type at) {
        return append(part(text, at, npos));
    }
    basic_string_pi& append(const char* first, size_type count) { return append(std::string_view(first, count)); }
    basic_string_pi& append(size_type count, char character) { return replace(size(), 0, count, character); }
    template <std::input_iterator Iterator>
    basic_string_pi& append(Iterator first, Iterator last) {
        return append(std::string(first, last));
    }
    basic_string_pi& append(std::initializer_list<char> all) { return append(all.begin(), all.size()); }
    template <detail::range_of_characters Range>
    basic_string_pi& append_range(Range&& all) {
        return append(std::string_view(detail::text_of_range(std::forward<Range>(all))));
    }
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& operator+=(const Text& text) {
        return append(text);
    }
    basic_string_pi& operator+=(char character) { return append(1, character); }
    basic_string_pi& operator+=(std::initializer_list<char> all) { return append(all); }

    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& insert(size_type at, const Text& text) {
        return replace(at, 0, text);
    }
    template <detail::text_like Text = basic_string_pi>
    basic_string_pi& insert(size_type at, const Text& text, size_type from, size_type count) {
        return replace_by(at, 0, part(text, from, count));
    }
    template <detail::string_like Text = basic_string_pi>
    basic_string_pi& insert(size_type at, const Text& text, size_type from) {
        return replace_by(at, 0, part(text, from, npos));
    }
    basic_string_pi& insert(size_type at, const char* first, size_type count) { return replace(at, 0, first, count); }
    basic_string_pi& insert(size_type at, size_type count, char character) { return replace(at, 0, count, character); }
    template <detail::own_iterator Where>
    iterator insert(Where where, char character) {
        return insert(where, 1, character);
    }
    template <detail::own_iterator Where>
    iterator insert(Where where, size_type count, char character) {
        const size_type at = index_of(where);
        replace(at, 0, count, character);
        return begin() + at;
    }
    template <detail::own_iterator Where, std::input_iterator Iterator>
    iterator insert(Where where, Iterator first, Iterator last) {
        const size_type at = index_of(where);
        replace(at, 0, std::string(first, last));
        return begin() + at;
    }
    template <detail::own_iterator Where>
    iterator insert(Where where, std::initializer_list<char> all) {
        return insert(where, all.begin(), all.end());
    }
    template <detail::range_of_characters Range>
    iterator insert_range(const_iterator where, Range&& all) {
        const size_type at = index_of(where);
        replace(at, 0, std::string_view(detail::text_of_range(std::forward<Range>(all))));
        return begin() + at;
    }

    basic_string_pi& erase(size_type at = 0, size_type count = npos) {
        checked(at, at <= size());
        erase_some(at, std::min(count, size() - at));
        return *this;
    }
    template <detail::own_iterator Where>
    iterator erase(Where where) noexcept {
        return erase(where, where + 1);
    }
    template <detail::own_iterator First, detail::own_iterator Last>
    iterator erase(First first, Last last) noexcept {
        const size_type at = index_of(first);
        erase_some(at, static_cast<size_type>(last - first));
        return begin() + at;
    }

    /// Copies the characters if the allocators differ.
    void swap(basic_string_pi& other) noexcept(k_swaps_blocks) {
        if (!detail::may_exchange_blocks(get_allocator(), other.get_allocator()))
            return detail::swap_by_value(*this, other);
        basic_string_pi kept(std::move(other));
        constexpr bool propagates = detail::swaps_allocators_v<Allocator>;
        other.template adopt<propagates>(*this); // NOLINT(bugprone-use-after-move): it is empty
        adopt<propagates>(kept);
    }
    friend void swap(basic_string_pi& a, basic_string_pi& b) noexcept(k_swaps_blocks) { a.swap(b); }

    // Searches and comparisons.

    [[nodiscard]] basic_string_pi substr(size_type at = 0, size_type count = npos) const {
        return basic_string_pi(view().substr(at, count),
                               alloc_traits::select_on_container_copy_construction(get_allocator()));
    }
    size_type copy(char* to, size_type count, size_type at = 0) const { return view().copy(to, count, at); }
    template <detail::text_like Text = basic_string_pi>
    [[nodiscard]] int compare(const Text& text) const noexcept {
        return view().compare(text);
    }
    template <detail::text_like Text = basic_string_pi>
    [[nodiscard]] int compare(size_type at, size_type count, const Text& text) const {
        return view().compare(at, count, text);
    }
    template <detail::text_like Text = basic_string_pi>
    [[nodiscard]] int compare(size_type at, size_type count, const Text& text, size_type from,
                              size_type compared) const {
        return view().compare(at, count, part(text, from, compared));
    }
    template <detail::string_like Text = basic_string_pi>
    [[nodiscard]] int compare(size_type at, size_type count, const Text& text, size_type from) const {
        return view().compare(at, count, part(text, from, npos));
    }
    [[nodiscard]] int compare(size_type at, size_type count, const char* text, size_type compared) const {
        return view().compare(at, count, text, compared);
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] bool starts_with(const What& what) const noexcept {
        return view().starts_with(detail::searched(what));
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] bool ends_with(const What& what) const noexcept {
        return view().ends_with(detail::searched(what));
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] bool contains(const What& what) const noexcept {
        return find(what) != npos;
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] size_type find(const What& what, size_type at = 0) const noexcept {
        return view().find(detail::searched(what), at);
    }
    [[nodiscard]] size_type find(const char* what, size_type at, size_type count) const noexcept {
        return view().find(what, at, count);
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] size_type rfind(const What& what, size_type at = npos) const noexcept {
        return view().rfind(detail::searched(what), at);
    }
    [[nodiscard]] size_type rfind(const char* what, size_type at, size_type count) const noexcept {
        return view().rfind(what, at, count);
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] size_type find_first_of(const What& what, size_type at = 0) const noexcept {
        return view().find_first_of(detail::searched(what), at);
    }
    [[nodiscard]] size_type find_first_of(const char* what, size_type at, size_type count) const noexcept {
        return view().find_first_of(what, at, count);
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] size_type find_last_of(const What& what, size_type at = npos) const noexcept {
        return view().find_last_of(detail::searched(what), at);
    }
    [[nodiscard]] size_type find_last_of(const char* what, size_type at, size_type count) const noexcept {
        return view().find_last_of(what, at, count);
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] size_type find_first_not_of(const What& what, size_type at = 0) const noexcept {
        return view().find_first_not_of(detail::searched(what), at);
    }
    [[nodiscard]] size_type find_first_not_of(const char* what, size_type at, size_type count) const noexcept {
        return view().find_first_not_of(what, at, count);
    }
    template <detail::searchable_text What = basic_string_pi>
    [[nodiscard]] size_type find_last_not_of(const What& what, size_type at = npos) const noexcept {
        return view().find_last_not_of(detail::searched(what), at);
    }
    [[nodiscard]] size_type find_last_not_of(const char* what, size_type at, size_type count) const noexcept {
        return view().find_last_not_of(what, at, count);
    }

private:
    friend struct class_traits<basic_string_pi>;

    // The layout is part of the file format. A long string: the distance from raw_ to the block, the size, and the
    // capacity with the highest bit set; the block is one byte larger than the capacity. A short string: the
    // characters, and in the last byte 23 minus the size, which for 23 characters is the terminating zero.
    struct long_form {
        std::uint64_t distance; // modulo 2^64
        std::uint64_t size;
        std::uint64_t capacity;
    };
    static constexpr std::uint64_t k_long_mark = std::uint64_t{1} << 63;
    static constexpr size_type k_capacity_max = size_type{1} << 62;
    static constexpr size_type k_short_max = sizeof(long_form) - 1;
    static_assert(std::endian::native == std::endian::little, "the mark of a long string is in its last byte");

    [[nodiscard]] std::string_view view() const noexcept { return {data(), size()}; }
    /// Throws std::out_of_range if `at` is behind the end.
    [[nodiscard]] static std::string_view part(std::string_view text, size_type at, size_type count) {
        return text.substr(at, count);
    }
    [[nodiscard]] std::uintptr_t place() const noexcept { return reinterpret_cast<std::uintptr_t>(raw_.data()); }
    [[nodiscard]] char& last() noexcept { return raw_[k_short_max]; }
    [[nodiscard]] const char& last() const noexcept { return raw_[k_short_max]; }
    [[nodiscard]] bool is_long() const noexcept { return (static_cast<unsigned char>(last()) & 0x80U) != 0; }
    [[nodiscard]] long_form get_long() const noexcept {
        auto found = std::bit_cast<long_form>(raw_);
        found.capacity &= ~k_long_mark;
        return found;
    }
    void set_long(const char* block, size_type size, size_type capacity) noexcept {
        raw_ = std::bit_cast<std::array<char, sizeof(long_form)>>(
            long_form{reinterpret_cast<std::uintptr_t>(block) - place(), size, capacity | k_long_mark});
    }
    /// Writes zeros, so that no old bytes remain.
    void set_empty() noexcept {
        raw_ = {};
        last() = static_cast<char>(k_short_max);
    }
    /// Writes size and terminating zero. The caller must have declared both.
    void set_size(size_type size) noexcept {
        data()[size] = '\0';
        if (is_long())
            set_long(data(), size, capacity());
        else
            last() = static_cast<char>(k_short_max - size);
    }

    [[nodiscard]] char* new_block(size_type capacity) {
        Allocator alloc = get_allocator();
        return alloc_traits::allocate(alloc, capacity + 1);
    }
    void free_block(char* block, size_type capacity) noexcept {
        Allocator alloc = get_allocator();
        alloc_traits::deallocate(alloc, block, capacity + 1);
    }
    void free_block() noexcept {
        if (is_long())
            free_block(data(), capacity());
    }
    /// Rounds a capacity up, so that the string uses the whole block that the allocator returns.
    [[nodiscard]] static size_type rounded(size_type count) noexcept { return count | 7U; }
    /// Returns the capacity of a new block for `count` characters, which do not fit into the present one: twice the
    /// present capacity if possible.
    [[nodiscard]] size_type grown(size_type count) const noexcept {
        return std::max(rounded(std::min(std::max(count, 2 * capacity()), max_size() & ~size_type{7})), count);
    }

    [[nodiscard]] size_type index_of(const_iterator where) const noexcept {
        return static_cast<size_type>(where - data());
    }
    static size_type checked(size_type at, bool is_there) {
        if (!is_there)
            throw std::out_of_range("string_pi: position behind the end");
        return at;
    }

    /// For constructors: the string has no block yet. The new block is no larger than necessary.
    void begin_with(std::string_view text) {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        char* to = raw_.data();
        if (text.size() <= k_short_max) {
            last() = static_cast<char>(k_short_max - text.size());
        } else {
            if (text.size() > max_size())
                throw std::length_error("string_pi: too long");
            to = new_block(rounded(text.size()));
            to[text.size()] = '\0';
            set_long(to, text.size(), rounded(text.size()));
        }
        if (!text.empty())
            std::memcpy(to, text.data(), text.size());
    }
    /// Replaces the `count` characters at `at` by `added` characters, which `fill` writes.
    template <class Fill>
    void change(size_type at, size_type count, size_type added, const Fill& fill) {
        const size_type before = size();
        checked(at, at <= before);
        count = std::min(count, before - at);
        if (added > max_size() - (before - count))
            throw std::length_error("string_pi: too long");
        const size_type after = before - count + added;
        const size_type behind = before - at - count;
        const declare_to declare(get_allocator());
        if (after <= capacity()) {
            declare(this, sizeof *this);
            char* const all = data();
            if (is_long())
                declare(all + at, (added == count ? added : added + behind) + 1);
            if (added != count)
                std::memmove(all + at + added, all + at + count, behind);
            fill(all + at);
            set_size(after);
            return;
        }
        const size_type larger = grown(after);
        char* const block = new_block(larger);
        const char* const old = data();
        std::memcpy(block, old, at);
        fill(block + at);
        std::memcpy(block + at + added, old + at + count, behind);
        block[after] = '\0';
        declare(this, sizeof *this);
        free_block();
        set_long(block, after, larger);
    }
    basic_string_pi& replace_by(size_type at, size_type count, std::string_view text) {
        if (lies_here(text) && at <= size() && size() - std::min(count, size() - at) + text.size() <= capacity()) {
            const std::string copy(text); // the text would move while it is read
            return replace_by(at, count, std::string_view(copy));
        }
        change(at, count, text.size(), [&](char* where) {
            if (!text.empty())
                std::memcpy(where, text.data(), text.size());
        });
        return *this;
    }
    [[nodiscard]] bool lies_here(std::string_view text) const noexcept {
        const std::less<> before;
        const char* const first = text.data();
        return !text.empty() && !before(first, begin()) && before(first, end());
    }
    void erase_some(size_type at, size_type count) noexcept {
        const size_type before = size();
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        if (is_long())
            declare(data() + at, before - at - count + 1);
        if (count != 0)
            std::memmove(data() + at, data() + at + count, before - at - count);
        set_size(before - count);
    }
    /// Moves the characters to a new block of capacity `larger`, which must suffice.
    void move_to_block(size_type larger) {
        char* const block = new_block(larger);
        const size_type count = size();
        std::memcpy(block, data(), count + 1);
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        free_block();
        set_long(block, count, larger);
    }

    /// Takes over the contents of `other`, which becomes empty. This string must have no block.
    void take(basic_string_pi& other) noexcept {
        const auto form = std::bit_cast<long_form>(other.raw_);
        const std::uint64_t moved = other.is_long() ? other.place() - place() : 0;
        // Written as a whole: a processor stalls when it reads at once what it has just written in parts.
        raw_ = std::bit_cast<decltype(raw_)>(long_form{form.distance + moved, form.size, form.capacity});
        const declare_to declare(other.get_allocator());
        declare(&other, sizeof other);
        other.set_empty();
    }
    /// Frees the block of this string, then takes over the contents of `other` and, if TakesAllocator, its allocator.
    /// Otherwise the allocators must be equal.
    template <bool TakesAllocator>
    void adopt(basic_string_pi& other) noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        free_block();
        if constexpr (TakesAllocator)
            alloc_.set(other.get_allocator());
        take(other);
    }

    // Part of the layout ("string 1"). If the highest bit of the last byte is set, raw_ is a long_form, whose capacity
    // has that bit. Its block has room for one character more, the terminating zero. Otherwise raw_ has the characters,
    // and in its last byte 23 minus the size.
    [[no_unique_address]] detail::kept_allocator<Allocator> alloc_;
    alignas(std::uint64_t) std::array<char, sizeof(long_form)> raw_ = [] {
        std::array<char, sizeof(long_form)> empty{};
        empty.back() = static_cast<char>(k_short_max);
        return empty;
    }();
};

/// The string to use in a heap.
using string_pi = basic_string_pi<allocator<char>>;

template <class Allocator>
inline constexpr bool detail::is_string_pi_v<basic_string_pi<Allocator>> = true;

/// True if the characters are equal.
template <class Allocator, detail::text_like Text>
[[nodiscard]] bool operator==(const basic_string_pi<Allocator>& a, const Text& b) noexcept {
    return std::string_view(a) == std::string_view(b);
}
/// Compares the characters.
template <class Allocator, detail::text_like Text>
[[nodiscard]] std::strong_ordering operator<=>(const basic_string_pi<Allocator>& a, const Text& b) noexcept {
    return std::string_view(a) <=> std::string_view(b);
}

/// Concatenates in a copy of `a`.
template <class Allocator, detail::searchable_text What>
[[nodiscard]] basic_string_pi<Allocator> operator+(basic_string_pi<Allocator> a, const What& b) {
    a += b;
    return a;
}
/// Concatenates in a new string with the allocator that a copy of `b` would have.
template <detail::searchable_text What, class Allocator>
    requires(!detail::is_string_pi_v<What>)
[[nodiscard]] basic_string_pi<Allocator> operator+(const What& a, const basic_string_pi<Allocator>& b) {
    basic_string_pi<Allocator> both(
        std::allocator_traits<Allocator>::select_on_container_copy_construction(b.get_allocator()));
    both += a;
    both += b;
    return both;
}

/// Writes the characters as a std::string_view is written.
template <class Traits, class Allocator>
    requires std::same_as<Traits, std::char_traits<char>>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const basic_string_pi<Allocator>& text) {
    return out << std::string_view(text);
}

namespace detail {
/// Calls `read` with a std::string instead of `text`, then copies that string to `text`, even if `read` throws.
template <class Allocator, class Read>
void read_as_std_string(basic_string_pi<Allocator>& text, Read read) {
    std::string changed(text);
    try {
        read(changed);
    } catch (...) {
        text = changed;
        throw;
    }
    text = changed;
}
} // namespace detail

/// Reads a word, like std::string's operator.
template <class Traits, class Allocator>
    requires std::same_as<Traits, std::char_traits<char>>
std::basic_istream<char, Traits>& operator>>(std::basic_istream<char, Traits>& in, basic_string_pi<Allocator>& text) {
    detail::read_as_std_string(text, [&](std::string& word) { in >> word; });
    return in;
}
/// Reads a line, like std::getline().
template <class Traits, class Allocator>
    requires std::same_as<Traits, std::char_traits<char>>
std::basic_istream<char, Traits>& getline(std::basic_istream<char, Traits>& in, basic_string_pi<Allocator>& text,
                                          char end = '\n') {
    detail::read_as_std_string(text, [&](std::string& line) { std::getline(in, line, end); });
    return in;
}
/// Reads a line, like std::getline().
template <class Traits, class Allocator>
    requires std::same_as<Traits, std::char_traits<char>>
std::basic_istream<char, Traits>& getline(std::basic_istream<char, Traits>&& in, basic_string_pi<Allocator>& text,
                                          char end = '\n') {
    return getline(in, text, end);
}

/// Erases all characters for which `predicate` returns true; returns how many. O(n).
template <class Allocator, class Predicate>
std::size_t erase_if(basic_string_pi<Allocator>& from, Predicate predicate) {
    std::string left(from);
    const std::size_t count = std::erase_if(left, predicate);
    if (count != 0)
        from = left;
    return count;
}
/// Erases all characters that equal `character`; returns how many. O(n).
template <class Allocator>
std::size_t erase(basic_string_pi<Allocator>& from, char character) {
    return erase_if(from, [&](char each) { return each == character; });
}

template <class Allocator>
struct class_traits<basic_string_pi<Allocator>> {
    using parts = type_list<>;
    static constexpr bool k_is_position_independent = detail::is_kept_by_distance_v<Allocator>;
    static constexpr bool k_is_self_contained = true;
    static constexpr bool k_is_plain_key = true;
    static std::string_view layout() { return " string 1"; }
    struct shape : detail::shape_with<detail::shape_kind::text_by_link,
                                      detail::allocator_bytes_v<detail::kept_allocator<Allocator>>> {};

    static detail::structure_result check(const basic_string_pi<Allocator>& text, detail::block_survey& survey) {
        if (text.size() > text.capacity())
            return detail::structure_fault{&text, "a string_pi that is longer than its memory"};
        if (text.is_long() && !survey.is_block(text.data(), text.capacity() + 1))
            return detail::structure_fault{&text, "a string_pi whose link leads to no block of its size"};
        return {};
    }
    [[gnu::always_inline]] static void fetch(const basic_string_pi<Allocator>& text) noexcept {
        if (text.is_long())
            detail::fetch_ahead(text.data(), text.size());
    }
};

} // namespace remanence

/// Equals the hash of a std::string_view with the same characters.
template <class Allocator>
struct std::hash<remanence::basic_string_pi<Allocator>> {
    [[nodiscard]] std::size_t operator()(const remanence::basic_string_pi<Allocator>& text) const noexcept {
        return std::hash<std::string_view>()(text);
    }
};
