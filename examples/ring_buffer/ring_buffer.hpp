// A container written by a user of Remanence; docs/containers.md walks through it. It lies in a ring of slots, so the
// first element goes in constant time, too.
//
// Invariants, where capacity_ is 0 exactly if there is no block:
// R1. first_ < capacity_, or both are 0.
// R2. size_ <= capacity_; element i is in slot (first_ + i) % capacity_; all other slots are raw memory.
#pragma once

#include <remanence/remanence.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace examples {

namespace rem = remanence;

/// A queue with access by index, that grows when it is full.
///
/// Exceptions. push_back, emplace_back, reserve and assignment have no effect if they throw.
/// Invalidation. push_back, emplace_back and reserve: references if they grow it. pop_front: references to the first
/// element, and all iterators, which count from the first.
/// Sections. It declares what it writes, so it may be changed in declared sections.
template <class T>
class ring_buffer {
    static_assert(std::is_nothrow_move_constructible_v<T>, "growth moves elements, and must not fail half way");

    using declare_to = rem::detail::declarer<rem::allocator<T>>;
    using alloc_traits = std::allocator_traits<rem::allocator<T>>;

    template <class Ring, class Value>
    class cursor {
    public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using reference = Value&;
        using pointer = Value*;

        cursor() = default;
        cursor(Ring* of, difference_type at) : of_(of), at_(at) {}
        operator cursor<const Ring, const Value>() const { return {of_, at_}; } // NOLINT(google-explicit-constructor)

        reference operator*() const { return (*of_)[static_cast<std::size_t>(at_)]; }
        pointer operator->() const { return &**this; }
        reference operator[](difference_type by) const { return *(*this + by); }
        cursor& operator+=(difference_type by) {
            at_ += by;
            return *this;
        }
        cursor& operator-=(difference_type by) { return *this += -by; }
        cursor& operator++() { return *this += 1; }
        cursor& operator--() { return *this += -1; }
        cursor operator++(int) { return std::exchange(*this, *this + 1); }
        cursor operator--(int) { return std::exchange(*this, *this - 1); }
        friend cursor operator+(cursor a, difference_type by) { return a += by; }
        friend cursor operator+(difference_type by, cursor a) { return a += by; }
        friend cursor operator-(cursor a, difference_type by) { return a -= by; }
        friend difference_type operator-(const cursor& a, const cursor& b) { return a.at_ - b.at_; }
        friend bool operator==(const cursor& a, const cursor& b) { return a.at_ == b.at_; }
        friend auto operator<=>(const cursor& a, const cursor& b) { return a.at_ <=> b.at_; }

    private:
        Ring* of_ = nullptr;
        difference_type at_ = 0;
    };

public:
    using value_type = T;
    using allocator_type = rem::allocator<T>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = cursor<ring_buffer, T>;
    using const_iterator = cursor<const ring_buffer, const T>;

    // The allocator comes last, and without one it is that of the heap whose section is open.
    ring_buffer() : ring_buffer(allocator_type()) {}
    explicit ring_buffer(const allocator_type& alloc) noexcept : alloc_(alloc) {}
    ring_buffer(std::initializer_list<T> all, const allocator_type& alloc = {}) : ring_buffer(alloc) {
        for (const T& each : all)
            push_back(each);
    }
    ring_buffer(const ring_buffer& other) : ring_buffer(other, allocator_type()) {}
    ring_buffer(const ring_buffer& other, const allocator_type& alloc) : ring_buffer(alloc) {
        reserve(other.size());
        for (const T& each : other)
            push_back(each);
    }
    ring_buffer(ring_buffer&& other) noexcept : ring_buffer(other.get_allocator()) { take(other); }
    ring_buffer(ring_buffer&& other, const allocator_type& alloc) : ring_buffer(alloc) {
        if (alloc == other.get_allocator()) {
            take(other);
        } else {
            ring_buffer copy(other, alloc);
            take(copy);
        }
    }
    ~ring_buffer() { free_all(); }

    ring_buffer& operator=(const ring_buffer& other) {
        ring_buffer copy(other, get_allocator());
        return adopt(copy);
    }
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): from another heap it copies
    ring_buffer& operator=(ring_buffer&& other) {
        ring_buffer moved(std::move(other), get_allocator());
        return adopt(moved);
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return alloc_.get(); }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] size_type size() const noexcept { return size_; }
    [[nodiscard]] size_type capacity() const noexcept { return capacity_; }

    [[nodiscard]] T& operator[](size_type at) noexcept { return *slot(at); }
    [[nodiscard]] const T& operator[](size_type at) const noexcept { return *slot(at); }
    [[nodiscard]] T& front() noexcept { return *slot(0); }
    [[nodiscard]] const T& front() const noexcept { return *slot(0); }
    [[nodiscard]] T& back() noexcept { return *slot(size_ - 1); }
    [[nodiscard]] const T& back() const noexcept { return *slot(size_ - 1); }

    [[nodiscard]] iterator begin() noexcept { return {this, 0}; }
    [[nodiscard]] iterator end() noexcept { return {this, static_cast<difference_type>(size_)}; }
    [[nodiscard]] const_iterator begin() const noexcept { return {this, 0}; }
    [[nodiscard]] const_iterator end() const noexcept { return {this, static_cast<difference_type>(size_)}; }

    void push_back(const T& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }
    template <class... Args>
    T& emplace_back(Args&&... args) {
        if (size_ == capacity_) {
            grow(capacity_ == 0 ? 4 : 2 * capacity_, std::forward<Args>(args)...);
        } else {
            const declare_to declare(get_allocator());
            declare(this, sizeof *this);
            declare(slot(size_), sizeof(T));
            allocator_type alloc = get_allocator();
            alloc_traits::construct(alloc, slot(size_), std::forward<Args>(args)...);
            ++size_; // last: if the constructor throws, nothing has happened
        }
        return back();
    }
    void pop_front() noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        declare(slot(0), sizeof(T));
        allocator_type alloc = get_allocator();
        alloc_traits::destroy(alloc, slot(0));
        first_ = (first_ + 1) % capacity_;
        --size_;
    }
    void clear() noexcept {
        while (!empty())
            pop_front();
    }
    void reserve(size_type count) {
        if (count > get_allocator().max_size())
            throw std::length_error("ring_buffer::reserve");
        if (count > capacity_)
            grow(count);
    }

    friend bool operator==(const ring_buffer& a, const ring_buffer& b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }

    /// Whether R1 and R2 hold, as far as numbers tell. For tests.
    [[nodiscard]] bool check_invariants() const noexcept {
        return size_ <= capacity_ && (block_.get() == nullptr) == (capacity_ == 0) &&
               (first_ < capacity_ || (first_ == 0 && capacity_ == 0));
    }

private:
    [[nodiscard]] T* slot(size_type at) const noexcept { return block_.get() + (first_ + at) % capacity_; }

    /// Moves all to a larger block, behind them a new element if there are arguments for one.
    template <class... Args>
    void grow(size_type capacity, Args&&... args) {
        allocator_type alloc = get_allocator();
        T* const larger = alloc.allocate(capacity);
        if constexpr (sizeof...(Args) != 0) {
            try { // first: the arguments may be elements
                alloc_traits::construct(alloc, larger + size_, std::forward<Args>(args)...);
            } catch (...) {
                alloc.deallocate(larger, capacity);
                throw;
            }
        }
        // From here on nothing throws.
        const declare_to declare(alloc);
        declare(this, sizeof *this);
        if (capacity_ != 0)
            declare(block_.get(), capacity_ * sizeof(T));
        for (size_type i = 0; i != size_; ++i) {
            ::new (static_cast<void*>(larger + i)) T(std::move(*slot(i)));
            alloc_traits::destroy(alloc, slot(i));
        }
        if (capacity_ != 0)
            alloc.deallocate(block_.get(), capacity_);
        block_.set(larger);
        first_ = 0;
        size_ += sizeof...(Args) == 0 ? 0 : 1;
        capacity_ = capacity;
    }

    void free_all() noexcept {
        clear();
        if (capacity_ != 0)
            get_allocator().deallocate(block_.get(), capacity_);
    }
    /// Has what the other has, which becomes empty; this one has no block, and the same allocator.
    void take(ring_buffer& other) noexcept {
        const declare_to declare(get_allocator());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        block_.set(other.block_.get());
        other.block_.set(nullptr);
        first_ = std::exchange(other.first_, 0);
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
    }
    ring_buffer& adopt(ring_buffer& other) noexcept {
        free_all();
        take(other);
        return *this;
    }

    rem::detail::kept_allocator<allocator_type> alloc_; // the distance to the heap's header
    rem::detail::link<T> block_;                        // the distance to the slots; null: none
    std::uint64_t first_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t capacity_ = 0;
};

} // namespace examples

// What the library asks of it. Another layout, or other elements, are refused.
template <class T>
struct remanence::class_traits<examples::ring_buffer<T>> {
    using parts = type_list<T>;
    static constexpr bool k_is_position_independent = true;
    static std::string_view layout() { return " ring_buffer 1"; }
};
