// The tree above the leaves of packed maps, whose keys separate them (P1 in packed_container.hpp). Depends on the standard library
// only.
#pragma once

#include <remanence/btree_map.hpp>
#include <remanence/detail/packed_leaf.hpp>
#include <remanence/string_pi.hpp>
#include <remanence/vector_pi.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace remanence::detail {

inline constexpr std::size_t k_packed_node_bytes = 2048; // of the tree above the leaves

/// The first eight bytes as a number, in the order of texts: enough for most comparisons.
[[nodiscard]] inline std::uint64_t packed_head_of(std::string_view text) noexcept {
    const auto number = [&]<class Number>(std::size_t at, Number read) -> std::uint64_t {
        std::memcpy(&read, text.data() + at, sizeof read);
        return sizeof read == 8 ? __builtin_bswap64(read) : __builtin_bswap32(static_cast<std::uint32_t>(read));
    };
    const std::size_t bytes = text.size();
    if (bytes >= 8)
        return number(0, std::uint64_t{});
    if (bytes >= 4) // what both have is in the same place
        return number(0, std::uint32_t{}) << 32 | number(bytes - 4, std::uint32_t{}) << 8 * (8 - bytes);
    std::uint64_t head = 0;
    for (std::size_t i = 0; i != bytes; ++i)
        head |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * (7 - i);
    return head;
}

/// A key of the tree above the leaves, and what it is searched by.
template <class Text>
struct packed_separator {
    std::uint64_t head = 0; ///< of the text
    Text text;
};
struct packed_key {
    explicit packed_key(std::string_view key) noexcept : head(packed_head_of(key)), text(key) {}
    std::uint64_t head;
    std::string_view text;
};
struct packed_order {
    using is_transparent = void;
    template <class A, class B>
    [[nodiscard]] bool operator()(const A& a, const B& b) const noexcept {
        return a.head != b.head ? a.head < b.head : std::string_view(a.text) < std::string_view(b.text);
    }
};

template <class Alloc>
struct packed_tree {
    template <class T>
    using rebound = typename std::allocator_traits<Alloc>::template rebind_alloc<T>;
    using separator = packed_separator<basic_string_pi<rebound<char>>>;
    using block = vector_pi<std::byte, rebound<std::byte>>;
    using type =
        btree_multimap<separator, block, packed_order, rebound<std::pair<const separator, block>>, k_packed_node_bytes>;

    [[nodiscard]] static packed_leaf leaf(const block& of) noexcept { return {of.data(), of.size()}; }
};

} // namespace remanence::detail
