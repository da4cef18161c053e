// Decides whether objects of one schema can become those of another in place, and which of them change.
//
//  PP1  Blocks, elements and keys keep their places and sizes. A member may move within its object if it can be moved
//       as bytes, perhaps with one address corrected: numbers, pointers, texts, and containers that have all their
//       nodes in blocks of their own.
#pragma once

#include "objects/conversion.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace remanence::objects {

class place_plan {
public:
    /// All arguments must outlive this object. All rows in `rows` must match. O(rows).
    place_plan(const row_matching& rows, heap_source& old_objects, object_builder& builder);

    /// If this is false, objects must be made anew.
    [[nodiscard]] bool is_possible() const { return is_possible_; }
    /// True if conversion from the first row to the second changes a byte of the object, or of what it holds.
    [[nodiscard]] bool changes(std::uint32_t from, std::uint32_t to) const {
        const auto found = pairs_.find({from, to});
        return found != pairs_.end() && found->second.changes;
    }
    /// True if an object, or an object in it without a block of its own, loses a member whose blocks must be freed.
    [[nodiscard]] bool loses(std::uint32_t from, std::uint32_t to) const {
        const auto found = pairs_.find({from, to});
        return found != pairs_.end() && found->second.loses;
    }
    /// True if there are pointers in what is converted.
    [[nodiscard]] bool has_pointers() const { return has_pointers_; }
    /// Returns the size of the largest object with members.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }

private:
    using row_pair = std::pair<std::uint32_t, std::uint32_t>;
    struct pair_plan {
        bool changes = false;
        bool loses = false;
        std::vector<row_pair> within = {};   // parts in the object itself
        std::vector<row_pair> elements = {}; // parts in the object's blocks
        std::vector<row_pair> keys = {};     // keys in the object's blocks
        std::vector<row_pair> pointees = {};
    };

    void add(row_pair pair);
    pair_plan look_at(row_pair pair);
    void look_at_members(row_pair pair, pair_plan& plan);
    void look_at_alternatives(row_pair pair, pair_plan& plan);
    void look_at_container(row_pair pair, pair_plan& plan);
    void compare(row_pair pair);
    void spread();
    [[nodiscard]] bool can_move(std::uint32_t from) const;
    void add_parts(std::uint32_t from, bool with_elements, std::set<std::uint32_t>& rows) const;

    const row_matching& rows_;
    heap_source& old_objects_;
    object_builder& builder_;
    std::map<row_pair, pair_plan> pairs_;
    std::vector<row_pair> to_do_;
    std::set<std::uint32_t> moved_; // rows of objects whose address changes
    std::set<std::uint32_t> gone_;
    bool is_possible_ = true;
    bool has_pointers_ = false;
    std::uint64_t largest_ = 0;
};

} // namespace remanence::objects
