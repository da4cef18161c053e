// Looks into a hash container and says what is wrong with it: the rules H1 to H3 of
// include/remanence/detail/hash_table.hpp.
#pragma once

#include "support/trusting_survey.hpp"

#include <remanence/hash_map.hpp>
#include <remanence/hash_set.hpp>

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
        trusting_survey survey;
        if (const structure_result found = hash_structure<Container>::check(container, survey))
            return found->what;
        if (reinterpret_cast<std::uintptr_t>(table.block_.get()) % Table::block::k_alignment != 0)
            return "the block is not aligned";
        for (std::size_t i = 0; i != table.slots(); ++i) {
            if (*table.at(i).control < 0)
                continue;
            if (std::string found = fault_at(table, i); !found.empty())
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
