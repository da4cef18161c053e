// The checks of a packed map by heap::verify(): the tree of its leaves; and in each leaf lengths, places, marks and the
// order of keys. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/packed_container.hpp>
#include <remanence/types/detail/structure.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::detail {

template <class Container>
struct packed_structure {
    static structure_result check(const Container& container, block_survey& survey) {
        if (structure_result found = check_structure(container.tree_, survey))
            return found;
        bool is_first = true;
        std::string_view last; // the last key so far
        std::uint64_t records = 0;
        for (const auto& [separator, block] : container.tree_) {
            const std::string_view least = separator.text;
            if (separator.head != text_head(least))
                return fault(&separator, "a packed map's separator whose head is not that of its text");
            if (is_first ? !least.empty() : k_is_unique ? least <= last : least < last)
                return fault(&separator, "a packed map's leaf that does not begin behind the one before");
            const packed_leaf leaf(block.data(), block.size());
            if (const char* const wrong = check_leaf(leaf))
                return fault(block.data(), wrong);
            if (leaf.key(0) < least)
                return fault(block.data(), "a packed map's leaf with a key that is before its separator");
            last = leaf.key(leaf.count() - 1);
            records += leaf.count();
            is_first = false;
        }
        if (records != container.size_)
            return fault(&container, "a packed map whose count of elements is wrong");
        return {};
    }

private:
    static constexpr bool k_is_unique = // only then insert() returns a pair
        requires(Container& c, const typename Container::value_type& value) { c.insert(value).second; };

    static structure_result fault(const void* where, const char* what) { return structure_fault{where, what}; }

    /// Returns what is wrong, or null.
    static const char* check_leaf(const packed_leaf& leaf) {
        if (leaf.bytes() < packed_leaf::k_header_bytes || leaf.bytes() % 8 != 0)
            return "a packed map's leaf whose block has an impossible size";
        const packed_leaf::header head = leaf.head();
        const std::size_t room = leaf.bytes() - packed_leaf::k_header_bytes;
        if (head.count == 0 || head.record_bytes > room ||
            head.count * packed_leaf::k_mark_bytes > room - head.record_bytes)
            return "a packed map's leaf that is said to have more than its block, or nothing";
        std::vector<std::pair<std::size_t, std::size_t>> taken; // the ranges of the records
        for (std::size_t i = 0; i != head.count; ++i) {
            const std::size_t place = leaf.mark(i) & 0xffff;
            const std::size_t bytes = record_bytes(leaf, place, head.record_bytes);
            if (bytes == 0)
                return "a packed map's record that ends behind its leaf";
            if (head.count != 1 && (leaf.record(i).is_large() || leaf.bytes() > k_packed_leaf_bytes))
                return "a packed map's leaf with several records that is too large for them";
            if (leaf.mark_of_key(i) != packed_mark_of(leaf.key(i)))
                return "a packed map's mark that is not that of its record's key";
            if (i != 0 && (k_is_unique ? leaf.key(i) <= leaf.key(i - 1) : leaf.key(i) < leaf.key(i - 1)))
                return "a packed map's leaf whose keys are not in their order";
            taken.emplace_back(place, bytes);
        }
        std::sort(taken.begin(), taken.end());
        std::size_t live = 0;
        for (std::size_t i = 0; i != taken.size(); ++i) {
            if (i != 0 && taken[i].first < taken[i - 1].first + taken[i - 1].second)
                return "a packed map's leaf whose records overlap";
            live += taken[i].second;
        }
        return live + head.dead_bytes == head.record_bytes
                   ? nullptr
                   : "a packed map's leaf that has another number of dead bytes than it says";
    }
    /// Returns the size of the record at `place`; 0 if it does not end before `behind`.
    static std::size_t record_bytes(const packed_leaf& leaf, std::size_t place, std::size_t behind) {
        // A record begins with two lengths of at most ten digits. This loop checks that both end before `behind`; only
        // then are they read.
        const std::byte* const first = leaf.begin() + packed_leaf::k_header_bytes;
        std::size_t at = place;
        for (unsigned length = 0; length != 2; ++length) {
            for (unsigned digits = 1;; ++digits, ++at) {
                if (at >= behind || digits > 10)
                    return 0;
                if (static_cast<unsigned>(first[at]) < 0x80)
                    break;
            }
            ++at;
        }
        const packed_record found = packed_record::read(first + place);
        const std::size_t left = behind - at;
        if (found.key.size() > left || found.value.size() > left - found.key.size())
            return 0;
        return at - place + found.key.size() + found.value.size();
    }
};

} // namespace remanence::detail
