// class_traits of the classes of the standard library. All code that uses class_traits includes this one header, so
// that no traits are used before they are declared. Depends on the standard library only.
//
// The shapes are those of libstdc++: first an allocator, if it has state, then the container's own words.
// tests/unit/types/schema_test.cpp reads such containers by these numbers. With another standard library these classes
// have no shape.
#pragma once

#include <remanence/types/class_traits.hpp>
#include <remanence/types/detail/shape.hpp>

#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace remanence {

template <class T>
class allocator;

namespace detail {

/// The element type of arrays over all their dimensions; other types are their own element.
template <class T>
struct element_of_arrays : std::type_identity<T> {};
template <class T, std::size_t N>
struct element_of_arrays<T[N]> : element_of_arrays<T> {};
template <class T, std::size_t N>
struct element_of_arrays<std::array<T, N>> : element_of_arrays<T> {};

/// How an object holds its parts in its own bytes, which decides how they get an allocator (construct.hpp).
enum class composition : std::uint8_t {
    plain, ///< it holds none, or none that uses the allocator
    aware, ///< accepts the allocator in its constructors (std::uses_allocator)
    pair,
    tuple,
    optional,
    variant,
    array,     ///< std::array
    aggregate, ///< any other aggregate class
};

/// Traits of a class that consists of its parts and holds no other address.
template <class... Parts>
struct made_of {
    using parts = type_list<Parts...>;
    static constexpr bool k_is_position_independent = true;
};
/// Traits of a class that has its parts in its own bytes.
template <composition Kind, class... Parts>
struct composed_of : made_of<Parts...> {
    static constexpr composition k_composition = Kind;
};

/// The composition of T according to its class_traits; `plain` for classes without traits. T is not cv-qualified.
template <class T>
inline constexpr composition known_composition_v = composition::plain;
template <class T>
    requires requires { class_traits<T>::k_composition; }
inline constexpr composition known_composition_v<T> = class_traits<T>::k_composition;
/// True if `class_traits<T>::parts` lie in a T's own bytes.
template <class T>
inline constexpr bool holds_parts_v = known_composition_v<T> != composition::plain;

/// True for std::pair, and for similar classes of other libraries.
template <class T>
inline constexpr bool is_pair_v = known_composition_v<std::remove_cvref_t<T>> == composition::pair;

/// The reason why a type cannot be stored; persistable.hpp has the messages.
enum class unfit : std::uint8_t {
    nothing, // it can be stored
    reference,
    code,
    lock,
    thread,
    result_of_thread,
    stream,
    type_erased,
    shared_ownership,
    deleted_by_malloc,
    view,
    static_object,
    memory_resource,
    other_memory,
    empty_is_static,
    mixes_heaps,
    linked_by_iterators,
    hidden,
};
/// Traits of a class that is never stored.
template <unfit Why>
struct refused {
    static constexpr unfit k_why = Why;
};

/// fingerprint.hpp defines them.
template <class A, class B>
struct members_of_pair;
template <class Indices, class... Ts>
struct members_of_tuple;

struct no_shape : shape_with<shape_kind::none> {};
#if defined(__GLIBCXX__)
template <shape_kind Kind, std::uint64_t... Numbers>
using standard_shape = shape_with<Kind, Numbers...>;
#else
template <shape_kind, std::uint64_t...>
using standard_shape = no_shape;
#endif

inline constexpr std::uint64_t k_word_bytes = 8;
inline constexpr std::uint64_t k_deque_block_bytes = 512;

/// Sets and maps: the comparator, which has a byte if it is empty; then the header, which is a node without an element;
/// then the number of elements.
template <class Value, class Compare, class Alloc, std::uint64_t Mapped>
using tree_shape =
    standard_shape<shape_kind::tree,
                   aligned_up(aligned_up(allocator_bytes_v<Alloc>, alignof(Compare)) + sizeof(Compare), k_word_bytes),
                   aligned_up(4 * k_word_bytes, alignof(Value)), Mapped>;

/// Unordered containers: the address of the buckets and their number, the first link of the chain of all elements, and
/// the number of elements.
template <class Value, class Hash, class Equal, class Alloc, std::uint64_t Mapped>
using hash_chain_shape =
    std::conditional_t<std::is_empty_v<Hash> && std::is_empty_v<Equal>,
                       standard_shape<shape_kind::hash_chain, allocator_bytes_v<Alloc> + 2 * k_word_bytes,
                                      aligned_up(k_word_bytes, alignof(Value)), Mapped>,
                       no_shape>;

} // namespace detail

// Shapes are structs of their own, so that elements need not be complete before a shape is used.

template <class A, class B>
struct class_traits<std::pair<A, B>> : detail::composed_of<detail::composition::pair, A, B> {
    struct shape : std::conditional_t<std::is_reference_v<A> || std::is_reference_v<B>, detail::no_shape,
                                      detail::shape_of_members<detail::members_of_pair<A, B>>> {};
};
template <class... Ts>
struct class_traits<std::tuple<Ts...>> : detail::composed_of<detail::composition::tuple, Ts...> {
    static constexpr std::size_t k_named_max = 100;
    struct shape : std::conditional_t<
                       (std::is_reference_v<Ts> || ...) || (sizeof...(Ts) > k_named_max), detail::no_shape,
                       detail::shape_of_members<detail::members_of_tuple<std::index_sequence_for<Ts...>, Ts...>>> {};
};
template <class T>
struct class_traits<std::optional<T>> : detail::composed_of<detail::composition::optional, T> {
    struct shape : detail::standard_shape<detail::shape_kind::optional, sizeof(T)> {};
};
template <class... Ts>
struct class_traits<std::variant<Ts...>> : detail::composed_of<detail::composition::variant, Ts...> {
    struct shape
        : std::conditional_t<
              (sizeof...(Ts) < std::numeric_limits<unsigned char>::max()), // if so, the index has one byte
              detail::standard_shape<detail::shape_kind::variant,
                                     detail::aligned_up(std::max({sizeof(Ts)...}), std::max({alignof(Ts)...})), 1>,
              detail::no_shape> {};
};
template <class T, std::size_t N>
struct class_traits<std::array<T, N>> : detail::composed_of<detail::composition::array, T> {
    struct shape : detail::shape_with<detail::shape_kind::array, N> {};
};
template <class T>
struct class_traits<std::atomic<T>> : detail::made_of<T> {
    struct shape : detail::shape_with<detail::shape_kind::same_as_part, 0> {};
};
template <class Rep, class Period>
struct class_traits<std::chrono::duration<Rep, Period>> : detail::made_of<Rep> {
    struct shape : detail::shape_with<detail::shape_kind::same_as_part, 0> {};
};
template <class Clock, class Duration>
struct class_traits<std::chrono::time_point<Clock, Duration>> : detail::made_of<Duration> {
    struct shape : detail::shape_with<detail::shape_kind::same_as_part, 1> {};
};

template <class T>
struct class_traits<allocator<T>> {
    using parts = type_list<>;
};
template <class T, class Deleter>
struct class_traits<std::unique_ptr<T, Deleter>> {
    using parts = type_list<typename std::unique_ptr<T, Deleter>::pointer, Deleter>;
    static constexpr bool k_is_self_contained = std::is_same_v<Deleter, std::default_delete<T>>;
};
template <>
struct class_traits<std::atomic_flag> {
    using parts = type_list<>;
};

// Containers; they are judged by their interface.

template <class Char, class Traits, class Alloc>
struct class_traits<std::basic_string<Char, Traits, Alloc>> {
    static constexpr bool k_is_self_contained = true;
    static void write(detail::structure_writer&) {} // its name says everything
    struct shape : std::conditional_t<std::is_same_v<Char, char> && std::is_same_v<Traits, std::char_traits<char>>,
                                      detail::standard_shape<detail::shape_kind::text, detail::allocator_bytes_v<Alloc>,
                                                             detail::allocator_bytes_v<Alloc> + detail::k_word_bytes>,
                                      detail::no_shape> {};
};
template <class T, class Alloc>
struct class_traits<std::vector<T, Alloc>> {
    static constexpr bool k_is_self_contained = true;
    struct shape
        : std::conditional_t<!std::is_same_v<T, bool>, // vector<bool> stores bits
                             detail::standard_shape<detail::shape_kind::contiguous, detail::allocator_bytes_v<Alloc>,
                                                    detail::allocator_bytes_v<Alloc> + detail::k_word_bytes>,
                             detail::standard_shape<detail::shape_kind::bits, detail::allocator_bytes_v<Alloc>,
                                                    detail::allocator_bytes_v<Alloc> + 2 * detail::k_word_bytes>> {};
};
/// After the address and the length of the array of blocks come two iterators of four words; the first word of each is
/// the address of an element.
template <class T, class Alloc>
struct class_traits<std::deque<T, Alloc>> {
    struct shape
        : detail::standard_shape<detail::shape_kind::deque, detail::allocator_bytes_v<Alloc> + 2 * detail::k_word_bytes,
                                 detail::allocator_bytes_v<Alloc> + 6 * detail::k_word_bytes,
                                 (sizeof(T) < detail::k_deque_block_bytes ? detail::k_deque_block_bytes / sizeof(T)
                                                                          : 1)> {};
};
template <class T, class Alloc>
struct class_traits<std::list<T, Alloc>> {
    struct shape : detail::standard_shape<detail::shape_kind::ring, detail::allocator_bytes_v<Alloc>,
                                          detail::aligned_up(2 * detail::k_word_bytes, alignof(T))> {};
};
template <class T, class Alloc>
struct class_traits<std::forward_list<T, Alloc>> {
    struct shape : detail::standard_shape<detail::shape_kind::chain, detail::allocator_bytes_v<Alloc>,
                                          detail::aligned_up(detail::k_word_bytes, alignof(T))> {};
};
template <class K, class V, class Compare, class Alloc>
struct class_traits<std::map<K, V, Compare, Alloc>> {
    struct shape : detail::tree_shape<std::pair<const K, V>, Compare, Alloc, detail::mapped_offset_v<K, V>> {};
};
template <class K, class V, class Compare, class Alloc>
struct class_traits<std::multimap<K, V, Compare, Alloc>> {
    struct shape : detail::tree_shape<std::pair<const K, V>, Compare, Alloc, detail::mapped_offset_v<K, V>> {};
};
template <class K, class Compare, class Alloc>
struct class_traits<std::set<K, Compare, Alloc>> {
    struct shape : detail::tree_shape<K, Compare, Alloc, 0> {};
};
template <class K, class Compare, class Alloc>
struct class_traits<std::multiset<K, Compare, Alloc>> {
    struct shape : detail::tree_shape<K, Compare, Alloc, 0> {};
};
template <class K, class V, class Hash, class Equal, class Alloc>
struct class_traits<std::unordered_map<K, V, Hash, Equal, Alloc>> {
    struct shape : detail::hash_chain_shape<std::pair<const K, V>, Hash, Equal, Alloc, detail::mapped_offset_v<K, V>> {
    };
};
template <class K, class V, class Hash, class Equal, class Alloc>
struct class_traits<std::unordered_multimap<K, V, Hash, Equal, Alloc>> {
    struct shape : detail::hash_chain_shape<std::pair<const K, V>, Hash, Equal, Alloc, detail::mapped_offset_v<K, V>> {
    };
};
template <class K, class Hash, class Equal, class Alloc>
struct class_traits<std::unordered_set<K, Hash, Equal, Alloc>> {
    struct shape : detail::hash_chain_shape<K, Hash, Equal, Alloc, 0> {};
};
template <class K, class Hash, class Equal, class Alloc>
struct class_traits<std::unordered_multiset<K, Hash, Equal, Alloc>> {
    struct shape : detail::hash_chain_shape<K, Hash, Equal, Alloc, 0> {};
};

// Classes that are never stored.

template <class T>
struct class_traits<std::default_delete<T>> : detail::refused<detail::unfit::deleted_by_malloc> {};
template <class T>
struct class_traits<std::shared_ptr<T>> : detail::refused<detail::unfit::shared_ownership> {};
template <class T>
struct class_traits<std::weak_ptr<T>> : detail::refused<detail::unfit::shared_ownership> {};
template <class Signature>
struct class_traits<std::function<Signature>> : detail::refused<detail::unfit::type_erased> {};
template <>
struct class_traits<std::any> : detail::refused<detail::unfit::type_erased> {};
template <class Promise>
struct class_traits<std::coroutine_handle<Promise>> : detail::refused<detail::unfit::type_erased> {};
template <class T>
struct class_traits<std::reference_wrapper<T>> : detail::refused<detail::unfit::reference> {};
template <class Char, class Traits>
struct class_traits<std::basic_string_view<Char, Traits>> : detail::refused<detail::unfit::view> {};
template <class T, std::size_t Extent>
struct class_traits<std::span<T, Extent>> : detail::refused<detail::unfit::view> {};
template <class T>
struct class_traits<std::initializer_list<T>> : detail::refused<detail::unfit::view> {};
template <>
struct class_traits<std::type_index> : detail::refused<detail::unfit::static_object> {};
template <>
struct class_traits<std::source_location> : detail::refused<detail::unfit::static_object> {};
template <>
struct class_traits<std::error_code> : detail::refused<detail::unfit::static_object> {};
template <>
struct class_traits<std::error_condition> : detail::refused<detail::unfit::static_object> {};

} // namespace remanence
