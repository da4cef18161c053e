// Makes objects of one schema from those of another where they are, by a plan.
//
//  PC1  What an object was is copied before its first byte changes. All that is read of it later is read from the copy.
//  PC2  Blocks of members that are gone are found before the object changes; they are freed by the caller, when all is done.
#pragma once

#include "objects/place_plan.hpp"

#include <cstdint>
#include <vector>

namespace remanence::objects {

class place_conversion {
public:
    /// All must outlive it. `copy` is a block of plan.largest() bytes. `garbage` gets the blocks of what is gone.
    place_conversion(heap_source& old_objects, object_builder& builder, const row_matching& rows,
                     const place_plan& plan, conversion::listener& told, std::uint64_t copy,
                     std::vector<std::uint64_t>& garbage)
        : old_objects_(old_objects),
          builder_(builder),
          rows_(rows),
          plan_(plan),
          told_(told),
          values_(old_objects, builder, rows, told),
          copy_(copy),
          garbage_(garbage) {}

    /// Precondition: plan.is_possible(). When it fails, the heap is as far as it came. O(objects that change).
    result<void> change(object_place from, std::uint32_t to) { return change(from, to, 0); }

private:
    struct moved_object {
        object_place was;   // where it was
        std::uint64_t copy; // its bytes
        object_place is;
        bool is_overwritten = false; // at its place there is something else by now, even if it has not moved
        conversion::rooms room = {};
    };

    result<void> change(object_place from, std::uint32_t to, unsigned depth);
    result<void> change_members(object_place from, std::uint32_t to, unsigned depth);
    result<void> release_gone(object_place from, std::uint32_t to);
    result<void> release_gone_within(object_place from, std::uint32_t to);
    result<void> take_members(const moved_object& all);
    result<void> take(const moved_object& part);
    result<void> take_held(const moved_object& part);
    result<void> take_bytes(const moved_object& part);
    result<void> correct(const moved_object& part);
    result<void> make_new(object_place of, const types::type_part& member, std::optional<object_place>& model);

    heap_source& old_objects_;
    object_builder& builder_;
    const row_matching& rows_;
    const place_plan& plan_;
    conversion::listener& told_;
    conversion values_;
    std::uint64_t copy_;
    std::vector<std::uint64_t>& garbage_;
    std::vector<std::pair<object_place, std::uint32_t>>
        later_; // what lies in blocks of an object that is being changed
};

} // namespace remanence::objects
