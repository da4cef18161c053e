// A vector that holds no address, for heaps that may be mapped elsewhere. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/between_heaps.hpp>
#include <remanence/containers/detail/container.hpp>
#include <remanence/containers/detail/fetch_ahead.hpp>
#include <remanence/containers/detail/kept_allocator.hpp>
#include <remanence/containers/detail/link.hpp>
#include <remanence/containers/detail/ranges.hpp>
#include <remanence/detail/declarer.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>
#include <remanence/types/detail/self_contained.hpp>
#include <remanence/types/detail/structure.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace remanence {

/// A vector that holds no address: std::vector of C++20, with the functions for ranges of C++23, for heaps that may be
/// mapped elsewhere.
///
/// It has 24 bytes and those of its allocator (8 in a heap), and stores the distance to its elements. A vector_pi of
/// bool has ordinary bool objects as elements. Missing from std::vector's interface: std::hash, use in constant
/// expressions.
///
/// Elements. They must meet std::vector's requirements. They move by construction and destruction, not by assignment,
/// unless their move may throw. An insertion of many elements makes no temporary copies of them. An allocator with
/// construct() or destroy() of its own is called for each element, also for one that moves.
///
/// Exceptions. Insertions at the end, assignments, reserve, resize and shrink_to_fit have no effect if they throw. Nor
/// has any other insertion, unless the elements' move constructor may throw and they cannot be copied. erase() throws
/// what elements throw.
///
/// Invalidation. The same as for std::vector, with one exception: where moving an element may throw, an insertion
/// before another element and an assignment always allocate a new block. Otherwise an assignment keeps the block if the
/// elements are numbers, or if the new elements fit in behind the old ones. The capacity never shrinks by an
/// assignment.
///
/// Arguments. They may be elements of the vector itself, a range of these, or objects that they own: all are read
/// before anything moves or is destroyed. (Do not move a vector into, or swap it with, a vector in one of its own
/// elements: it then owns itself, and its memory is lost.)
///
/// Sections. The vector declares what it writes itself, elements included, so it may be changed in declared sections.
/// There a program must touch() what it writes through references and iterators, and what elements write elsewhere when
/// they move (a std::list, for instance, writes to its nodes). Threads: the same rules as for std::vector.
template <class T, class Allocator = allocator<T>>
class vector_pi {
    using alloc_traits = std::allocator_traits<Allocator>;
    using declare_to = detail::declarer<Allocator>;
    static_assert(std::is_same_v<typename alloc_traits::pointer, T*> && std::is_same_v<std::remove_cv_t<T>, T>,
                  "Remanence's containers take allocators with plain pointers, and elements that are not const");
    static constexpr bool k_swaps_blocks =
        alloc_traits::is_always_equal::value || detail::swaps_allocators_v<Allocator>;

public:
    using value_type = T;
    using allocator_type = Allocator;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = T*;
    using const_iterator = const T*;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    vector_pi() noexcept(noexcept(Allocator())) : vector_pi(Allocator()) {}
    explicit vector_pi(const Allocator& alloc) noexcept : alloc_(alloc) {}
    explicit vector_pi(size_type count, const Allocator& alloc = Allocator()) : vector_pi(alloc) {
        begin_with(count, [&](elements_made& made) { made.fill(count); });
    }
    vector_pi(size_type count, const T& value, const Allocator& alloc = Allocator()) : vector_pi(alloc) {
        begin_with(count, [&](elements_made& made) { made.fill(count, value); });
    }
    template <std::input_iterator Iterator>
    vector_pi(Iterator first, Iterator last, const Allocator& alloc = Allocator()) : vector_pi(alloc) {
        begin_with_all(detail::range_between(std::move(first), std::move(last)));
    }
    template <detail::range_of_elements<T> Range>
    vector_pi(from_range_t, Range&& range, const Allocator& alloc = Allocator()) : vector_pi(alloc) {
        begin_with_all(std::forward<Range>(range));
    }
    vector_pi(std::initializer_list<T> all, const Allocator& alloc = Allocator())
        : vector_pi(all.begin(), all.end(), alloc) {}
    vector_pi(const vector_pi& other)
        : vector_pi(other, alloc_traits::select_on_container_copy_construction(other.get_allocator())) {}
    vector_pi(const vector_pi& other, const Allocator& alloc) : vector_pi(other.begin(), other.end(), alloc) {}
    vector_pi(vector_pi&& other) noexcept : vector_pi(other.get_allocator()) { take(other); }
    /// Moves each element if the allocators differ.
    vector_pi(vector_pi&& other, const Allocator& alloc) : vector_pi(alloc) {
        if (get_allocator() == other.get_allocator())
            take(other);
        else
            begin_with_all(detail::moved_elements(other));
    }
    ~vector_pi() { free_all(); }

    // Assignment. The source may be part of this vector, or of what its elements own; so old elements are destroyed
    // last.

    vector_pi& operator=(const vector_pi& other) {
        if (this == &other)
            return *this;
        if constexpr (alloc_traits::propagate_on_container_copy_assignment::value) {
            if (const Allocator theirs = other.get_allocator(); get_allocator() != theirs) {
                vector_pi copy(other, theirs);
                adopt<true>(copy);
            } else {
                assign_all(other);
                alloc_.set(theirs);
            }
        } else {
            assign_all(other);
        }
        return *this;
    }
    vector_pi& operator=(vector_pi&& other) noexcept(alloc_traits::is_always_equal::value ||
                                                     alloc_traits::propagate_on_container_move_assignment::value) {
        if (this == &other)
            return *this;
        constexpr bool propagates = alloc_traits::propagate_on_container_move_assignment::value;
        if constexpr (propagates || alloc_traits::is_always_equal::value)
            adopt<propagates>(other);
        else if (get_allocator() == other.get_allocator())
            adopt<false>(other);
        else
            assign_all(detail::moved_elements(other));
        return *this;
    }
    vector_pi& operator=(std::initializer_list<T> all) {
        assign_all(all);
        return *this;
    }
    void assign(size_type count, const T& value) {
        if constexpr (k_is_number) {
            const T copy = value; // `value` may be an element that is overwritten
            if (count <= capacity())
                return write_over(count, [&](T* to) { std::fill_n(to, count, copy); });
        }
        replace(count, [&](elements_made& made) { made.fill(count, value); });
    }
    template <std::input_iterator Iterator>
    void assign(Iterator first, Iterator last) {
        assign_all(detail::range_between(std::move(first), std::move(last)));
    }
    void assign(std::initializer_list<T> all) { assign_all(all); }
    template <detail::range_of_elements<T> Range>
    void assign_range(Range&& range) {
        assign_all(std::forward<Range>(range));
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return alloc_.get(); }

    // Elements.

    [[nodiscard]] T* data() noexcept { return first_.get(); }
    [[nodiscard]] const T* data() const noexcept { return first_.get(); }
    [[nodiscard]] reference operator[](size_type at) noexcept { return data()[at]; }
    [[nodiscard]] const_reference operator[](size_type at) const noexcept { return data()[at]; }
    [[nodiscard]] reference at(size_type at) { return const_cast<T&>(std::as_const(*this).at(at)); } // NOLINT
    [[nodiscard]] const_reference at(size_type at) const {
        if (at >= size())
            throw std::out_of_range("vector_pi::at");
        return data()[at];
    }
    [[nodiscard]] reference front() noexcept { return *data(); }
    [[nodiscard]] const_reference front() const noexcept { return *data(); }
    [[nodiscard]] reference back() noexcept { return data()[size_ - 1]; }
    [[nodiscard]] const_reference back() const noexcept { return data()[size_ - 1]; }

    [[nodiscard]] iterator begin() noexcept { return data(); }
    [[nodiscard]] const_iterator begin() const noexcept { return data(); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return data(); }
    [[nodiscard]] iterator end() noexcept { return data() + size_; }
    [[nodiscard]] const_iterator end() const noexcept { return data() + size_; }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }

    // Capacity.

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] size_type size() const noexcept { return static_cast<size_type>(size_); }
    [[nodiscard]] size_type capacity() const noexcept { return static_cast<size_type>(capacity_); }
    [[nodiscard]] size_type max_size() const noexcept { return detail::elements_max(get_allocator()); }
    void reserve(size_type count) {
        if (count > max_size())
            throw std::length_error("vector_pi::reserve");
        if (count > capacity())
            move_to_block(count);
    }
    void shrink_to_fit() {
        if (size_ != capacity_)
            move_to_block(size());
    }
    void clear() noexcept { cut(0); }
    void resize(size_type count) {
        if (count <= size())
            return cut(count);
        const size_type added = count - size();
        add(size(), added, [&](elements_made& made) { made.fill(added); });
    }
    void resize(size_type count, const T& value) {
        if (count <= size())
            cut(count);
        else
            insert(end(), count - size(), value);
    }

    // Changes.

    void push_back(const T& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }
    template <class... Args>
    reference emplace_back(Args&&... args) {
        if (size_ == capacity_) {
            fresh larger(*this, grown(1));
            larger.made(size()).construct(std::forward<Args>(args)...); // first: args may be elements
            larger.become_with_all(size());
        } else {
            const declare_to declare(get_allocator());
            declare(this, sizeof *this);
            declare(end(), k_element_bytes);
            Allocator alloc = get_allocator();
            alloc_traits::construct(alloc, end(), std::forward<Args>(args)...);
            ++size_;
        }
        return back();
    }
    void pop_back() noexcept { cut(size() - 1); }

    iterator insert(const_iterator where, const T& value) { return emplace(where, value); }
    iterator insert(const_iterator where, T&& value) { return emplace(where, std::move(value)); }
    template <class... Args>
    iterator emplace(const_iterator where, Args&&... args) {
        const size_type at = index_of(where);
        if (at == size_)
            emplace_back(std::forward<Args>(args)...);
        else
            add(at, 1, [&](elements_made& made) { made.construct(std::forward<Args>(args)...); });
        return begin() + at;
    }
    iterator insert(const_iterator where, size_type count, const T& value) {
        const size_type at = index_of(where);
        if constexpr (k_is_number) {
            if (count <= capacity() - size()) {
                const T copy = value; // `value` may be an element that moves
                write_between(at, count, [&](T* to) { std::fill_n(to, count, copy); });
                return begin() + at;
            }
        }
        add(at, count, [&](elements_made& made) { made.fill(count, value); });
        return begin() + at;
    }
    template <std::input_iterator Iterator>
    iterator insert(const_iterator where, Iterator first, Iterator last) {
        return insert_all(where, detail::range_between(std::move(first), std::move(last)));
    }
    iterator insert(const_iterator where, std::initializer_list<T> all) { return insert_all(where, all); }
    template <detail::range_of_elements<T> Range>
    iterator insert_range(const_iterator where, Range&& range) {
        return insert_all(where, std::forward<Range>(range));
    }
    template <detail::range_of_elements<T> Range>
    void append_range(Range&& range) {
        insert_all(end(), std::forward<Range>(range));
    }

    iterator erase(const_iterator where) { return erase(where, where + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        const size_type at = index_of(first);
        const size_type behind = index_of(last);
        if (first == last)
            return begin() + at;
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        declare(data() + at, (size() - at) * k_element_bytes);
        if constexpr (k_moves_freely) {
            destroy(at, behind);
            move_within(behind, at, size() - behind);
            size_ -= behind - at;
        } else {
            std::move(begin() + behind, end(), begin() + at);
            cut(size() - (behind - at));
        }
        return begin() + at;
    }

    /// O(n) between different allocators: copies the elements or, if that is not possible, moves them.
    void swap(vector_pi& other) noexcept(k_swaps_blocks) {
        if (!detail::may_exchange_blocks(get_allocator(), other.get_allocator()))
            return detail::swap_by_value(*this, other);
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        T* const kept = data();
        first_.set(other.data());
        other.first_.set(kept);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        if constexpr (detail::swaps_allocators_v<Allocator>)
            alloc_.swap(other.alloc_);
    }
    friend void swap(vector_pi& a, vector_pi& b) noexcept(k_swaps_blocks) { a.swap(b); }

    friend bool operator==(const vector_pi& a, const vector_pi& b)
        requires std::equality_comparable<T>
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend auto operator<=>(const vector_pi& a, const vector_pi& b)
        requires detail::has_three_way<T>
    {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(),
                                                      detail::three_way_by_less());
    }

private:
    static constexpr size_type k_element_bytes = sizeof(T); // NOLINT(bugprone-sizeof-expression): may be a pointer
    /// True if the allocator has a construct() or destroy() of its own, which is called for each element, also when the
    /// element moves.
    static constexpr bool k_asks_allocator = detail::constructs_elements_v<Allocator, T>;
    static constexpr bool k_is_bytes = detail::is_plain_bytes_v<T> && !k_asks_allocator;
    static constexpr bool k_is_number = // constructing one from any value is a copy
        (std::is_arithmetic_v<T> || std::is_enum_v<T>) && !k_asks_allocator;
    /// Elements move by construction, never by assignment: an assignment might write into memory that its target owns.
    static constexpr bool k_moves_freely =
        std::is_nothrow_move_constructible_v<T> && detail::moves_without_throwing_v<Allocator, T>;

    [[nodiscard]] size_type index_of(const_iterator where) const noexcept {
        return static_cast<size_type>(where - data());
    }
    /// Returns a capacity for `added` more elements.
    [[nodiscard]] size_type grown(size_type added) const {
        if (added > max_size() - size())
            throw std::length_error("vector_pi: too many elements");
        return std::max(size() + added, std::min(2 * capacity(), max_size()));
    }

    /// Moves an element to a raw place; its old place is raw afterwards.
    static void move_one([[maybe_unused]] Allocator& alloc, T* from, T* to) noexcept {
        if constexpr (k_is_bytes) {
            std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), k_element_bytes);
        } else if constexpr (k_asks_allocator) {
            alloc_traits::construct(alloc, to, std::move(*from));
            alloc_traits::destroy(alloc, from);
        } else {
            ::new (static_cast<void*>(to)) T(std::move(*from));
            std::destroy_at(from);
        }
    }
    static void move_all(Allocator alloc, T* from, T* to, size_type count) noexcept {
        if (count == 0 || from == to)
            return;
        if constexpr (k_is_bytes) {
            std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * k_element_bytes);
        } else if (std::less<>()(from, to)) {
            for (size_type i = count; i != 0; --i)
                move_one(alloc, from + i - 1, to + i - 1);
        } else {
            for (size_type i = 0; i != count; ++i)
                move_one(alloc, from + i, to + i);
        }
    }
    void move_within(size_type from, size_type to, size_type count) noexcept {
        move_all(get_allocator(), data() + from, data() + to, count);
    }
    /// Exchanges the elements [first, middle) with those from `middle` on.
    void rotate(size_type first, size_type middle) noexcept {
        constexpr size_type k_kept_count = std::max<size_type>(1024 / k_element_bytes, 1);
        const size_type before = middle - first;
        const size_type behind = size() - middle;
        T* const all = data() + first;
        Allocator alloc = get_allocator();
        alignas(T) std::byte bytes[k_kept_count * k_element_bytes];
        T* const kept = reinterpret_cast<T*>(bytes);
        if (behind <= k_kept_count) {
            move_all(alloc, all + before, kept, behind);
            move_all(alloc, all, all + behind, before);
            move_all(alloc, kept, all, behind);
        } else if constexpr (k_is_bytes) {
            struct one {
                std::byte bytes[k_element_bytes];
            };
            auto* const ones = reinterpret_cast<one*>(all); // bytes, since elements may have no assignment
            std::rotate(ones, ones + before, ones + before + behind);
        } else { // in cycles, so that each element moves once
            for (size_type start = std::gcd(before, behind); start-- != 0;) {
                move_one(alloc, all + start, kept);
                size_type to = start;
                for (;;) {
                    const size_type from = to < behind ? to + before : to - behind;
                    if (from == start)
                        break;
                    move_one(alloc, all + from, all + to);
                    to = from;
                }
                move_one(alloc, kept, all + to);
            }
        }
    }
    void destroy(size_type from, size_type to) noexcept {
        Allocator alloc = get_allocator();
        for (T* each = data() + from; each != data() + to; ++each)
            alloc_traits::destroy(alloc, each);
    }
    /// Destroys the elements from `count` on. Declares the vector, and the elements if their destructors may write.
    void cut(size_type count) noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        if (!std::is_trivially_destructible_v<T> && count != size_)
            declare(data() + count, (size() - count) * k_element_bytes);
        destroy(count, size());
        size_ = count;
    }

    /// New elements, constructed one behind the other in raw memory. The destructor destroys them, unless keep() was
    /// called.
    class elements_made {
    public:
        elements_made(Allocator& alloc, T* first) noexcept : alloc_(alloc), first_(first) {}
        elements_made(const elements_made&) = delete;
        elements_made& operator=(const elements_made&) = delete;
        ~elements_made() {
            for (; count_ != 0; --count_)
                alloc_traits::destroy(alloc_, first_ + count_ - 1);
        }
        /// Sets the place of the first element, before there is one.
        elements_made& begin_at(T* first) noexcept {
            first_ = first;
            return *this;
        }
        template <class... Args>
        void construct(Args&&... args) {
            alloc_traits::construct(alloc_, first_ + count_, std::forward<Args>(args)...);
            ++count_;
        }
        /// Constructs `count` elements from the same arguments.
        template <class... Args>
        void fill(size_type count, const Args&... args) {
            if constexpr (k_is_number) {
                std::fill_n(first_ + count_, count, T(args...));
                count_ += count;
            } else {
                for (; count != 0; --count)
                    construct(args...);
            }
        }
        template <class Range>
        void copy(Range& range) {
            if constexpr (k_has_numbers<Range>) {
                const size_type count = detail::count_of(range);
                copy_numbers(range, count, first_ + count_);
                count_ += count;
            } else {
                const auto last = std::ranges::end(range);
                for (auto each = std::ranges::begin(range); each != last; ++each)
                    construct(*each);
            }
        }
        [[nodiscard]] size_type count() const noexcept { return count_; }
        void keep() noexcept { count_ = 0; }

    private:
        Allocator& alloc_;
        T* first_;
        size_type count_ = 0;
    };

    /// A new block. First new elements are constructed in it, then those of the vector move there. Unless it becomes
    /// the vector's block, the destructor destroys the elements that were constructed in it, and frees it.
    class fresh {
    public:
        fresh(vector_pi& of, size_type capacity)
            : of_(of),
              memory_(of.get_allocator(), capacity),
              new_(memory_.alloc, memory_.first),
              before_(memory_.alloc, memory_.first),
              behind_(memory_.alloc, memory_.first) {}

        /// Returns the object that constructs the new elements, the first of them at `at`.
        [[nodiscard]] elements_made& made(size_type at) noexcept { return new_.begin_at(memory_.first + at); }
        /// Becomes the vector's block, with the vector's elements before and behind the new ones, which begin at `at`.
        void become_with_all(size_type at) {
            const size_type before = of_.size();
            const size_type behind = at + new_.count();
            if constexpr (k_moves_freely) {
                const declare_to declare(memory_.alloc);
                declare(&of_, sizeof of_);
                if (!k_is_bytes)
                    declare(of_.data(), before * k_element_bytes);
                move_all(memory_.alloc, of_.data(), memory_.first, at);
                move_all(memory_.alloc, of_.data() + at, memory_.first + behind, before - at);
                of_.size_ = 0; // its places are raw now
            } else {
                for (size_type i = 0; i != at; ++i)
                    before_.construct(std::move_if_noexcept(of_[i]));
                behind_.begin_at(memory_.first + behind);
                for (size_type i = at; i != before; ++i)
                    behind_.construct(std::move_if_noexcept(of_[i]));
            }
            become(before + new_.count());
        }
        /// Becomes the vector's block; destroys the vector's elements.
        void become(size_type size) noexcept {
            const declare_to declare(memory_.alloc);
            declare(&of_, sizeof of_);
            of_.free_all();
            of_.first_.set(std::exchange(memory_.first, nullptr));
            of_.size_ = size;
            of_.capacity_ = memory_.capacity;
            new_.keep();
            before_.keep();
            behind_.keep();
        }

    private:
        struct memory {
            memory(const Allocator& where, size_type count) : alloc(where), capacity(count) {
                if (count != 0)
                    first = alloc_traits::allocate(alloc, count);
            }
            memory(const memory&) = delete;
            memory& operator=(const memory&) = delete;
            ~memory() {
                if (first != nullptr)
                    alloc_traits::deallocate(alloc, first, capacity);
            }
            Allocator alloc;
            size_type capacity;
            T* first = nullptr;
        };

        vector_pi& of_;
        memory memory_;
        elements_made new_;
        elements_made before_; // copies of the vector's elements
        elements_made behind_;
    };

    void move_to_block(size_type capacity) {
        fresh other(*this, capacity);
        other.become_with_all(0);
    }

    /// True if the elements of a range lie side by side in memory and constructing from one is a copy of its bytes.
    template <class Range>
    static constexpr bool k_has_numbers =
        k_is_number && std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
        std::is_same_v<std::ranges::range_value_t<Range>, T>;
    template <class Range>
    static void copy_numbers(Range& range, size_type count, T* to) noexcept {
        if (count != 0)
            std::memmove(to, std::to_address(std::ranges::begin(range)), count * k_element_bytes);
    }
    template <class Range>
    [[nodiscard]] bool lies_here(Range& range) const noexcept {
        const T* const first = std::to_address(std::ranges::begin(range));
        return !std::less<>()(first, data()) && std::less<>()(first, data() + capacity());
    }
    [[nodiscard]] static size_type checked(size_type count, size_type most) {
        if (count > most)
            throw std::length_error("vector_pi: too many elements");
        return count;
    }

    /// For constructors: `make` constructs `count` elements in the vector's first block. Nothing moves, so elements
    /// need not be movable.
    template <class Make>
    void begin_with(size_type count, const Make& make) {
        if (count == 0)
            return;
        Allocator alloc = get_allocator();
        T* const block = alloc_traits::allocate(alloc, checked(count, max_size()));
        const declare_to declare(alloc);
        declare(this, sizeof *this);
        first_.set(block);
        capacity_ = count;
        elements_made made(alloc, block);
        make(made);
        size_ = count;
        made.keep();
    }
    template <class Range>
    void begin_with_all(Range&& range) { // NOLINT(cppcoreguidelines-missing-std-forward): passes elements
        if constexpr (detail::counted_range<Range>)
            begin_with(detail::count_of(range), [&](elements_made& made) { made.copy(range); });
        else
            append_one_by_one(range);
    }
    /// Inserts at `at` the `count` elements that `make` constructs. Nothing moves before `make` has returned, so it may
    /// read the vector.
    template <class Make>
    void add(size_type at, size_type count, const Make& make) {
        if (count == 0)
            return;
        const size_type before = size();
        const bool has_room = count <= capacity() - before;
        if (!has_room || (!k_moves_freely && at != before)) {
            fresh other(*this, has_room ? capacity() : grown(count));
            make(other.made(at));
            other.become_with_all(at);
            return;
        }
        Allocator alloc = get_allocator();
        const declare_to declare(alloc);
        declare(this, sizeof *this);
        declare(data() + at, (before - at + count) * k_element_bytes);
        elements_made made(alloc, end());
        make(made);
        size_ += count;
        made.keep();
        if constexpr (k_moves_freely) {
            if (at != before)
                rotate(at, before);
        }
    }
    /// Like add(), for numbers that fit into the block. `write` must not read the vector.
    template <class Write>
    void write_between(size_type at, size_type count, const Write& write) noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        declare(data() + at, (size() - at + count) * k_element_bytes);
        move_within(at, at + count, size() - at);
        write(data() + at);
        size_ += count;
    }
    template <class Range>
    iterator insert_all(const_iterator where,
                        Range&& range) { // NOLINT(cppcoreguidelines-missing-std-forward): passes elements
        const size_type at = index_of(where);
        if constexpr (detail::counted_range<Range>) {
            const size_type count = detail::count_of(range);
            if constexpr (k_has_numbers<Range>) {
                if (count <= capacity() - size() && !lies_here(range)) {
                    write_between(at, count, [&](T* to) { copy_numbers(range, count, to); });
                    return begin() + at;
                }
            }
            add(at, count, [&](elements_made& made) { made.copy(range); });
        } else if (at == size()) {
            append_one_by_one(range);
        } else {
            vector_pi added(get_allocator());
            added.append_one_by_one(range);
            insert_all(where, detail::moved_elements(added));
        }
        return begin() + at;
    }
    template <class Range>
    void append_one_by_one(Range& range) {
        const size_type before = size();
        try {
            const auto last = std::ranges::end(range);
            for (auto each = std::ranges::begin(range); each != last; ++each)
                emplace_back(*each);
        } catch (...) {
            cut(before);
            throw;
        }
    }
    /// Replaces all elements by the `count` elements that `make` constructs. The old elements are destroyed, with what
    /// they own, after `make` has returned.
    template <class Make>
    void replace(size_type count, const Make& make) {
        const size_type before = size();
        if (!k_moves_freely || count > capacity() - before) {
            fresh other(*this, std::max(checked(count, max_size()), capacity()));
            make(other.made(0));
            other.become(count);
            return;
        }
        if constexpr (k_moves_freely) {
            Allocator alloc = get_allocator();
            const declare_to declare(alloc);
            declare(this, sizeof *this);
            declare(data(), (before + count) * k_element_bytes);
            elements_made made(alloc, end());
            make(made);
            made.keep();
            destroy(0, before);
            move_within(before, 0, count);
            size_ = count;
        }
    }
    /// Like replace(), for numbers that fit into the block.
    template <class Write>
    void write_over(size_type count, const Write& write) noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        declare(data(), count * k_element_bytes);
        write(data());
        size_ = count;
    }
    template <class Range>
    void assign_all(Range&& range) { // NOLINT(cppcoreguidelines-missing-std-forward): passes elements
        if constexpr (detail::counted_range<Range>) {
            const size_type count = detail::count_of(range);
            if constexpr (k_has_numbers<Range>) {
                if (count <= capacity())
                    return write_over(count, [&](T* to) { copy_numbers(range, count, to); });
            }
            replace(count, [&](elements_made& made) { made.copy(range); });
        } else {
            vector_pi made(get_allocator());
            made.reserve(capacity());
            made.append_one_by_one(range);
            adopt<false>(made);
        }
    }

    /// A gap of raw memory between elements, while some are erased. The destructor closes the gap, even if the
    /// predicate throws.
    struct gap {
        vector_pi& of;
        size_type begin = 0;
        size_type end = 0;
        ~gap() {
            const size_type behind = of.size() - end;
            of.move_within(end, begin, behind);
            of.size_ = begin + behind;
        }
    };
    template <class Predicate>
    void erase_where(Predicate& predicate) {
        if constexpr (k_moves_freely) {
            const declare_to declare(get_allocator());
            declare(this, sizeof *this);
            if (!empty())
                declare(data(), size() * k_element_bytes);
            gap closed{*this};
            while (closed.end != size_) {
                T* const each = data() + closed.end;
                const bool is_erased = predicate(std::as_const(*each));
                if (is_erased)
                    destroy(closed.end, closed.end + 1);
                else if (closed.begin != closed.end)
                    move_within(closed.end, closed.begin, 1);
                ++closed.end;
                closed.begin += is_erased ? 0 : 1;
            }
        } else {
            const declare_to declare(get_allocator());
            if (!empty())
                declare(data(), size() * k_element_bytes);
            erase(std::remove_if(begin(), end(), std::ref(predicate)), end());
        }
    }
    template <class U, class Alloc, class Predicate>
    friend std::size_t erase_if(vector_pi<U, Alloc>& from, Predicate predicate);

    void free_all() noexcept {
        if (first_.get() == nullptr)
            return;
        destroy(0, size());
        Allocator alloc = get_allocator();
        alloc_traits::deallocate(alloc, data(), capacity());
    }
    /// Takes over the contents of `other`, which becomes empty. This vector must have no block.
    void take(vector_pi& other) noexcept {
        const declare_to declare(other.get_allocator());
        declare(&other, sizeof other);
        first_.set(other.data());
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        other.first_.set(nullptr);
    }
    /// Takes over the contents of `other`, then destroys the old elements of this vector, which may own `other`.
    template <bool TakesAllocator>
    void adopt(vector_pi& other) noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        vector_pi had(get_allocator());
        had.take(*this);
        if constexpr (TakesAllocator)
            alloc_.set(other.get_allocator());
        take(other);
    }

    // Part of the layout ("vector 1").
    [[no_unique_address]] detail::kept_allocator<Allocator> alloc_;
    detail::link<T> first_; // null if there is no block
    std::uint64_t size_ = 0;
    std::uint64_t capacity_ = 0;
};

template <std::input_iterator Iterator, class Allocator = allocator<std::iter_value_t<Iterator>>>
vector_pi(Iterator, Iterator, Allocator = Allocator()) -> vector_pi<std::iter_value_t<Iterator>, Allocator>;
template <std::ranges::input_range Range, class Allocator = allocator<std::ranges::range_value_t<Range>>>
vector_pi(from_range_t, Range&&, Allocator = Allocator()) -> vector_pi<std::ranges::range_value_t<Range>, Allocator>;

/// Erases all elements for which `predicate` returns true; returns how many. O(n).
template <class T, class Allocator, class Predicate>
std::size_t erase_if(vector_pi<T, Allocator>& from, Predicate predicate) {
    const std::size_t before = from.size();
    from.erase_where(predicate);
    return before - from.size();
}
/// Erases all elements that equal `value`; returns how many. O(n).
template <class T, class Allocator, class Value>
std::size_t erase(vector_pi<T, Allocator>& from, const Value& value) {
    if constexpr (std::is_same_v<Value, T> && std::is_copy_constructible_v<T>) {
        if (const std::less<> before; !before(&value, from.data()) && before(&value, from.data() + from.size())) {
            const T copy(value); // `value` moves, or is destroyed, while others are compared with it
            return erase_if(from, [&](const T& each) { return each == copy; });
        }
    }
    return erase_if(from, [&](const T& each) { return each == value; });
}

template <class T, class Allocator>
struct class_traits<vector_pi<T, Allocator>> {
    using parts = type_list<T>;
    static constexpr bool k_is_position_independent = detail::is_kept_by_distance_v<Allocator>;
    static constexpr bool k_is_self_contained = true;
    static std::string_view layout() { return " vector 1"; }
    struct shape : detail::shape_with<detail::shape_kind::linked_block,
                                      detail::allocator_bytes_v<detail::kept_allocator<Allocator>>,
                                      detail::allocator_bytes_v<detail::kept_allocator<Allocator>> + 8> {};

    static detail::structure_result check(const vector_pi<T, Allocator>& all, detail::block_survey& survey) {
        if (all.size() > all.capacity() || all.capacity() > all.max_size())
            return detail::structure_fault{&all, "a vector_pi with more elements than memory"};
        if (all.capacity() != 0 && !survey.is_block(all.data(), all.capacity() * sizeof(T)))
            return detail::structure_fault{&all, "a vector_pi whose link leads to no block of its size"};
        detail::structure_result found;
        if constexpr (detail::has_structure<T>()) {
            for (auto each = all.begin(); each != all.end() && !found; ++each)
                found = detail::check_structure(*each, survey);
        }
        return found;
    }
    [[gnu::always_inline]] static void fetch(const vector_pi<T, Allocator>& all) noexcept {
        detail::fetch_ahead(all.data(), all.size() * sizeof(T));
    }
};

} // namespace remanence
