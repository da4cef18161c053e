// The checks of a hash table by heap::verify(): its block, control bytes and counts; and that each element can be
// found, if hashing a key reads only the key and what it owns. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/hash_table.hpp>
#include <remanence/containers/seeded_hash.hpp>
#include <remanence/types/detail/structure.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class Container>
struct hash_structure {
    static structure_result check(const Container& container, block_survey& survey) {
        return check(container.table_, survey);
    }

private:
    static structure_result fault(const void* where, const char* what) { return structure_fault{where, what}; }

    template <class Table>
    static structure_result check(const Table& table, block_survey& survey) {
        using block = typename Table::block;
        if (table.buckets_ == 0) {
            if (table.size_ != 0 || table.room_ != 0 || table.block_.get() != nullptr)
                return fault(&table, "a hash table without buckets that is said not to be empty");
            return {};
        }
        if (!std::has_single_bit(table.buckets_) || table.buckets_ < k_hash_buckets_least ||
            table.buckets_ > block::k_buckets_max)
            return fault(&table, "a hash table with an impossible number of buckets");
        if (!survey.is_block(table.block_.get(), block::units(table.buckets()) * sizeof(typename block::unit)))
            return fault(&table, "a hash table whose link leads to no block of its size");
        const unsigned char* const bytes = table.at(0).control;
        const std::size_t end = table.buckets() - (table.buckets() < k_hash_group ? 1 : 2); // H1
        std::size_t elements = 0;
        unsigned overflows = 0;
        for (std::size_t i = 0; i != std::max(table.buckets(), k_hash_group); ++i) {
            if (i % k_hash_group == k_hash_group_slots) {
                overflows |= bytes[i];
            } else if (bytes[i] == 0 || (bytes[i] == k_slot_end) != (i >= end)) {
                return fault(bytes + i, "a hash table with a control byte that has no meaning there");
            } else if (bytes[i] > k_slot_end) {
                ++elements;
                if (structure_result found =
                        check_element(table, block::behind(table.at(i / k_hash_group), i % k_hash_group), survey))
                    return found;
            }
        }
        if (table.buckets() <= k_hash_group && overflows != 0)
            return fault(bytes, "a hash table with elements in a group behind the only one");
        if (elements != table.size_ || elements > Table::elements_max(table.buckets()) ||
            table.room_ > Table::elements_max(table.buckets()) - elements ||
            (overflows == 0 && elements + table.room_ != Table::elements_max(table.buckets())))
            return fault(&table, "a hash table whose count of elements or of free slots is wrong");
        return {};
    }

    template <class Table>
    static structure_result check_element(const Table& table, const hash_place& place, block_survey& survey) {
        using slot = typename Table::block::slot;
        const auto* const element = slot::at(place.slot);
        if constexpr (!slot::k_is_inline) {
            if (!survey.is_block(element, sizeof *element))
                return fault(place.slot, "a link of a hash table that leads to no element");
        }
        if (structure_result found = check_structure(*element, survey))
            return found;
        using key_type = typename Container::key_type;
        if constexpr (is_plain_key_v<key_type> && std::is_same_v<typename Container::hasher, seeded_hash<key_type>>) {
            const std::uint64_t hash = table.hash_of(Table::key_of(*element));
            if (*place.control != control_of(hash))
                return fault(place.control, "a hash table's control byte that is not its element's");
            for (typename Table::probe each(table, hash);
                 table.at(each.group()).control != Table::block::group_of(place); each.next()) {
                if (each.is_last() || !hash_overflow::has(table.at(each.group()).control, hash))
                    return fault(place.control, "an element of a hash table that a look-up would not find");
            }
        }
        return {};
    }
};

} // namespace remanence::detail
