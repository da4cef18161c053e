// A program's own functions by which its containers order or hash their keys. load() builds such containers with these
// functions. Depends on the standard library only.
#pragma once

#include <remanence/types/detail/class_walk.hpp>
#include <remanence/types/detail/structure.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace remanence::detail {

/// The functions of one type of container. Their arguments are keys, as they lie in the container.
struct key_functions {
    const std::type_info* container;
    bool (*less)(const void* a, const void* b) = nullptr; // null unless the container is ordered
    // Only hash containers have the following.
    std::uint64_t (*hash)(const void* key, std::uint64_t seed) = nullptr;
    bool takes_seed = false; // the hash function accepts and uses the seed
    bool (*equal)(const void* a, const void* b) = nullptr;
    bool keeps_hash = false; // the container stores hashes in its nodes
    void (*destroy)(void* key) = nullptr;
};

/// A function object without state, which load() can construct.
template <class F>
concept stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;
template <class T>
concept ordered_by_keys = requires {
    typename T::key_type;
    requires stateless<typename T::key_compare>;
};
template <class T>
concept hashed_by_keys = requires {
    typename T::key_type;
    requires stateless<typename T::hasher> && stateless<typename T::key_equal>;
};

/// True if a container of the standard library stores a hash in each node.
template <class Key, class Hash>
consteval bool keeps_hash_in_nodes() {
#if defined(__GLIBCXX__)
    return std::__cache_default<Key, Hash>::value;
#else
    return false; // such a container has no shape
#endif
}

/// Collects the key_functions. class_walk calls take_class() for each class.
class key_functions_taker {
public:
    template <class T>
    void take_class() {
        if constexpr (ordered_by_keys<T>) {
            using key = typename T::key_type;
            if constexpr (!is_plain_order_v<key, typename T::key_compare>)
                all_.push_back({.container = &typeid(T), .less = [](const void* a, const void* b) -> bool {
                                    return typename T::key_compare()(*static_cast<const key*>(a),
                                                                     *static_cast<const key*>(b));
                                }});
        } else if constexpr (hashed_by_keys<T>) {
            add_hashed<T>();
        }
    }
    [[nodiscard]] std::vector<key_functions> take_all() && { return std::move(all_); }

private:
    template <class T>
    void add_hashed() {
        using key = typename T::key_type;
        using hash = typename T::hasher;
        constexpr bool k_takes_seed =
            shape_of<T>().kind == shape_kind::hash_table && std::invocable<const hash&, const key&, std::uint64_t>;
        key_functions made{.container = &typeid(T)};
        made.takes_seed = k_takes_seed;
        made.hash = [](const void* of, [[maybe_unused]] std::uint64_t seed) -> std::uint64_t {
            const key& which = *static_cast<const key*>(of);
            if constexpr (k_takes_seed)
                return hash()(which, seed);
            else
                return hash()(which);
        };
        made.equal = [](const void* a, const void* b) -> bool {
            return typename T::key_equal()(*static_cast<const key*>(a), *static_cast<const key*>(b));
        };
        made.keeps_hash = keeps_hash_in_nodes<key, hash>();
        made.destroy = [](void* of) { std::destroy_at(static_cast<key*>(of)); };
        all_.push_back(made);
    }

    std::vector<key_functions> all_;
};

/// Returns the functions of all containers in a T.
template <class T>
std::vector<key_functions> key_functions_of() {
    key_functions_taker taker;
    class_walk<key_functions_taker>(taker).template add<T>();
    return std::move(taker).take_all();
}

/// A type of the program from which load() makes roots.
struct type_to_load {
    const type_fingerprint* type;
    std::vector<key_functions> functions;
};
template <class T>
type_to_load type_to_load_of() {
    return {&fingerprint_of<T>(), key_functions_of<T>()};
}

} // namespace remanence::detail
