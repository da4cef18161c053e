// serialize_trait: how values become bytes and bytes become values, for rem::fragile. Depends on the standard library
// only.
//
// Bytes that are read are input: they are checked, and bytes that do not parse are errc::corrupt, never undefined
// behaviour. This covers too few or too many bytes, a wrong count, index or bool, a key that occurs twice, and nesting
// beyond 200 levels. A value that nests deeper cannot be stored (errc::invalid_argument). Equal values should give
// equal bytes.
//
// There are traits for numbers, enumerations, strings, the standard's containers, arrays, pair, tuple, optional,
// variant, and for aggregates of up to 32 members that can be default-initialised. There are none for container
// adaptors, nor for aggregates with unions or with bases that have members.
//
// Format. Numbers are written as in memory (little-endian; a long double has ten bytes). Counts are in groups of seven
// bits, the lowest first; the highest bit of a byte is set if more bytes follow. A string is its length and its
// characters. A container is its count and its elements; those of an unordered one are in the order of their bytes. An
// optional is a bool and the value; a variant is its index and the value. A value without parts is one zero byte. So
// each value that a trait of the library writes has at least one byte, and a count above the number of bytes left is
// known to be wrong.
#pragma once

#include <remanence/types/byte_streams.hpp>
#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/construct.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace remanence {

/// Says how a T is serialised. The library has traits for arithmetic types, enumerations, strings, the standard's
/// containers, arrays, pair, tuple, optional, variant, aggregates that can be default-initialised, and (in
/// <remanence/types/exemplars.hpp>) unique_ptr to a base class. Specialise it for other types, with three static
/// functions:
///
///     static std::size_t size(const T&);                 // bytes that serialize() writes; at least one
///     static void serialize(const T&, byte_writer&);     // the same bytes for the same value
///     static T deserialize(byte_reader&);                // throws when the bytes are wrong; the reader's functions do
///
/// A trait may also have in_place(std::span<char>), which returns a reference of its own that works on the stored
/// bytes: see rem::fragile.
template <class T>
struct serialize_trait {};

/// True if Trait has the three functions for T.
template <class Trait, class T>
concept serializes = requires(const T& value, byte_writer& out, byte_reader& in) {
    { Trait::size(value) } -> std::convertible_to<std::size_t>;
    Trait::serialize(value, out);
    { Trait::deserialize(in) } -> std::convertible_to<T>;
};

namespace detail {

template <class T>
using trait_of = serialize_trait<std::remove_cv_t<T>>;

// C arrays, which may be members of aggregates, are serialised element by element.

template <class T>
std::size_t size_of_value(const T& value) {
    if constexpr (std::is_array_v<T>) {
        std::size_t bytes = 0;
        for (const auto& each : value)
            bytes += size_of_value(each);
        return bytes;
    } else {
        static_assert(serializes<trait_of<T>, T>, "Remanence cannot serialise this type: specialise "
                                                  "remanence::serialize_trait for it.");
        return trait_of<T>::size(value);
    }
}
template <class T>
void write_value(const T& value, byte_writer& out) {
    if constexpr (std::is_array_v<T>) {
        for (const auto& each : value)
            write_value(each, out);
    } else {
        trait_of<T>::serialize(value, out);
    }
}
template <class T>
void read_value(T& value, byte_reader& in) {
    if constexpr (std::is_array_v<T>) {
        for (auto& each : value)
            read_value(each, in);
    } else {
        value = trait_of<T>::deserialize(in);
    }
}

/// Refuses an element of zero bytes: a reader could not check the number of such elements.
inline void refuse_without_bytes(std::size_t before, std::size_t after) {
    if (before == after)
        refuse_to_serialize("an element takes no byte; let the serialize_trait of its type write one at least");
}

/// Returns the bytes of a value, or of a part of a value that `around` writes.
template <class Trait, class T>
std::string bytes_of(const T& value, const byte_writer& around = {nullptr, 0}) {
    std::string bytes(Trait::size(value), '\0');
    byte_writer out(bytes.data(), bytes.size(), around);
    Trait::serialize(value, out);
    if (out.left() != 0)
        refuse_to_serialize("serialize() writes fewer bytes than size() says");
    return bytes;
}
template <class Trait>
auto value_of(std::string_view bytes) {
    byte_reader in(bytes);
    auto value = Trait::deserialize(in);
    if (in.left() != 0)
        refuse_stored_bytes("there are more of them than the value takes");
    return value;
}

template <class T>
concept number_or_name = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The size of a number without padding: a long double has ten bytes and six of padding.
template <class T>
inline constexpr std::size_t size_without_padding_v = std::is_same_v<T, long double> ? 10 : sizeof(T);

/// The type of a container's elements without const, so that they can be assigned to.
template <class T>
struct assignable_element : std::type_identity<T> {};
template <class Key, class Mapped>
struct assignable_element<std::pair<const Key, Mapped>> : std::type_identity<std::pair<Key, Mapped>> {};

template <class T>
concept any_container = std::is_class_v<T> && requires(T& container) {
    typename T::value_type;
    typename T::allocator_type;
    container.begin();
    container.end();
};
template <class T>
concept any_string = any_container<T> && requires { typename T::traits_type; };
template <class T>
concept unordered_container = any_container<T> && requires { typename T::hasher; };

template <class T>
consteval bool is_serialised_by_members() {
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> &&
                  std::is_same_v<typename element_of_arrays<T>::type, T>)
        return aggregate_shape_v<T>.obstacle == aggregate_obstacle::none && std::is_default_constructible_v<T>;
    else
        return false;
}

} // namespace detail

/// Numbers and enumerations: their bytes in memory.
template <detail::number_or_name T>
struct serialize_trait<T> {
    static std::size_t size(const T&) noexcept { return detail::size_without_padding_v<T>; }
    static void serialize(const T& value, byte_writer& out) { out.put(&value, size(value)); }
    static T deserialize(byte_reader& in) {
        if constexpr (std::is_same_v<T, bool>) {
            const char byte = in.take(1).front();
            if (byte != 0 && byte != 1)
                detail::refuse_stored_bytes("a bool is neither true nor false");
            return byte == 1;
        } else {
            T value{};
            in.take(&value, size(value));
            return value;
        }
    }
};

/// Strings: length and characters.
template <detail::any_string T>
struct serialize_trait<T> {
    using character = typename T::value_type;

    static std::size_t size(const T& value) {
        return byte_writer::size_of_count(value.size()) + value.size() * sizeof(character);
    }
    static void serialize(const T& value, byte_writer& out) {
        out.put_count(value.size());
        out.put(value.data(), value.size() * sizeof(character));
    }
    static T deserialize(byte_reader& in) {
        const std::size_t count = in.take_count_of_things();
        if (count > in.left() / sizeof(character))
            detail::refuse_stored_bytes("a string is longer than what follows its length");
        T value(count, character());
        in.take(value.data(), count * sizeof(character));
        return value;
    }
};

/// Containers: count and elements. Elements of unordered containers are written in the order of their bytes, so that
/// equal containers have equal bytes.
template <detail::any_container T>
    requires(!detail::any_string<T>)
struct serialize_trait<T> {
    using stored = typename T::value_type;
    using element = typename detail::assignable_element<stored>::type;

    static std::size_t size(const T& value) {
        std::size_t bytes = byte_writer::size_of_count(count_of(value));
        for (const stored& each : value)
            bytes += detail::size_of_value(each);
        return bytes;
    }
    static void serialize(const T& value, byte_writer& out) {
        const detail::nesting level = out.enter();
        out.put_count(count_of(value));
        if constexpr (detail::unordered_container<T>) {
            std::vector<std::string> all;
            for (const stored& each : value)
                all.push_back(detail::bytes_of<detail::trait_of<stored>>(each, out));
            std::sort(all.begin(), all.end());
            for (const std::string& each : all) {
                detail::refuse_without_bytes(0, each.size());
                out.put(each.data(), each.size());
            }
        } else {
            for (const stored& each : value) {
                const std::size_t before = out.left();
                detail::write_value(each, out);
                detail::refuse_without_bytes(before, out.left());
            }
        }
    }
    static T deserialize(byte_reader& in) {
        const detail::nesting level = in.enter();
        const std::size_t count = in.take_count_of_things();
        T value;
        if constexpr (requires { value.before_begin(); }) {
            auto last = value.before_begin();
            for (std::size_t i = 0; i < count; ++i)
                last = value.insert_after(last, detail::trait_of<element>::deserialize(in));
        } else if constexpr (requires(element&& each) { value.push_back(std::move(each)); }) {
            for (std::size_t i = 0; i < count; ++i)
                value.push_back(detail::trait_of<element>::deserialize(in));
        } else {
            for (std::size_t i = 0; i < count; ++i)
                value.insert(value.end(), detail::trait_of<element>::deserialize(in));
            if (value.size() != count)
                detail::refuse_stored_bytes("a key is there twice");
        }
        return value;
    }

private:
    static std::uint64_t count_of(const T& value) {
        return static_cast<std::uint64_t>(std::distance(value.begin(), value.end()));
    }
};

/// Arrays: their elements.
template <class T, std::size_t N>
struct serialize_trait<std::array<T, N>> {
    static std::size_t size(const std::array<T, N>& value) {
        std::size_t bytes = N == 0 ? 1 : 0;
        for (const T& each : value)
            bytes += detail::size_of_value(each);
        return bytes;
    }
    static void serialize(const std::array<T, N>& value, byte_writer& out) {
        if constexpr (N == 0)
            out.put("", 1);
        for (const T& each : value)
            detail::write_value(each, out);
    }
    static std::array<T, N> deserialize(byte_reader& in) {
        if constexpr (N == 0)
            (void)in.take(1);
        std::array<T, N> value{};
        for (T& each : value)
            detail::read_value(each, in);
        return value;
    }
};

/// Pairs: both parts.
template <class A, class B>
struct serialize_trait<std::pair<A, B>> {
    static std::size_t size(const std::pair<A, B>& value) {
        return detail::size_of_value(value.first) + detail::size_of_value(value.second);
    }
    static void serialize(const std::pair<A, B>& value, byte_writer& out) {
        detail::write_value(value.first, out);
        detail::write_value(value.second, out);
    }
    static std::pair<A, B> deserialize(byte_reader& in) {
        return {detail::trait_of<A>::deserialize(in), detail::trait_of<B>::deserialize(in)}; // braces: in this order
    }
};

/// Tuples: their parts.
template <class... Ts>
struct serialize_trait<std::tuple<Ts...>> {
    static std::size_t size(const std::tuple<Ts...>& value) {
        return std::apply(
            [](const auto&... all) { return (detail::size_of_value(all) + ... + (sizeof...(Ts) == 0 ? 1U : 0U)); },
            value);
    }
    static void serialize(const std::tuple<Ts...>& value, byte_writer& out) {
        if constexpr (sizeof...(Ts) == 0)
            out.put("", 1);
        std::apply([&](const auto&... all) { (detail::write_value(all, out), ...); }, value);
    }
    static std::tuple<Ts...> deserialize(byte_reader& in) {
        if constexpr (sizeof...(Ts) == 0)
            (void)in.take(1);
        return std::tuple<Ts...>{detail::trait_of<Ts>::deserialize(in)...}; // braces: in this order
    }
};

/// Optionals: a bool and the value.
template <class T>
struct serialize_trait<std::optional<T>> {
    static std::size_t size(const std::optional<T>& value) { return 1 + (value ? detail::size_of_value(*value) : 0); }
    static void serialize(const std::optional<T>& value, byte_writer& out) {
        detail::write_value(value.has_value(), out);
        if (value)
            detail::write_value(*value, out);
    }
    static std::optional<T> deserialize(byte_reader& in) {
        if (!detail::trait_of<bool>::deserialize(in))
            return std::nullopt;
        return detail::trait_of<T>::deserialize(in);
    }
};

/// Variants: the index and the value. A valueless one cannot be stored (errc::invalid_argument).
template <class... Ts>
struct serialize_trait<std::variant<Ts...>> {
    using variant = std::variant<Ts...>;

    static std::size_t size(const variant& value) {
        refuse_valueless(value);
        return byte_writer::size_of_count(value.index()) +
               std::visit([](const auto& held) { return detail::size_of_value(held); }, value);
    }
    static void serialize(const variant& value, byte_writer& out) {
        refuse_valueless(value);
        out.put_count(value.index());
        std::visit([&](const auto& held) { detail::write_value(held, out); }, value);
    }
    static variant deserialize(byte_reader& in) { return alternative<0>(in.take_count(), in); }

private:
    static void refuse_valueless(const variant& value) {
        if (value.valueless_by_exception())
            detail::refuse_to_serialize("a std::variant is valueless");
    }
    template <std::size_t Index>
    static variant alternative(std::uint64_t index, byte_reader& in) {
        if constexpr (Index == sizeof...(Ts)) {
            detail::refuse_stored_bytes("the index of a variant is too large");
        } else {
            if (index != Index)
                return alternative<Index + 1>(index, in);
            return variant(std::in_place_index<Index>,
                           detail::trait_of<std::variant_alternative_t<Index, variant>>::deserialize(in));
        }
    }
};

/// Aggregates: their members.
template <class T>
    requires(detail::is_serialised_by_members<T>())
struct serialize_trait<T> {
    static std::size_t size(const T& value) {
        return detail::visit_members(value, [](const auto&... all) {
            return (detail::size_of_value(all) + ... + (sizeof...(all) == 0 ? std::size_t{1} : std::size_t{0}));
        });
    }
    static void serialize(const T& value, byte_writer& out) {
        detail::visit_members(value, [&](const auto&... all) {
            if constexpr (sizeof...(all) == 0)
                out.put("", 1);
            (detail::write_value(all, out), ...);
        });
    }
    static T deserialize(byte_reader& in) { return read(detail::member_types<T>(), in); }

private:
    template <class M>
    struct member {
        explicit member(byte_reader& in) { detail::read_value(value, in); }
        std::remove_cv_t<M> value{};
    };
    /// Reads the members first and then makes the object from them, so that bit-fields and const members get their
    /// values, too.
    template <class... Members>
    static T read(type_list<Members...>, byte_reader& in) {
        if constexpr (sizeof...(Members) == 0)
            (void)in.take(1);
        std::tuple<member<Members>...> all{member<Members>(in)...}; // braces: in this order
        return std::apply(
            [](auto&... each) {
                return detail::make_from_members<T>(std::allocator<std::byte>(), std::move(each.value)...);
            },
            all);
    }
};

} // namespace remanence
