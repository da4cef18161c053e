// Makes the objects of a root anew, or changes them in place, together with the targets of their pointers. What to do
// was decided before (row_matching, place_plan).
//
//  RC1  If objects are made anew, the old ones stay unchanged until all new ones are made.
//  RC2  Pointers are handled as in a dump (inspect/dump_targets.hpp): first their targets are found. Then the root is
//       made, and those targets that lie in no other object, the largest first. Then each pointer gets its target's new
//       address.
//  RC3  No block is freed before all pointers are written.
#pragma once

#include "base/result.hpp"
#include "inspect/lone_objects.hpp"
#include "objects/conversion.hpp"
#include "objects/migrated_classes.hpp"
#include "objects/object_blocks.hpp"
#include "objects/place_conversion.hpp"
#include "objects/place_plan.hpp"
#include "objects/pointer_targets.hpp"
#include "objects/shared_objects.hpp"
#include "txn/heap_memory.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::objects {

/// The root that is migrated, as messages name it.
struct migrated_root {
    std::string name;
    std::string type; // the program's type
    std::string path; // the heap's path

    [[nodiscard]] unexpected refused(errc code, const std::string& why) const;
};

class root_conversion final : conversion::listener {
public:
    /// For the name of a class, a function that default-constructs an object in raw memory.
    using maker_table = std::map<std::string, std::function<void(void*)>>;

    /// All references must outlive this object. `rows` must match; the caller holds the write lock of `memory`. `classes`
    /// may be null.
    root_conversion(txn::heap_memory& memory, heap_source& old_objects, object_builder& builder,
                    const row_matching& rows, migrated_classes* classes, migrated_root root, maker_table makers)
        : memory_(memory),
          old_objects_(old_objects),
          builder_(builder),
          rows_(rows),
          from_(rows.from()),
          to_(rows.to()),
          classes_(classes),
          names_(std::move(root)),
          makers_(std::move(makers)),
          base_(reinterpret_cast<std::uintptr_t>(memory.base())),
          known_(from_) {}

    // Exactly one of these two must be called, once. A failure leaves the heap partly converted. errc::type_mismatch,
    // errc::not_supported, errc::exhausted, errc::corrupt. O(objects).

    /// Makes the root object anew, and returns its offset.
    result<std::uint64_t> convert(std::uint64_t root);
    /// Changes the root object in place. Precondition: plan.is_possible().
    result<void> change_in_place(const place_plan& plan, std::uint64_t root);

    /// Frees the old blocks. Precondition: the root directory names the new object.
    result<void> free_garbage();

private:
    struct pointer {
        pointee to;
        std::uint64_t at; // place of the pointer itself
    };
    struct filling {
        const prepared_step* by;
        std::uint64_t was, is;
    };
    static constexpr std::uint64_t k_not_made = 0;
    static constexpr std::uint64_t k_is_another = 1; // made, but with another type than pointers expect

    // Called while objects are made:
    void placed(object_place from, object_place to) override;
    void stays(object_place part) override;
    std::vector<std::uint64_t>* blocks_of_elements(object_place container) override;
    result<void> point(object_place from, object_place to) override;
    result<void> vptr(object_builder& by, object_place to, bool is_base) override;
    result<object_place> default_of(object_builder& by, std::uint32_t row) override;
    result<void> construct(object_builder& by, object_place to) override;
    void fill(const prepared_step& by, std::uint64_t was, std::uint64_t is) override;
    void made_between(const prepared_step& by, std::uint64_t at) override;

    result<void> make(object_place from, object_place to);
    result<void> make_pointees();
    result<void> add_old_blocks();
    result<void> write_pointers();
    void call_functions();
    [[nodiscard]] const std::function<void(void*)>* maker_of(const object_builder& by, std::uint32_t row) const;

    result<void> change_pointees(const place_plan& plan, place_conversion& changing);
    result<void> check_garbage();

    // The targets of pointers:
    void sort_pointees();
    [[nodiscard]] bool is_made(const pointee& of) const { return moved_.at(of) > k_is_another; }
    /// True if a function makes the object at this place, or an object that contains it.
    [[nodiscard]] bool is_by_function(std::uint64_t at) const;
    /// Checks a target that lies in no object made so far. `may_be_part` allows it to be a part of an object whose type
    /// changes.
    result<void> check_alone(inspect::lone_objects& lone, const named_pointee& of, bool may_be_part);
    /// Must be called only while the old objects are unchanged.
    result<bool> is_part_of_object(const pointee& of);
    /// If the object is a number, copies the bytes behind it in its block, which may be further numbers. Behind other
    /// objects all bytes must be 0.
    result<void> take_what_is_behind(inspect::lone_objects& lone, const named_pointee& from, object_place to);
    /// Checks the objects that were made anew: the old ones must not have lain in blocks that other objects own, such
    /// as texts, unless they were parts of those objects. `blocks` are the sorted blocks of all old objects.
    result<void> check_blocks(const std::vector<std::uint64_t>& blocks);

    [[nodiscard]] unexpected refused(errc code, const std::string& why) const { return names_.refused(code, why); }
    [[nodiscard]] unexpected refused(const named_pointee& to, const std::string& why) const;

    txn::heap_memory& memory_;
    heap_source& old_objects_;
    object_builder& builder_;
    const row_matching& rows_;
    const types::type_description& from_;
    const types::type_description& to_;
    migrated_classes* const classes_;
    const migrated_root names_;
    const maker_table makers_;
    const std::uint64_t base_;
    object_place root_ = {};
    pointees_of_root pointed_;
    std::vector<named_pointee>& pointees_ = pointed_.all;
    std::unordered_map<pointee, std::uint64_t, pointee_hash>& moved_ = pointed_.places; // each target's new place
    std::vector<named_pointee> alone_;                               // made anew, and part of no other object
    std::optional<std::unordered_set<pointee, pointee_hash>> parts_; // result of pointees_in_objects()
    bool is_in_place_ = false;
    changed_places changed_;                              // the objects changed in place
    std::map<std::uint64_t, std::uint64_t> by_functions_; // begin and end of each object that functions make
    std::vector<pointer> pointers_;
    std::map<std::string, std::uint64_t> defaults_; // by the name of the class
    std::vector<filling> to_fill_;
    std::vector<std::pair<const prepared_step*, std::uint64_t>> between_;
    known_elements known_;                  // containers whose elements' blocks were found when they were made anew
    std::vector<std::uint64_t> old_blocks_; // of the objects made anew; to free at the end, too
    std::vector<std::uint64_t> garbage_;    // blocks to free at the end
};

} // namespace remanence::objects
