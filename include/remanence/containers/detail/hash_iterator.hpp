// Iterators of hash_map and hash_set. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/hash_block.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

namespace remanence::detail {

/// A forward iterator. It holds native pointers: do not store it in a heap that may be mapped elsewhere.
template <class Value, bool IsConst>
class hash_iterator {
    using cursor = typename hash_block<Value>::cursor;

public:
    using iterator_category = std::forward_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<IsConst, const Value&, Value&>;
    using pointer = std::conditional_t<IsConst, const Value*, Value*>;

    hash_iterator() = default;
    explicit hash_iterator(const cursor& at) noexcept : at_(at) {}
    explicit hash_iterator(hash_place at) noexcept : at_(at) {}
    template <bool IsOtherConst>
        requires(IsConst && !IsOtherConst)
    hash_iterator(const hash_iterator<Value, IsOtherConst>& other) noexcept // NOLINT(google-explicit-constructor)
        : at_(other.at_) {}

    [[nodiscard]] reference operator*() const noexcept { return hash_block<Value>::value(place()); }
    [[nodiscard]] pointer operator->() const noexcept { return std::addressof(**this); }
    hash_iterator& operator++() noexcept {
        at_.next();
        return *this;
    }
    hash_iterator operator++(int) noexcept {
        const hash_iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const hash_iterator& a, const hash_iterator& b) noexcept { return a.place() == b.place(); }

    /// For use by the container.
    [[nodiscard]] hash_place place() const noexcept { return at_.place(); }
    [[nodiscard]] cursor following() const noexcept { return at_.following(); }

private:
    friend class hash_iterator<Value, !IsConst>;

    cursor at_;
};

} // namespace remanence::detail
