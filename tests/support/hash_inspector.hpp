// Looks into a hash container and says what is wrong with it: the rules H1 to H3 of
// include/remanence/detail/hash_table.hpp.
#pragma once

#include <remanence/hash_map.hpp>
#include <remanence/hash_set.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace remanence::detail {

struct hash_inspector {
    template <class Container>
    [[nodiscard]] static std::uint64_t seed_of(const Container& container) {
        return container.table_.seed_;
    }
    template <class Container>
    static std::size_t erased_in(const Container& container) {
        std::size_t count = 0;
        const signed char* const control = container.table_.at(0).control;
        for (std::size_t i = 0; control != nullptr && i != container.table_.slots_; ++i)
            count += control[i] == k_slot_erased ? 1U : 0U;
        return count;
    }

    /// Empty when all is well; else it names the seed.
    template <class Container>
    static std::string fault(const Container& container) {
        const std::string found = fault_of(container, container.table_);
        return found.empty() ? found : found + ", seed " + std::to_string(container.table_.seed_);
    }

private:
    template <class Container, class Table>
    static std::string fault_of(const Container& container, const Table& table) {
        using block = typename Table::block;
        if (table.slots_ == 0) {
            const bool is_empty = table.size_ == 0 && table.room_ == 0 && table.block_.get() == nullptr;
            return is_empty && container.begin() == container.end() ? "" : "there are no slots, and not nothing";
        }
        if (!std::has_single_bit(table.slots_) || table.slots_ < k_hash_slots_least)
            return std::to_string(table.slots_) + " slots";
        const signed char* const controls = table.at(0).control;
        if (controls == nullptr || reinterpret_cast<std::uintptr_t>(controls) % block::k_alignment != 0)
            return "there is no block, or it is not aligned";
        for (std::size_t i = 0; i != k_hash_group; ++i) {
            if (controls[table.slots() + i] != k_slot_end)
                return "the end is not there";
        }
        std::size_t elements = 0;
        std::size_t erased = 0;
        for (std::size_t i = 0; i != table.slots(); ++i) {
            const signed char control = controls[i];
            if (control == k_slot_erased) {
                ++erased;
            } else if (control >= 0) {
                ++elements;
                if (std::string found = fault_at(table, i); !found.empty())
                    return found;
            } else if (control != k_slot_empty) {
                return "a control byte is " + std::to_string(control);
            }
        }
        if (elements != table.size_)
            return std::to_string(elements) + " elements, said to be " + std::to_string(table.size_);
        if (elements + erased + table.room_ != Table::elements_max(table.slots()))
            return "elements, erased slots and room are not seven eighths";
        for (auto each = container.begin(); each != container.end(); ++each) {
            if (elements-- == 0)
                return "an iteration meets more elements";
        }
        return elements == 0 ? "" : "an iteration meets fewer elements";
    }

    template <class Table>
    static std::string fault_at(const Table& table, std::size_t index) {
        const auto place = table.at(index);
        const auto& key = Table::key_of(Table::block::value(place));
        const std::uint64_t hash = table.hash_of(key);
        if (*place.control != Table::control_of(hash))
            return "a control byte is not that of its element's hash";
        for (typename Table::probe each(table, hash);; each.next()) {
            if (each.first() == index / k_hash_group * k_hash_group)
                break;
            if (hash_group::equal(table.at(each.first()).control, k_slot_empty) != 0)
                return "a look-up for an element ends before it";
            if (each.is_last())
                return "an element is in none of its groups";
        }
        return table.find(key) == place ? "" : "an element is not found, or there twice";
    }
};

} // namespace remanence::detail
