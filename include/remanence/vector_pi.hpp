// A vector that holds no address, for heaps that may be mapped elsewhere. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/detail/announcer.hpp>
#include <remanence/detail/between_heaps.hpp>
#include <remanence/detail/container.hpp>
#include <remanence/detail/fetch_ahead.hpp>
#include <remanence/detail/fingerprint.hpp>
#include <remanence/detail/kept_allocator.hpp>
#include <remanence/detail/link.hpp>
#include <remanence/detail/position_independent.hpp>
#include <remanence/detail/self_contained.hpp>
#include <remanence/detail/structure.hpp>

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
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace remanence {

/// As std::vector, in 24 bytes and what its allocator takes (8 in a heap). It finds its elements by a distance. Of
/// bool, too, each is an object.
///
/// Exceptions. push_back, emplace_back, reserve, shrink_to_fit and copy assignment have no effect if they throw, the
/// other insertions neither unless elements move by a constructor that may throw and cannot be copied. erase() and
/// resize() throw what elements throw.
///
/// Invalidation. As std::vector's; but where moving an element may throw, an insertion before another one takes a new block.
///
/// Sections. It announces what it writes itself, elements and all, so it may be changed in declared sections; what a
/// program writes through references and iterators it must touch() there, and so must it what elements write elsewhere
/// when they move (those of a std::list, for instance, write to its nodes). Threads: as std::vector.
template <class T, class Allocator = allocator<T>>
class vector_pi {
    using alloc_traits = std::allocator_traits<Allocator>;
    using announce_to = detail::announcer<Allocator>;
    static_assert(std::is_same_v<typename alloc_traits::pointer, T*> && std::is_same_v<std::remove_cv_t<T>, T>,
                  "Remanence's containers take allocators with plain pointers, and elements that are not const");
    static constexpr bool k_swaps_blocks =
        alloc_traits::is_always_equal::value || alloc_traits::propagate_on_container_swap::value;

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
    explicit vector_pi(size_type count, const Allocator& alloc = Allocator()) : vector_pi(alloc) { resize(count); }
    vector_pi(size_type count, const T& value, const Allocator& alloc = Allocator()) : vector_pi(alloc) {
        resize(count, value);
    }
    template <std::input_iterator Iterator>
    vector_pi(Iterator first, Iterator last, const Allocator& alloc = Allocator()) : vector_pi(alloc) {
        append(first, last);
    }
    vector_pi(std::initializer_list<T> all, const Allocator& alloc = Allocator())
        : vector_pi(all.begin(), all.end(), alloc) {}
    vector_pi(const vector_pi& other)
        : vector_pi(other, alloc_traits::select_on_container_copy_construction(other.get_allocator())) {}
    vector_pi(const vector_pi& other, const Allocator& alloc) : vector_pi(other.begin(), other.end(), alloc) {}
    vector_pi(vector_pi&& other) noexcept : vector_pi(other.get_allocator()) { take(other); }
    /// Moves element by element between different allocators.
    vector_pi(vector_pi&& other, const Allocator& alloc) : vector_pi(alloc) {
        if (get_allocator() == other.get_allocator())
            take(other);
        else
            append(std::move_iterator(other.begin()), std::move_iterator(other.end()));
    }
    ~vector_pi() { free_all(); }

    vector_pi& operator=(const vector_pi& other) {
        if (this != &other) {
            constexpr bool propagates = alloc_traits::propagate_on_container_copy_assignment::value;
            vector_pi copy(other, propagates ? other.get_allocator() : get_allocator());
            adopt(copy);
        }
        return *this;
    }
    vector_pi& operator=(vector_pi&& other) noexcept(alloc_traits::is_always_equal::value ||
                                                     alloc_traits::propagate_on_container_move_assignment::value) {
        if (this == &other)
            return *this;
        if (alloc_traits::propagate_on_container_move_assignment::value || get_allocator() == other.get_allocator()) {
            adopt(other);
        } else {
            vector_pi moved(std::move(other), get_allocator());
            adopt(moved);
        }
        return *this;
    }
    vector_pi& operator=(std::initializer_list<T> all) {
        assign(all);
        return *this;
    }
    void assign(size_type count, const T& value) {
        vector_pi made(count, value, get_allocator());
        adopt(made);
    }
    template <std::input_iterator Iterator>
    void assign(Iterator first, Iterator last) {
        vector_pi made(first, last, get_allocator());
        adopt(made);
    }
    void assign(std::initializer_list<T> all) { assign(all.begin(), all.end()); }

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

    // Room.

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
        const size_type before = size();
        if (count > capacity())
            reserve(grown(count - before));
        if constexpr (k_is_number) {
            const announce_to announce(get_allocator());
            announce(this, sizeof *this);
            announce(end(), (count - before) * k_element_bytes);
            std::fill(end(), data() + count, T());
            size_ = count;
            return;
        }
        try {
            while (size() != count)
                emplace_back();
        } catch (...) {
            cut(before);
            throw;
        }
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
            larger.construct(size(), std::forward<Args>(args)...); // first: they may be of this vector
            larger.fill_from(0, size(), 0);
            larger.become(size() + 1);
        } else {
            const announce_to announce(get_allocator());
            announce(this, sizeof *this);
            announce(end(), k_element_bytes);
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
        if (at == size_) {
            emplace_back(std::forward<Args>(args)...);
        } else {
            vector_pi added(get_allocator());
            added.emplace_back(std::forward<Args>(args)...);
            insert_all(at, added);
        }
        return begin() + at;
    }
    iterator insert(const_iterator where, size_type count, const T& value) {
        const size_type at = index_of(where);
        vector_pi added(get_allocator());
        added.reserve(count);
        for (; count != 0; --count)
            added.emplace_back(value);
        insert_all(at, added);
        return begin() + at;
    }
    template <std::input_iterator Iterator>
    iterator insert(const_iterator where, Iterator first, Iterator last) {
        const size_type at = index_of(where);
        vector_pi added(first, last, get_allocator());
        insert_all(at, added);
        return begin() + at;
    }
    iterator insert(const_iterator where, std::initializer_list<T> all) {
        return insert(where, all.begin(), all.end());
    }

    iterator erase(const_iterator where) { return erase(where, where + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        const size_type at = index_of(first);
        const size_type behind = index_of(last);
        if (first == last)
            return begin() + at;
        const announce_to announce(get_allocator());
        announce(this, sizeof *this);
        announce(data() + at, (size() - at) * k_element_bytes);
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

    /// O(n) between different allocators: elements are copied or, if that is not possible, moved.
    void swap(vector_pi& other) noexcept(k_swaps_blocks) {
        if (!detail::may_exchange_blocks(get_allocator(), other.get_allocator()))
            return detail::swap_by_value(*this, other);
        vector_pi kept(std::move(other));
        other.adopt(*this); // NOLINT(bugprone-use-after-move): it is empty
        adopt(kept);
    }
    friend void swap(vector_pi& a, vector_pi& b) noexcept(k_swaps_blocks) { a.swap(b); }

    friend bool operator==(const vector_pi& a, const vector_pi& b)
        requires std::equality_comparable<T>
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend auto operator<=>(const vector_pi& a, const vector_pi& b) {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(),
                                                      detail::three_way_by_less());
    }

private:
    static constexpr size_type k_element_bytes = sizeof(T); // NOLINT(bugprone-sizeof-expression): may be a pointer
    static constexpr bool k_is_bytes = detail::is_plain_bytes_v<T>;
    static constexpr bool k_is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>; // any construction is a copy
    /// Elements move by construction, never by assignment: that might write into memory which the one assigned to owns.
    static constexpr bool k_moves_freely = std::is_nothrow_move_constructible_v<T>;

    [[nodiscard]] size_type index_of(const_iterator where) const noexcept {
        return static_cast<size_type>(where - data());
    }
    /// A capacity for so many more.
    [[nodiscard]] size_type grown(size_type added) const {
        if (added > max_size() - size())
            throw std::length_error("vector_pi: too many elements");
        return std::max(size() + added, std::min(2 * capacity(), max_size()));
    }

    /// From one raw place to another; the first is raw then.
    static void move_one(T* from, T* to) noexcept {
        ::new (static_cast<void*>(to)) T(std::move(*from));
        std::destroy_at(from);
    }
    static void move_all(T* from, T* to, size_type count) noexcept {
        if constexpr (k_is_bytes) {
            if (count != 0)
                std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * k_element_bytes);
        } else if (std::less<>()(from, to)) {
            for (size_type i = count; i != 0; --i)
                move_one(from + i - 1, to + i - 1);
        } else {
            for (size_type i = 0; i != count; ++i)
                move_one(from + i, to + i);
        }
    }
    void move_within(size_type from, size_type to, size_type count) noexcept {
        move_all(data() + from, data() + to, count);
    }
    void destroy(size_type from, size_type to) noexcept {
        Allocator alloc = get_allocator();
        for (T* each = data() + from; each != data() + to; ++each)
            alloc_traits::destroy(alloc, each);
    }
    /// Announced, unless it is empty behind that.
    void cut(size_type count) noexcept {
        const announce_to announce(get_allocator());
        announce(this, sizeof *this);
        if (!std::is_trivially_destructible_v<T> && count != size_)
            announce(data() + count, (size() - count) * k_element_bytes);
        destroy(count, size());
        size_ = count;
    }

    /// A block that elements come into, from the vector and from outside; freed, with those made in it, if it does not
    /// become the vector's.
    class fresh {
    public:
        fresh(vector_pi& of, size_type capacity) : of_(of), alloc_(of.get_allocator()), capacity_(capacity) {
            if (capacity != 0)
                block_ = alloc_traits::allocate(alloc_, capacity);
        }
        fresh(const fresh&) = delete;
        fresh& operator=(const fresh&) = delete;
        ~fresh() {
            for (; made_ != 0; --made_)
                alloc_traits::destroy(alloc_, block_ + first_ + made_ - 1);
            for (; copied_ != 0; --copied_)
                alloc_traits::destroy(alloc_, block_ + at_of_copy(copied_ - 1));
            if (block_ != nullptr)
                alloc_traits::deallocate(alloc_, block_, capacity_);
        }
        /// The one new element.
        template <class... Args>
        void construct(size_type at, Args&&... args) {
            alloc_traits::construct(alloc_, block_ + at, std::forward<Args>(args)...);
            first_ = at;
            made_ = 1;
        }
        /// All elements of another vector, which is empty then.
        void take(size_type at, vector_pi& from) {
            gap_at_ = at;
            gap_ = from.size();
            if constexpr (k_moves_freely) {
                move_all(from.data(), block_ + at, from.size());
                from.size_ = 0;
                first_ = at;
                made_ = gap_;
            } else {
                first_ = at;
                for (; made_ != gap_; ++made_)
                    alloc_traits::construct(alloc_, block_ + at + made_, std::move_if_noexcept(from[made_]));
            }
        }
        /// `count` of the vector's own from `from`, which come to `to`: in order, from the first. Not moved before
        /// nothing can throw any more: is all else made?
        void fill_from(size_type from, size_type count, size_type to) {
            if constexpr (k_moves_freely) {
                const announce_to announce(alloc_);
                if (!k_is_bytes)
                    announce(of_.data() + from, count * k_element_bytes);
                move_all(of_.data() + from, block_ + to, count);
                moved_ += count;
            } else {
                for (size_type i = 0; i != count; ++i, ++copied_)
                    alloc_traits::construct(alloc_, block_ + to + i, std::move_if_noexcept(of_[from + i]));
            }
        }
        void become(size_type size) noexcept {
            const announce_to announce(alloc_);
            announce(&of_, sizeof of_);
            of_.size_ -= moved_; // all or none: those are raw
            of_.free_all();
            of_.first_.set(block_);
            of_.size_ = size;
            of_.capacity_ = capacity_;
            block_ = nullptr;
            made_ = copied_ = 0;
        }

    private:
        [[nodiscard]] size_type at_of_copy(size_type index) const noexcept {
            return index < gap_at_ ? index : index + gap_;
        }

        vector_pi& of_;
        Allocator alloc_;
        size_type capacity_;
        T* block_ = nullptr;
        size_type first_ = 0; // new elements from here
        size_type made_ = 0;
        size_type gap_at_ = 0; // where they stand among those of the vector
        size_type gap_ = 0;
        size_type moved_ = 0;
        size_type copied_ = 0;
    };

    void move_to_block(size_type capacity) {
        fresh other(*this, capacity);
        other.fill_from(0, size(), 0);
        other.become(size());
    }
    /// Takes all of `added`, which is empty then or was copied.
    void insert_all(size_type at, vector_pi& added) {
        const size_type count = added.size();
        if (count == 0)
            return;
        if (k_moves_freely && count <= capacity() - size()) {
            const announce_to announce(get_allocator());
            announce(this, sizeof *this);
            announce(data() + at, (size() - at + count) * k_element_bytes);
            if constexpr (k_moves_freely) {
                move_within(at, at + count, size() - at);
                move_all(added.data(), data() + at, count);
            }
            added.size_ = 0;
            size_ += count;
            return;
        }
        if (at == size_ && count <= capacity() - size())
            return append_all(added);
        fresh larger(*this, count <= capacity() - size() ? capacity() : grown(count));
        larger.take(at, added);
        const size_type before = size();
        larger.fill_from(0, at, 0);
        larger.fill_from(at, before - at, at + count);
        larger.become(before + count);
    }
    /// The same behind the last, where there is room.
    void append_all(vector_pi& added) {
        const size_type before = size();
        try {
            for (T& each : added)
                emplace_back(std::move_if_noexcept(each));
        } catch (...) {
            cut(before);
            throw;
        }
    }
    /// Between two elements a gap of raw places, while some are erased; closed at the end, whatever the predicate
    /// throws.
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
            const announce_to announce(get_allocator());
            announce(this, sizeof *this);
            if (!empty())
                announce(data(), size() * k_element_bytes);
            gap closed{*this};
            while (closed.end != size_) {
                T* const each = data() + closed.end;
                const bool is_erased = predicate(std::as_const(*each));
                if (is_erased)
                    destroy(closed.end, closed.end + 1);
                else if (closed.begin != closed.end)
                    move_all(each, data() + closed.begin, 1);
                ++closed.end;
                closed.begin += is_erased ? 0 : 1;
            }
        } else {
            const announce_to announce(get_allocator());
            if (!empty())
                announce(data(), size() * k_element_bytes);
            erase(std::remove_if(begin(), end(), std::ref(predicate)), end());
        }
    }
    template <class U, class Alloc, class Predicate>
    friend std::size_t erase_if(vector_pi<U, Alloc>& from, Predicate predicate);

    template <class Iterator>
    void append(Iterator first, Iterator last) {
        if constexpr (std::forward_iterator<Iterator>)
            reserve(static_cast<size_type>(std::distance(first, last)));
        if constexpr (k_is_number && std::contiguous_iterator<Iterator> &&
                      std::is_same_v<std::iter_value_t<Iterator>, T>) {
            const auto count = static_cast<size_type>(last - first);
            if (count == 0)
                return;
            const announce_to announce(get_allocator());
            announce(this, sizeof *this);
            announce(end(), count * k_element_bytes);
            std::memcpy(end(), std::to_address(first), count * k_element_bytes);
            size_ += count;
        } else {
            for (; first != last; ++first)
                emplace_back(*first);
        }
    }

    void free_all() noexcept {
        if (first_.get() == nullptr)
            return;
        destroy(0, size());
        Allocator alloc = get_allocator();
        alloc_traits::deallocate(alloc, data(), capacity());
    }
    /// Has what the other has, which becomes empty. This one has no block.
    void take(vector_pi& other) noexcept {
        const announce_to announce(other.get_allocator());
        announce(&other, sizeof other);
        first_.set(other.data());
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        other.first_.set(nullptr);
    }
    /// The same in place of what this one had, which may own the other, and with the other's allocator.
    void adopt(vector_pi& other) noexcept {
        const announce_to announce(get_allocator());
        announce(this, sizeof *this);
        vector_pi had(get_allocator());
        had.take(*this);
        alloc_.set(other.get_allocator());
        take(other);
    }

    [[no_unique_address]] detail::kept_allocator<Allocator> alloc_;
    detail::link<T> first_;
    std::uint64_t size_ = 0;
    std::uint64_t capacity_ = 0;
};

template <std::input_iterator Iterator>
vector_pi(Iterator, Iterator) -> vector_pi<std::iter_value_t<Iterator>>;

/// Erases all that `predicate` is true of, or that equal `value`; returns how many. O(n).
template <class T, class Allocator, class Predicate>
std::size_t erase_if(vector_pi<T, Allocator>& from, Predicate predicate) {
    const std::size_t before = from.size();
    from.erase_where(predicate);
    return before - from.size();
}
template <class T, class Allocator, class Value>
std::size_t erase(vector_pi<T, Allocator>& from, const Value& value) {
    return erase_if(from, [&](const T& each) { return each == value; });
}

template <class T, class Allocator>
struct detail::is_known_self_contained<vector_pi<T, Allocator>> : std::true_type {};
template <class T, class Allocator>
    requires detail::is_kept_by_distance_v<Allocator>
struct detail::position_independent_parts<vector_pi<T, Allocator>> : std::type_identity<detail::type_list<T>> {};

template <class T, class Allocator>
struct detail::structure_of<vector_pi<T, Allocator>> {
    static constexpr bool k_exists = true;
    static structure_result check(const vector_pi<T, Allocator>& all, block_survey& survey) {
        if (all.size() > all.capacity() || all.capacity() > all.max_size())
            return structure_fault{&all, "a vector_pi with more elements than memory"};
        if (all.capacity() != 0 && !survey.is_block(all.data(), all.capacity() * sizeof(T)))
            return structure_fault{&all, "a vector_pi whose link leads to no block of its size"};
        structure_result found;
        if constexpr (has_structure<T>()) {
            for (auto each = all.begin(); each != all.end() && !found; ++each)
                found = check_structure(*each, survey);
        }
        return found;
    }
};

template <class T, class Allocator>
struct detail::memory_outside<vector_pi<T, Allocator>> {
    [[gnu::always_inline]] static void fetch(const vector_pi<T, Allocator>& all) noexcept {
        fetch_ahead(all.data(), all.size() * sizeof(T));
    }
};

template <class T, class Allocator>
struct detail::class_contents<vector_pi<T, Allocator>> {
    static void write(structure_writer& out) {
        write_list<T>(out, " <", ">");
        out.text(" vector 1");
    }
};

} // namespace remanence
