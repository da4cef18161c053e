// The part of the interface of btree_map and hash_map that sets do not have: access to the values of unique keys.
// btree_set.hpp and hash_set.hpp say what it promises. Depends on the standard library only.
#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence::detail {

/// `Container` is a btree_container or hash_container of pairs with a `Value`.
template <class Value, class Container>
class map_interface : public Container {
public:
    using mapped_type = Value;
    using typename Container::const_iterator;
    using typename Container::iterator;
    using typename Container::key_type;
    using typename Container::value_type;

    using Container::Container;

    /// Returns the value. Throws std::out_of_range if there is no such key.
    [[nodiscard]] mapped_type& at(const key_type& key) {
        return const_cast<mapped_type&>(std::as_const(*this).at(key)); // NOLINT
    }
    [[nodiscard]] const mapped_type& at(const key_type& key) const {
        const const_iterator found = this->find(key);
        if (found == this->end())
            throw std::out_of_range(Container::k_no_such_key);
        return found->second;
    }
    /// Returns the value, default-constructed if there was none. In a declared section it declares the value, so that
    /// the caller may write to it.
    mapped_type& operator[](const key_type& key) { return declared(*try_emplace(key).first); }
    mapped_type& operator[](key_type&& key) { return declared(*try_emplace(std::move(key)).first); }

    using Container::insert;
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    std::pair<iterator, bool> insert(Pair&& value) {
        if constexpr (requires { requires std::same_as<std::remove_cvref_t<decltype(value.first)>, key_type>; })
            return this->insert_by(value.first, std::forward<Pair>(value));
        else
            return this->emplace(std::forward<Pair>(value));
    }
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    iterator insert(const_iterator hint, Pair&& value) {
        return this->emplace_hint(hint, std::forward<Pair>(value));
    }
    // NOLINTBEGIN(bugprone-use-after-move): passes references; only the new element moves from them

    /// Does not move from its arguments if there is such a key.
    template <class... Args>
    std::pair<iterator, bool> try_emplace(const key_type& key, Args&&... args) {
        return this->insert_by(key, std::piecewise_construct, std::forward_as_tuple(key),
                               std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <class... Args>
    std::pair<iterator, bool> try_emplace(key_type&& key, Args&&... args) {
        return this->insert_by(key, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                               std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <class... Args>
    iterator try_emplace(const_iterator hint, const key_type& key, Args&&... args) {
        return emplace_near(hint, key, std::forward<Args>(args)...).first;
    }
    template <class... Args>
    iterator try_emplace(const_iterator hint, key_type&& key, Args&&... args) {
        return emplace_near(hint, std::move(key), std::forward<Args>(args)...).first;
    }
    template <class Source>
    std::pair<iterator, bool> insert_or_assign(const key_type& key, Source&& value) {
        return assigned(try_emplace(key, std::forward<Source>(value)), std::forward<Source>(value));
    }
    template <class Source>
    std::pair<iterator, bool> insert_or_assign(key_type&& key, Source&& value) {
        return assigned(try_emplace(std::move(key), std::forward<Source>(value)), std::forward<Source>(value));
    }
    template <class Source>
    iterator insert_or_assign(const_iterator hint, const key_type& key, Source&& value) {
        return assigned(emplace_near(hint, key, std::forward<Source>(value)), std::forward<Source>(value)).first;
    }
    template <class Source>
    iterator insert_or_assign(const_iterator hint, key_type&& key, Source&& value) {
        return assigned(emplace_near(hint, std::move(key), std::forward<Source>(value)), std::forward<Source>(value))
            .first;
    }

private:
    template <class Key, class... Args>
    std::pair<iterator, bool> emplace_near(const_iterator hint, Key&& key, Args&&... args) {
        return this->insert_near(hint, key, std::piecewise_construct, std::forward_as_tuple(std::forward<Key>(key)),
                                 std::forward_as_tuple(std::forward<Args>(args)...));
    }
    // NOLINTEND(bugprone-use-after-move)
    template <class Source>
    std::pair<iterator, bool> assigned(std::pair<iterator, bool> result, Source&& value) {
        if (!result.second) // then `value` is still unchanged
            declared(*result.first) = std::forward<Source>(value);
        return result;
    }
    mapped_type& declared(value_type& element) {
        this->declare(std::addressof(element.second), sizeof(mapped_type)); // NOLINT(bugprone-sizeof-expression)
        return element.second;
    }
};

} // namespace remanence::detail
