// What the fingerprint of a type says of the hash tables in it: what would make another program read them wrongly. Depends
// on the standard library only.
#pragma once

#include <remanence/containers/detail/hash_table.hpp>
#include <remanence/types/detail/fingerprint.hpp>

#include <string>
#include <type_traits>

namespace remanence::detail {

template <class Value, class... Arguments>
struct hash_fingerprint {
    static void write(structure_writer& out) {
        write_list<Arguments...>(out, " <", ">");
        out.text(" hash table " + std::to_string(k_hash_layout) +
                 (hash_block<Value>::slot::k_is_inline ? " slots" : " links"));
    }
};

/// `Mapped`: where the mapped value lies in an element; 0: it is a set.
template <class Value, std::uint64_t Mapped>
struct hash_shape : shape_with<shape_kind::hash_table, hash_block<Value>::slot::k_slot_bytes,
                               hash_block<Value>::slot::k_is_inline, hash_block<Value>::k_slot_alignment, Mapped> {};

} // namespace remanence::detail
