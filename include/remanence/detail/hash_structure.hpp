// What heap::verify() checks of a hash table: its block, control bytes and counts, and where keys can be hashed without
// harm, that each element is found. Depends on the standard library only.
#pragma once

#include <remanence/detail/hash_table.hpp>
#include <remanence/detail/structure.hpp>
#include <remanence/seeded_hash.hpp>

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class Container>
struct hash_structure {
    static constexpr bool k_exists = true;

    static structure_result check(const Container& container, block_survey& survey) {
        return check(container.table_, survey);
    }

private:
    static structure_result fault(const void* where, const char* what) { return structure_fault{where, what}; }

    template <class Table>
    static structure_result check(const Table& table, block_survey& survey) {
        using block = typename Table::block;
        if (table.slots_ == 0) {
            if (table.size_ != 0 || table.room_ != 0 || table.block_.get() != nullptr)
                return fault(&table, "a hash table without slots that is said not to be empty");
            return {};
        }
        if (!std::has_single_bit(table.slots_) || table.slots_ < k_hash_slots_least ||
            table.slots_ > block::k_count_max)
            return fault(&table, "a hash table with an impossible number of slots");
        const std::byte* const first = table.block_.get();
        if (!survey.is_block(first, block::units(table.slots()) * sizeof(typename block::unit)))
            return fault(&table, "a hash table whose link leads to no block of its size");
        const signed char* const controls = table.at(0).control;
        for (std::size_t i = 0; i != k_hash_group; ++i) {
            if (controls[table.slots() + i] != k_slot_end)
                return fault(controls, "a hash table whose control bytes do not end");
        }
        std::size_t elements = 0;
        std::size_t erased = 0;
        for (std::size_t i = 0; i != table.slots(); ++i) {
            const signed char control = controls[i];
            if (control == k_slot_erased) {
                ++erased;
            } else if (control >= 0) {
                ++elements;
                if (structure_result found = check_element(table, table.at(i), survey))
                    return found;
            } else if (control != k_slot_empty) {
                return fault(controls + i, "a hash table's control byte without a meaning");
            }
        }
        if (elements != table.size_ || elements + erased + table.room_ != Table::elements_max(table.slots()))
            return fault(&table, "a hash table that has another number of elements, or of free slots, than it says");
        return {};
    }

    template <class Table>
    static structure_result check_element(const Table& table, const hash_place& place, block_survey& survey) {
        using slots = typename Table::block::slots;
        const auto* const element = slots::at(place.slot);
        if constexpr (!slots::k_is_inline) {
            if (!survey.is_block(element, sizeof *element))
                return fault(place.slot, "a link of a hash table that leads to no element");
        }
        if (structure_result found = check_structure(*element, survey))
            return found;
        using key_type = typename Container::key_type;
        if constexpr (is_plain_key_v<key_type> && std::is_same_v<typename Container::hasher, seeded_hash<key_type>>) {
            if (*place.control != Table::control_of(table.hash_of(Table::key_of(*element))))
                return fault(place.control, "a hash table's control byte that is not its element's");
        }
        return {};
    }
};

} // namespace remanence::detail
