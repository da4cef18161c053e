// class_traits of containers that are hash tables. They describe the slots, so that a program whose slots are laid out
// otherwise refuses such a container. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/hash_structure.hpp>
#include <remanence/containers/detail/hash_table.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>

#include <cstdint>
#include <string>

namespace remanence::detail {

/// `Mapped` is the offset of the mapped value in an element; 0 stands for a set.
template <class Value, std::uint64_t Mapped>
using hash_shape = shape_with<shape_kind::hash_table, hash_block<Value>::slot::k_slot_bytes,
                              hash_block<Value>::slot::k_is_inline, hash_block<Value>::k_slot_alignment, Mapped>;

template <class Container, class Allocator, class Value, class... Parts>
struct hash_class_traits : hash_structure<Container> {
    using parts = type_list<Parts...>;
    static constexpr bool k_is_position_independent = is_kept_by_distance_v<Allocator>;
    static constexpr bool k_is_self_contained = true;
    static std::string layout() {
        return " hash table " + std::to_string(k_hash_layout) +
               (hash_block<Value>::slot::k_is_inline ? " slots" : " links");
    }
};

} // namespace remanence::detail
