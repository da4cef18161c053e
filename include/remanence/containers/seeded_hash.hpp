// The default hash of hash_map and hash_set, which call it with the seed that each container stores. Depends on the
// standard library only.
#pragma once

#include <remanence/containers/detail/hash_bytes.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence {

template <class Allocator>
class basic_string_pi; // <remanence/containers/string_pi.hpp>

/// Hashes a key with a seed. Equal keys have equal hashes in every program and at every address.
///
/// The hash is strong for numbers and strings, and for pairs and tuples of these. For other types it is made from their
/// std::hash, and is only as strong and as stable as that (the std::hash of a pointer is its address). Specialise
/// seeded_hash for your own types, with the seed as second argument.
template <class Key>
struct seeded_hash {
    static_assert(
        requires(const Key& key) { std::hash<Key>()(key); },
        "no hash for this type: specialise remanence::seeded_hash or std::hash, or name a hash of yours");
    /// Returns the hash of `key`, which differs from seed to seed.
    [[nodiscard]] std::uint64_t operator()(const Key& key, std::uint64_t seed = 0) const
        noexcept(noexcept(std::hash<Key>()(key))) {
        return detail::hash_number(std::hash<Key>()(key), seed);
    }
};

template <class Key>
    requires(std::integral<Key> || std::is_enum_v<Key>)
struct seeded_hash<Key> {
    [[nodiscard]] std::uint64_t operator()(Key key, std::uint64_t seed = 0) const noexcept {
        return detail::hash_number(static_cast<std::uint64_t>(key), seed);
    }
};

template <class Key>
    requires(std::same_as<Key, float> || std::same_as<Key, double>)
struct seeded_hash<Key> {
    [[nodiscard]] std::uint64_t operator()(Key key, std::uint64_t seed = 0) const noexcept {
        const double number = key == Key{0} ? 0.0 : static_cast<double>(key); // -0 equals 0
        return detail::hash_number(std::bit_cast<std::uint64_t>(number), seed);
    }
};

/// Gives equal hashes to all kinds of strings with the same characters, so that a look-up by a std::string_view need
/// not construct the container's kind of string.
struct seeded_string_hash {
    using is_transparent = void;
    /// Returns the hash of the characters.
    [[nodiscard]] std::uint64_t operator()(std::string_view text, std::uint64_t seed = 0) const noexcept {
        return detail::hash_bytes(text.data(), text.size(), seed);
    }
};
template <class Allocator>
struct seeded_hash<std::basic_string<char, std::char_traits<char>, Allocator>> : seeded_string_hash {};
template <class Allocator>
struct seeded_hash<basic_string_pi<Allocator>> : seeded_string_hash {};
template <>
struct seeded_hash<std::string_view> : seeded_string_hash {};

template <class... Parts>
struct seeded_hash<std::tuple<Parts...>> {
    [[nodiscard]] std::uint64_t operator()(const std::tuple<Parts...>& key, std::uint64_t seed = 0) const {
        std::apply([&](const Parts&... parts) { ((seed = seeded_hash<Parts>()(parts, seed)), ...); }, key);
        return seed;
    }
};
template <class A, class B>
struct seeded_hash<std::pair<A, B>> {
    [[nodiscard]] std::uint64_t operator()(const std::pair<A, B>& key, std::uint64_t seed = 0) const {
        return seeded_hash<std::remove_const_t<B>>()(key.second,
                                                     seeded_hash<std::remove_const_t<A>>()(key.first, seed));
    }
};

} // namespace remanence
