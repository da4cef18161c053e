// Hash maps that hold no address and no static: open addressing, with the interface of std::unordered_map. What holds for
// them (complexity, order, invalidation, exceptions, hashes) is said in hash_set.hpp. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/detail/hash_container.hpp>
#include <remanence/detail/hash_layout.hpp>
#include <remanence/seeded_hash.hpp>

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

/// As std::unordered_map, without access to buckets.
template <class Key, class Value, class Hash = seeded_hash<Key>, class KeyEqual = std::equal_to<>,
          class Allocator = allocator<std::pair<const Key, Value>>>
class hash_map
    : public detail::hash_container<detail::hash_traits<Key, std::pair<const Key, Value>, Hash, KeyEqual, Allocator>> {
    using base =
        detail::hash_container<detail::hash_traits<Key, std::pair<const Key, Value>, Hash, KeyEqual, Allocator>>;

public:
    using mapped_type = Value;
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::value_type;

    /// Those of std::unordered_map; the number is one of elements.
    using base::base;
    hash_map() = default;
    hash_map(std::initializer_list<value_type> all, std::size_t elements = 0, const Hash& hash = Hash(),
             const KeyEqual& equal = KeyEqual(), const Allocator& alloc = Allocator())
        : base(all, elements, hash, equal, alloc) {} // not inherited, for the deduction of arguments by g++
    hash_map& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(hash_map& a, hash_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

    /// Throws std::out_of_range.
    [[nodiscard]] Value& at(const Key& key) { return const_cast<Value&>(std::as_const(*this).at(key)); } // NOLINT
    [[nodiscard]] const Value& at(const Key& key) const {
        const const_iterator found = this->find(key);
        if (found == this->end())
            throw std::out_of_range("hash_map::at");
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
    iterator insert(const_iterator, Pair&& value) {
        return insert(std::forward<Pair>(value)).first;
    }
    /// Takes nothing from its arguments when there is such a key.
    template <class... Args>
    std::pair<iterator, bool> try_emplace(const Key& key, Args&&... args) {
        return this->insert_by(key, std::piecewise_construct, std::forward_as_tuple(key),
                               std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <class... Args>
    std::pair<iterator, bool> try_emplace(Key&& key, Args&&... args) {
        return this->insert_by(key, std::piecewise_construct,
                               std::forward_as_tuple(std::move(key)), // NOLINT(bugprone-use-after-move): a reference
                               std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <class... Args>
    iterator try_emplace(const_iterator, const Key& key, Args&&... args) {
        return try_emplace(key, std::forward<Args>(args)...).first;
    }
    template <class... Args>
    iterator try_emplace(const_iterator, Key&& key, Args&&... args) {
        return try_emplace(std::move(key), std::forward<Args>(args)...).first;
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
    iterator insert_or_assign(const_iterator, const Key& key, Source&& value) {
        return insert_or_assign(key, std::forward<Source>(value)).first;
    }
    template <class Source>
    iterator insert_or_assign(const_iterator, Key&& key, Source&& value) {
        return insert_or_assign(std::move(key), std::forward<Source>(value)).first;
    }

private:
    template <class Source>
    std::pair<iterator, bool> assigned(std::pair<iterator, bool> result, Source&& value) {
        if (!result.second) // then nothing was taken from it
            announced(*result.first) = std::forward<Source>(value);
        return result;
    }
    Value& announced(value_type& element) {
        this->announce(std::addressof(element.second), sizeof(Value)); // NOLINT(bugprone-sizeof-expression)
        return element.second;
    }
};

/// Erases all that `predicate` is true of; returns how many. O(bucket_count()).
template <class Key, class Value, class Hash, class KeyEqual, class Allocator, class Predicate>
std::size_t erase_if(hash_map<Key, Value, Hash, KeyEqual, Allocator>& from, Predicate predicate) {
    return detail::hash_erase_if(from, predicate);
}

template <std::input_iterator Iterator>
hash_map(Iterator, Iterator) -> hash_map<std::remove_const_t<typename std::iter_value_t<Iterator>::first_type>,
                                         typename std::iter_value_t<Iterator>::second_type>;
template <class Key, class Value>
hash_map(std::initializer_list<std::pair<Key, Value>>) -> hash_map<std::remove_const_t<Key>, Value>;

template <class Key, class Value, class Hash, class KeyEqual, class Allocator>
struct detail::is_known_self_contained<hash_map<Key, Value, Hash, KeyEqual, Allocator>> : std::true_type {};
template <class Key, class Value, class Hash, class KeyEqual, class Allocator>
struct detail::is_known_position_independent<hash_map<Key, Value, Hash, KeyEqual, Allocator>>
    : std::bool_constant<is_hash_position_independent_v<Allocator, Key, Value, Hash, KeyEqual>> {};
template <class Key, class Value, class Hash, class KeyEqual, class Allocator>
struct detail::class_contents<hash_map<Key, Value, Hash, KeyEqual, Allocator>>
    : detail::hash_fingerprint<std::pair<const Key, Value>, Key, Value, Hash, KeyEqual> {};

} // namespace remanence
