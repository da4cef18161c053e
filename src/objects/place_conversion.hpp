// Changes objects of one schema to those of another in place, by a plan.
//
//  PC1  An object is copied before its first byte changes. All later reads of the object use that copy.
//  PC2  The blocks of members that are gone are found before the object changes. The caller must free them when the
//       whole conversion is done.
#pragma once

#include "objects/place_plan.hpp"

#include <cstdint>
#include <vector>

namespace remanence::objects {

class place_conversion {
public:
    /// All arguments must outlive this object. `copy` is the place of a block of plan.largest() bytes. The blocks of
    /// members that are gone are appended to `garbage`.
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

    /// Changes an object. Precondition: plan.is_possible(). A failure leaves the heap partly converted. O(objects that
    /// change).
    result<void> change(object_place from, std::uint32_t to) { return change(from, to, 0); }

private:
    struct moved_object {
        object_place was;   // its old place
        std::uint64_t copy; // place of a copy of its old bytes
        object_place is;
        bool is_overwritten = false; // its old place was overwritten, even if it has not moved
        conversion::rooms room = {};
    };

    result<void> change(object_place from, std::uint32_t to, unsigned depth);
    result<void> change_elements(const row_matching::member_plan& plan, object_place container, std::uint32_t to);
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
    /// Objects in the blocks of the current object, to be changed after it.
    std::vector<std::pair<object_place, std::uint32_t>> later_;
};

} // namespace remanence::objects
