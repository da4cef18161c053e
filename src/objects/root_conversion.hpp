// Makes the objects of a root anew, or changes them in place, together with the targets of their pointers. The
// decisions are made before (row_matching, place_plan).
//
//  RC1  If objects are made anew, the old ones stay unchanged until all new ones are made.
//  RC2  Pointers are followed as in a dump (inspect/dump_targets.hpp): first their targets are found; then the root is
//       made, and the targets that lie in no other object, the largest first; then each pointer gets the new address of
//       its target.
//  RC3  Nothing is freed before all pointers are written.
#pragma once

#include "base/result.hpp"
#include "inspect/lone_objects.hpp"
#include "objects/conversion.hpp"
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

/// The root that is migrated, as messages describe it.
struct migrated_root {
    std::string name;
    std::string type; // the type that it will have
    std::string path; // the heap's path

    [[nodiscard]] unexpected refused(errc code, const std::string& why) const;
};

class root_conversion final : conversion::listener {
public:
    /// Makes an object by default in raw memory, by the name of its class.
    using maker_table = std::map<std::string, std::function<void(void*)>>;

    /// The references must outlive this object. `rows` must match; the caller holds the write lock of `memory`.
    root_conversion(txn::heap_memory& memory, heap_source& old_objects, object_builder& builder,
                    const row_matching& rows, migrated_root root, maker_table makers)
        : memory_(memory),
          old_objects_(old_objects),
          builder_(builder),
          rows_(rows),
          from_(rows.from()),
          to_(rows.to()),
          names_(std::move(root)),
          makers_(std::move(makers)),
          base_(reinterpret_cast<std::uintptr_t>(memory.base())) {}

    // Call one of the two, once. If it fails, it leaves the heap partly converted. errc::type_mismatch,
    // errc::not_supported, errc::exhausted, errc::corrupt. O(objects).

    /// Makes the root object anew; returns its offset.
    result<std::uint64_t> convert(std::uint64_t root);
    /// Changes the root object in place. Precondition: plan.is_possible().
    result<void> change_in_place(const place_plan& plan, std::uint64_t root);

    /// Frees the old blocks. Precondition: the directory has the new root.
    result<void> free_garbage();

private:
    struct pointer {
        pointee to;
        std::uint64_t at; // of the pointer
    };
    struct filling {
        const prepared_step* by;
        std::uint64_t was, is;
    };
    static constexpr std::uint64_t k_not_made = 0;
    static constexpr std::uint64_t k_is_another = 1; // it became an object of a type other than the pointers' one

    // Called for objects while they are made:
    void placed(object_place from, object_place to) override;
    void stays(object_place part) override;
    result<void> point(object_place from, object_place to) override;
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
    /// Checks a target that lies in no object found so far. `may_be_part`: it may be part of an object that has changed
    /// its type.
    result<void> check_alone(inspect::lone_objects& lone, const named_pointee& of, bool may_be_part);
    /// To be called only while the old objects are unchanged.
    result<bool> is_part_of_object(const pointee& of);
    /// The bytes behind a number in its block may be further numbers, and are copied; behind other objects there must
    /// be none.
    result<void> take_what_is_behind(inspect::lone_objects& lone, const named_pointee& from, object_place to);
    /// Checks that objects that were made anew did not lie in blocks that other objects own, such as texts, unless they
    /// were parts of these. `blocks`: those of all old objects, sorted.
    result<void> check_blocks(const std::vector<std::uint64_t>& blocks);

    [[nodiscard]] unexpected refused(errc code, const std::string& why) const { return names_.refused(code, why); }
    [[nodiscard]] unexpected refused(const named_pointee& to, const std::string& why) const;

    txn::heap_memory& memory_;
    heap_source& old_objects_;
    object_builder& builder_;
    const row_matching& rows_;
    const types::type_description& from_;
    const types::type_description& to_;
    const migrated_root names_;
    const maker_table makers_;
    const std::uint64_t base_;
    object_place root_ = {};
    pointees_of_root pointed_;
    std::vector<named_pointee>& pointees_ = pointed_.all;
    std::unordered_map<pointee, std::uint64_t, pointee_hash>& moved_ = pointed_.places; // the new place of each target
    std::vector<named_pointee> alone_;                               // were made anew and lie in no other object
    std::optional<std::unordered_set<pointee, pointee_hash>> parts_; // is_part_of_object()
    bool is_in_place_ = false;
    changed_places changed_;                              // objects changed in place
    std::map<std::uint64_t, std::uint64_t> by_functions_; // begin and end of each object that functions make
    std::vector<pointer> pointers_;
    std::map<std::string, std::uint64_t> defaults_; // by the name of the class
    std::vector<filling> to_fill_;
    std::vector<std::pair<const prepared_step*, std::uint64_t>> between_;
    std::vector<std::uint64_t> garbage_; // blocks that are freed at the end
};

} // namespace remanence::objects
