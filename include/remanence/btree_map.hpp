// Ordered maps for pages and caches: B-trees with the interface of std::map and std::multimap. What holds for all of
// them (complexity, invalidation, exceptions, allocators) is said in btree_set.hpp. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/detail/btree_container.hpp>
#include <remanence/detail/btree_layout.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence {

/// As std::map. `NodeBytes`: size of a leaf, which holds at least four elements; 0: 512, or more for large elements.
template <class Key, class Value, class Compare = std::less<>, class Allocator = allocator<std::pair<const Key, Value>>,
          std::size_t NodeBytes = 0>
class btree_map : public detail::btree_container<
                      detail::btree_traits<Key, std::pair<const Key, Value>, Compare, Allocator, NodeBytes, true>> {
    using base = detail::btree_container<
        detail::btree_traits<Key, std::pair<const Key, Value>, Compare, Allocator, NodeBytes, true>>;

public:
    using mapped_type = Value;
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::value_type;

    /// Those of std::map, and with `sorted_unique` before a range: throws errc::invalid_argument when that is not so.
    using base::base;
    btree_map() = default;
    btree_map(std::initializer_list<value_type> all, const Compare& compare = Compare(),
              const Allocator& alloc = Allocator())
        : base(all, compare, alloc) {} // not inherited, for the deduction of arguments by g++
    btree_map& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_map& a, btree_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

    /// Throws std::out_of_range.
    [[nodiscard]] Value& at(const Key& key) { return const_cast<Value&>(std::as_const(*this).at(key)); } // NOLINT
    [[nodiscard]] const Value& at(const Key& key) const {
        const const_iterator found = this->find(key);
        if (found == this->end())
            throw std::out_of_range("btree_map::at");
        return found->second;
    }
    /// In a declared section the value is announced as to be written.
    Value& operator[](const Key& key) { return announced(*try_emplace(key).first); }
    Value& operator[](Key&& key) { return announced(*try_emplace(std::move(key)).first); }

    using base::insert;
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    std::pair<iterator, bool> insert(Pair&& value) {
        if constexpr (requires { requires std::same_as<std::remove_cvref_t<decltype(value.first)>, Key>; })
            return this->insert_by(value.first, std::forward<Pair>(value));
        else
            return this->emplace(std::forward<Pair>(value));
    }
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    iterator insert(const_iterator hint, Pair&& value) {
        return this->emplace_hint(hint, std::forward<Pair>(value));
    }
    /// Takes nothing from its arguments when there is such a key.
    template <class... Args>
    std::pair<iterator, bool> try_emplace(const Key& key, Args&&... args) {
        return this->insert_by(key, std::piecewise_construct, std::forward_as_tuple(key),
                               std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <class... Args>
    std::pair<iterator, bool> try_emplace(Key&& key, Args&&... args) {
        return this->insert_by(key, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                               std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <class... Args>
    iterator try_emplace(const_iterator hint, const Key& key, Args&&... args) {
        return near(hint, key, std::piecewise_construct, std::forward_as_tuple(key),
                    std::forward_as_tuple(std::forward<Args>(args)...))
            .first;
    }
    template <class... Args>
    iterator try_emplace(const_iterator hint, Key&& key, Args&&... args) {
        return near(hint, key, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                    std::forward_as_tuple(std::forward<Args>(args)...))
            .first;
    }
    template <class Source>
    std::pair<iterator, bool> insert_or_assign(const Key& key, Source&& value) {
        return assigned(try_emplace(key, std::forward<Source>(value)), std::forward<Source>(value));
    }
    template <class Source>
    std::pair<iterator, bool> insert_or_assign(Key&& key, Source&& value) {
        return assigned(try_emplace(std::move(key), std::forward<Source>(value)), std::forward<Source>(value));
    }
    template <class Source>
    iterator insert_or_assign(const_iterator hint, const Key& key, Source&& value) {
        return assigned(near(hint, key, key, std::forward<Source>(value)), std::forward<Source>(value)).first;
    }
    template <class Source>
    iterator insert_or_assign(const_iterator hint, Key&& key, Source&& value) {
        return assigned(near(hint, key, std::move(key), std::forward<Source>(value)), std::forward<Source>(value))
            .first;
    }

private:
    template <class... Args>
    std::pair<iterator, bool> near(const_iterator hint, const Key& key, Args&&... args) {
        const auto [at, is_new] = this->insert_near(hint.place(), key, std::forward<Args>(args)...);
        return {iterator(at), is_new};
    }
    /// `value` was not taken when there was such a key.
    template <class Source>
    std::pair<iterator, bool> assigned(std::pair<iterator, bool> result, Source&& value) {
        if (!result.second)
            announced(*result.first) = std::forward<Source>(value);
        return result;
    }
    Value& announced(value_type& element) {
        this->announce(std::addressof(element.second), sizeof(Value)); // NOLINT(bugprone-sizeof-expression)
        return element.second;
    }
};

/// As std::multimap. Equivalent keys stay in the order of their insertion, but for hints.
template <class Key, class Value, class Compare = std::less<>, class Allocator = allocator<std::pair<const Key, Value>>,
          std::size_t NodeBytes = 0>
class btree_multimap
    : public detail::btree_container<
          detail::btree_traits<Key, std::pair<const Key, Value>, Compare, Allocator, NodeBytes, false>> {
    using base = detail::btree_container<
        detail::btree_traits<Key, std::pair<const Key, Value>, Compare, Allocator, NodeBytes, false>>;

public:
    using mapped_type = Value;
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::value_type;

    /// Those of std::multimap, and with `sorted_equivalent` before a range: throws errc::invalid_argument when that is
    /// not so.
    using base::base;
    btree_multimap() = default;
    btree_multimap(std::initializer_list<value_type> all, const Compare& compare = Compare(),
                   const Allocator& alloc = Allocator())
        : base(all, compare, alloc) {} // not inherited, for the deduction of arguments by g++
    btree_multimap& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_multimap& a, btree_multimap& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

    using base::insert;
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    iterator insert(Pair&& value) {
        return this->emplace(std::forward<Pair>(value));
    }
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    iterator insert(const_iterator hint, Pair&& value) {
        return this->emplace_hint(hint, std::forward<Pair>(value));
    }
};

/// Erases all that `predicate` is true of; returns how many. O(n).
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes, class Predicate>
std::size_t erase_if(btree_map<Key, Value, Compare, Allocator, NodeBytes>& from, Predicate predicate) {
    return detail::btree_erase_if(from, predicate);
}
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes, class Predicate>
std::size_t erase_if(btree_multimap<Key, Value, Compare, Allocator, NodeBytes>& from, Predicate predicate) {
    return detail::btree_erase_if(from, predicate);
}

template <detail::input_iterator_of_std Iterator, class Compare = std::less<>>
btree_map(Iterator, Iterator, Compare = Compare())
    -> btree_map<std::remove_const_t<typename std::iter_value_t<Iterator>::first_type>,
                 typename std::iter_value_t<Iterator>::second_type, Compare>;
template <class Key, class Value, class Compare = std::less<>>
btree_map(std::initializer_list<std::pair<Key, Value>>, Compare = Compare())
    -> btree_map<std::remove_const_t<Key>, Value, Compare>;
template <detail::input_iterator_of_std Iterator, class Compare = std::less<>>
btree_multimap(Iterator, Iterator, Compare = Compare())
    -> btree_multimap<std::remove_const_t<typename std::iter_value_t<Iterator>::first_type>,
                      typename std::iter_value_t<Iterator>::second_type, Compare>;
template <class Key, class Value, class Compare = std::less<>>
btree_multimap(std::initializer_list<std::pair<Key, Value>>, Compare = Compare())
    -> btree_multimap<std::remove_const_t<Key>, Value, Compare>;

template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct detail::is_known_self_contained<btree_map<Key, Value, Compare, Allocator, NodeBytes>> : std::true_type {};
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct detail::is_known_self_contained<btree_multimap<Key, Value, Compare, Allocator, NodeBytes>> : std::true_type {};

template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct detail::class_contents<btree_map<Key, Value, Compare, Allocator, NodeBytes>>
    : detail::btree_fingerprint<std::pair<const Key, Value>, NodeBytes, Key, Value, Compare> {};
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct detail::class_contents<btree_multimap<Key, Value, Compare, Allocator, NodeBytes>>
    : detail::btree_fingerprint<std::pair<const Key, Value>, NodeBytes, Key, Value, Compare> {};

} // namespace remanence
