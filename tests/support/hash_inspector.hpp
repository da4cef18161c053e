// Looks into a hash container and says what is wrong with it: the rules H1 to H3 of
// include/remanence/containers/detail/hash_table.hpp.
#pragma once

#include "support/trusting_survey.hpp"

#include <remanence/containers/hash_map.hpp>
#include <remanence/containers/hash_set.hpp>

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
    /// How much room erasures have cost (H3).
    template <class Container>
    static std::size_t lost_in(const Container& container) {
        const auto& table = container.table_;
        return table.elements_max(table.buckets()) - table.size() - static_cast<std::size_t>(table.room_);
    }

    template <class Container>
    static const unsigned char* group_of(const Container& container, std::size_t index) {
        return container.table_.at(index).control;
    }
    /// The first byte that says that its group had no room for an element; null: there is none.
    template <class Container>
    static unsigned char* overflow_of(const Container& container) {
        for (std::size_t i = 0; i != container.table_.buckets() / k_hash_group; ++i) {
            unsigned char* const byte = container.table_.at(i).control + k_hash_group_slots;
            if (*byte != 0)
                return byte;
        }
        return nullptr;
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
        trusting_survey survey;
        if (const structure_result found = hash_structure<Container>::check(container, survey))
            return found->what;
        if (reinterpret_cast<std::uintptr_t>(table.block_.get()) % Table::block::k_alignment != 0)
            return "the block is not aligned";
        for (std::size_t i = 0; i != table.buckets(); ++i) {
            const hash_place place = Table::block::behind(table.at(i / k_hash_group), i % k_hash_group);
            if (i % k_hash_group == k_hash_group_slots || *place.control <= k_slot_end)
                continue;
            if (std::string found = fault_at(table, place, i / k_hash_group); !found.empty())
                return found;
        }
        std::size_t elements = 0;
        for (auto each = container.begin(); each != container.end(); ++each) {
            if (++elements > container.size())
                return "an iteration meets more elements";
        }
        return elements == container.size() ? "" : "an iteration meets fewer elements";
    }

    template <class Table>
    static std::string fault_at(const Table& table, const hash_place& place, std::size_t group) {
        const auto& key = Table::key_of(Table::block::value(place));
        const std::uint64_t hash = table.hash_of(key);
        if (*place.control != control_of(hash))
            return "a control byte is not that of its element's hash";
        for (typename Table::probe each(table, hash);; each.next()) {
            if (each.group() == group)
                break;
            if (!hash_overflow::has(table.at(each.group()).control, hash))
                return "a look-up for an element ends before it";
            if (each.is_last())
                return "an element is in none of its groups";
        }
        return table.find(key) == place ? "" : "an element is not found, or there twice";
    }
};

} // namespace remanence::detail
