// Shapes: how a type stores its contents, so that a program without the type can read its objects. A reader of heaps
// needs these numbers besides the rows of a fingerprint (fingerprint.hpp). It must know only these few shapes, and no
// libraries. Depends on the standard library only.
//
// A shape is not part of a fingerprint: knowing more about a type does not make it another type.
#pragma once

#include <remanence/types/detail/member_names.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence::detail {

class structure_writer; // fingerprint.hpp
/// Writes the structure of one type. A plain function, since tables of these compile faster than templates that call
/// each other with lists of types.
using write_type = void (*)(structure_writer&);
template <class T>
void write_structure(structure_writer& out);

/// The members of a class.
struct member_table {
    const write_type* types; // one for each member
    const char* names;       // one behind the other
    const std::uint32_t* ends;
    /// Writes the addresses of the members of an object at `place` to `into`; null for bit-fields. Reads no object.
    void (*locate)(std::uintptr_t place, const volatile void** into);
    std::size_t count;
    bool is_own = false; // the class declares them (REM_REFLECT)
    /// reflect_access::members::fill_bits(); null if bit-fields are not known.
    void (*fill_bits)(std::byte* image, std::size_t bit_field) = nullptr;
};

/// The kinds, as in the schema (docs/format.md, "Type table"). A "part" is an argument of the template, given by its
/// position. Most kinds have numbers; the comment of a kind lists them in their order. Offsets count from the beginning
/// of the object, unless the comment says otherwise.
enum class shape_kind : char {
    none = '-',
    signed_number = 'i',
    unsigned_number = 'u',
    floating = 'f',
    boolean = 'b',
    character = 'c',
    // Numbers: the values of the enumerators. Their names are the labels.
    enumeration = 'e',
    // Fields that a class declares (REM_REFLECT), or those of a pair or tuple. Numbers, for each bit-field: its number,
    // its first bit, how many bits it has.
    members = 'r',
    // Stored like one of its parts. Number: the position of that part.
    same_as_part = '=',
    // Number: how many elements it has.
    array = 'a',
    // Number: offset of the flag. The value lies at offset 0.
    optional = 'o',
    // Numbers: offset of the index, size of the index. The value lies at offset 0.
    variant = 'w',
    // Numbers: offset of the address of the characters, offset of their count.
    text = 't',
    // A string_pi. Number: offset of its 24 bytes.
    text_by_link = 'T',
    // Elements side by side. Numbers: offset of the address of the first element, offset of the address behind the last
    // one.
    contiguous = 'v',
    // A vector_pi. Numbers: offset of the link to the first element, offset of the count of elements.
    linked_block = 'V',
    // Numbers: offset of the first iterator, offset of the last iterator, how many elements a block has.
    deque = 'd',
    // A std::list. Numbers: offset of the sentinel, offset of an element in its node.
    ring = 'l',
    // A std::forward_list. Numbers: offset of the first link, offset of an element in its node.
    chain = 's',
    // A std::map or std::set. Numbers: offset of the header, offset of an element in its node, offset of the mapped
    // value in an element (0: a set).
    tree = 'm',
    // An unordered container of the standard library. Numbers: offset of the first link, offset of an element in its
    // node, offset of the mapped value in an element (0: a set).
    hash_chain = 'h',
    // Our ordered containers. Numbers: how many slots a node has, whether slots hold the elements themselves, offset of
    // the slots in a node, size of a slot, offset of the children in a node, offset of the mapped value in an element.
    btree = 'B',
    // Our hash containers. Numbers: size of a slot, whether slots hold the elements themselves, alignment of a slot,
    // offset of the mapped value in an element.
    hash_table = 'H',
    // A fragile. Number: offset of a text_by_link with the serialised bytes, which only the program can read.
    serialised = 'g',
    // A std::vector<bool>. Numbers: offset of its begin, offset of its end; each is the address of a word, followed by
    // the number of a bit in this word.
    bits = 'x',
    // A packed map. Its part is the tree above the leaves; its fields are the two texts of a record. Number: offset of
    // the count of records.
    packed = 'p',
    // A text in a record of a packed map. Number: 0 for the key, 1 for the value.
    packed_text = 'q',
    // A container of another library, whose elements can be read but which only that library can build. Numbers: a
    // foreign_way, then the numbers of that way.
    foreign = 'F',
};

/// How elements of `foreign` are found. The comment of a way lists its numbers in their order. A link is the address of
/// a place in a node; "element" is the distance from that place to the element. "mapped" is the offset of the mapped
/// value in an element; it is 0 if the container is not a map.
enum class foreign_way : std::uint64_t {
    run,      // offset of the address of the first element, offset of the count; mapped
    blocks,   // offset of the first iterator, offset of the last, how many elements a block has; mapped
    pointers, // offset of the address of an array of links, offset of its length, how many are unused; element; mapped
    ring,     // header; offset of the next link; element; mapped
    tree,     // header, whose link leads to the root; offset of the left link, offset of the right; element; mapped
    buckets,  // offset of the address of an array of first links of chains, offset of its length; element; mapped
    text,     // a string of Boost: offset of its 24 bytes
    // A header is two numbers, `first` and `second`. If `first` is 0, the header lies in the object, at `second`.
    // Otherwise the address of a block lies in the object, at `first` - 1, and the header lies in that block, at
    // `second`.
};

struct type_shape {
    shape_kind kind = shape_kind::none;
    const std::uint64_t* numbers = nullptr;
    std::size_t count = 0;
    // For an enumeration: as many labels as there are numbers, one behind the other.
    const char* labels = nullptr;
    const std::uint32_t* label_ends = nullptr;
    // For `members`.
    const member_table* members = nullptr;
};

template <shape_kind Kind, std::uint64_t... Numbers>
struct shape_with {
    static constexpr std::uint64_t k_numbers[] = {Numbers..., 0}; // an array may not be empty
    static constexpr type_shape k_shape{.kind = Kind, .numbers = k_numbers, .count = sizeof...(Numbers)};
};

/// The shape of a class whose members are not found by taking it apart. `Members` has k_names (packed_names), k_types
/// (write_type[]), k_count, k_is_own and locate().
template <class Members>
struct shape_of_members {
    static constexpr auto fill_bits() -> void (*)(std::byte*, std::size_t) {
        if constexpr (requires { &Members::fill_bits; })
            return &Members::fill_bits;
        else
            return nullptr;
    }
    static constexpr member_table k_table{Members::k_types.data(),
                                          Members::k_names.text,
                                          Members::k_names.ends,
                                          &Members::locate,
                                          Members::k_count,
                                          Members::k_is_own,
                                          fill_bits()};
    static constexpr type_shape k_shape{.kind = shape_kind::members, .members = &k_table};
};

[[nodiscard]] constexpr std::uint64_t aligned_up(std::uint64_t offset, std::uint64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

/// The offset of V in a std::pair<const K, V>.
template <class K, class V>
inline constexpr std::uint64_t mapped_offset_v = aligned_up(sizeof(K), alignof(V));

/// How many bytes an allocator occupies in front of a container's own words.
template <class Alloc>
inline constexpr std::uint64_t allocator_bytes_v = std::is_empty_v<Alloc> ? 0 : aligned_up(sizeof(Alloc), 8);

/// T is arithmetic.
template <class T>
struct shape_of_number : shape_with<std::is_floating_point_v<T> ? shape_kind::floating
                                    : std::is_same_v<T, bool>   ? shape_kind::boolean
                                    : std::is_same_v<T, char>   ? shape_kind::character
                                    : std::is_signed_v<T>       ? shape_kind::signed_number
                                                                : shape_kind::unsigned_number> {};

// Enumerators are found by trial: the compiler spells a value that has a name by that name, and any other value as a
// cast.

#if defined(__clang__)
#pragma clang diagnostic push
#if __clang_major__ >= 16 && __clang_major__ < 20
#pragma clang diagnostic ignored "-Wenum-constexpr-conversion"
#endif
#endif

/// One instantiation spells all values.
template <auto... Values>
consteval const char* spelling_of_values() {
    return __PRETTY_FUNCTION__;
}

/// The values that are tried. Enumerators with other values have no label.
inline constexpr int k_enumerator_min = -16;
inline constexpr int k_enumerator_max = 127;

template <class E>
inline constexpr int first_tried_v = std::is_signed_v<std::underlying_type_t<E>> ? k_enumerator_min : 0;

/// Not a cast: clang refuses a cast to an enumeration without a fixed type.
template <class E, int Value>
inline constexpr E enumerator_v = __builtin_bit_cast(E, static_cast<std::underlying_type_t<E>>(Value));

template <class E, int... Offsets>
consteval std::string_view spelling_of_enumerators(std::integer_sequence<int, Offsets...> /*all*/) {
    return spelling_of_values<enumerator_v<E, first_tried_v<E> + Offsets>...>();
}

template <class E>
struct enumerators {
    static constexpr int k_tried = k_enumerator_max + 1 - first_tried_v<E>;

    /// Calls `visit(value, label)` for each value that has a label.
    template <class Visit>
    static constexpr void for_each(Visit visit) {
        std::string_view rest = spelling_of_enumerators<E>(std::make_integer_sequence<int, k_tried>());
        const std::size_t equals = rest.rfind("alues = ");
        rest.remove_prefix(equals == std::string_view::npos ? rest.size() : equals + sizeof("alues = "));
        for (int value = first_tried_v<E>; !rest.empty() && value <= k_enumerator_max; ++value) {
            std::size_t end = 0;
            for (int depth = 0; end != rest.size(); ++end) {
                const char c = rest[end];
                if (c == '(')
                    ++depth;
                else if (c == ')')
                    --depth;
                else if (depth == 0 && (c == ',' || c == '}' || c == '>'))
                    break;
            }
            const std::string_view item = rest.substr(0, end);
            rest.remove_prefix(end == rest.size() ? end : end + 1);
            if (rest.starts_with(' '))
                rest.remove_prefix(1);
            const bool is_named = !item.empty() && item[0] != '(' && item[0] != '-' && (item[0] < '0' || item[0] > '9');
            if (is_named)
                visit(value, last_identifier_at_run_time(item));
        }
    }
    static consteval std::size_t count() {
        std::size_t labels = 0;
        for_each([&](int, std::string_view) { ++labels; });
        return labels;
    }
    static consteval std::size_t bytes() {
        std::size_t sum = 0;
        for_each([&](int, std::string_view label) { sum += label.size(); });
        return sum;
    }

private:
    static constexpr std::string_view last_identifier_at_run_time(std::string_view item) {
        const std::size_t colon = item.rfind(':');
        return colon == std::string_view::npos ? item : item.substr(colon + 1);
    }
};

template <class E>
struct shape_of_enumeration {
    static constexpr std::size_t k_count = enumerators<E>::count();
    struct table {
        packed_names<k_count + 1, enumerators<E>::bytes()> labels;
        std::uint64_t values[k_count + 1] = {};
    };
    static consteval table make() {
        table made;
        std::size_t bytes = 0;
        std::size_t index = 0;
        enumerators<E>::for_each([&](int value, std::string_view label) {
            for (const char c : label)
                made.labels.text[bytes++] = c;
            made.labels.ends[index] = static_cast<std::uint32_t>(bytes);
            made.values[index++] = static_cast<std::uint64_t>(value); // modulo 2^64
        });
        return made;
    }
    static constexpr table k_table = make();
    static constexpr type_shape k_shape{.kind = shape_kind::enumeration,
                                        .numbers = k_table.values,
                                        .count = k_count,
                                        .labels = k_table.labels.text,
                                        .label_ends = k_table.labels.ends};
};

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

} // namespace remanence::detail
