// The classes of objects with virtual functions in a migration: what they were when their objects were stored, and what
// they are in the program. All roots of one migration share it.
//
//  MC1  Until finish(), the heap's table of classes stays as it was. A stored object is told by its vptr, which leads to a
//       stall. A new object has the vptrs of the program's class, which a commit replaces; so the two are never confused.
#pragma once

#include "base/result.hpp"
#include "format/class_table.hpp"
#include "inspect/object_classes.hpp"
#include "objects/object_source.hpp"
#include "txn/heap_memory.hpp"
#include "types/program_class.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::objects {

struct class_renaming {
    std::string old_name, new_name;
};

class migrated_classes {
public:
    /// Reads the heap's tables. `own` are the program's classes, `renamings` say which were renamed. errc::corrupt.
    static result<migrated_classes> of(txn::heap_memory& memory, std::vector<types::program_class> own,
                                       const std::vector<class_renaming>& renamings);

    struct entry {
        const types::program_class* now = nullptr; // what it becomes; null if the program does not have it
        bool changes = false;                      // its objects must be converted
    };
    /// Returns the heap's classes, and an entry for each.
    [[nodiscard]] const std::vector<inspect::object_classes::entry>& stored() const { return stored_.all(); }
    [[nodiscard]] const entry& at(std::size_t number) const { return entries_[number]; }
    /// Returns what vptrs of objects contain for an entry.
    [[nodiscard]] std::uint64_t vptr_of(std::size_t number) const {
        return format::stall_point(reinterpret_cast<std::uintptr_t>(memory_.base()), number);
    }
    /// True if a class has changed, or was renamed, so that its objects must be converted.
    [[nodiscard]] bool change() const { return change_; }
    /// Returns the program's class of this name; null if it has none.
    [[nodiscard]] const types::program_class* own(std::string_view name) const;

    using vptrs = std::vector<std::pair<std::uint32_t, std::uint64_t>>; // place in the object, and value
    /// Returns the vptrs of a new object of this row; null if the program does not have the class.
    const vptrs* vptrs_for(const types::type_description& schema, std::uint32_t row);

    struct class_of_object {
        std::optional<std::size_t> stored;         // number of the heap's class
        const types::program_class* own = nullptr; // of a new object
        std::uint32_t position = 0;                // of the subobject
    };
    /// Tells of which class an object with this vptr is. Nothing is set if it was not made by a commit or this migration.
    [[nodiscard]] class_of_object find(std::uint64_t vptr) const;
    /// True if vptrs_for() was called.
    [[nodiscard]] bool has_made_objects() const { return !made_.empty(); }
    [[nodiscard]] const std::vector<types::program_class>& all_own() const { return own_; }

    /// Makes the heap's table say what the classes are now, and stores their schemas. To be called when all objects are
    /// converted. errc::exhausted.
    result<void> finish();

private:
    migrated_classes(txn::heap_memory& memory, inspect::object_classes stored, std::vector<types::program_class> own)
        : memory_(memory), stored_(std::move(stored)), own_(std::move(own)) {}
    [[nodiscard]] const types::program_class* own_of(const inspect::object_classes::entry& stored,
                                                     const std::vector<class_renaming>& renamings) const;

    txn::heap_memory& memory_;
    inspect::object_classes stored_;
    std::vector<types::program_class> own_;
    std::vector<entry> entries_;
    bool change_ = false;
    std::map<std::string, vptrs, std::less<>> vptrs_; // by name
    std::map<std::uint64_t, class_of_object> made_;   // by vptr
};

/// The heap's classes as rows of a root's schema.
class class_rows {
public:
    /// Adds the rows of classes that say their members to `schema`. Both must outlive this object.
    class_rows(const migrated_classes& classes, types::type_description& schema);

    /// An object with virtual functions, to which a place belongs as a base, or is that object itself.
    struct whole_object {
        object_place place = {};
        std::optional<std::size_t> number = {}; // of the heap's class
        bool is_known = false;                  // false: of a class that is not known, or does not say its members
    };
    result<whole_object> whole_of(inspect::object_reader& reader, object_place base) const;
    /// Returns the row of a class of the heap; nothing if the class does not say its members.
    [[nodiscard]] std::optional<std::uint32_t> row_of(std::size_t number) const { return rows_[number]; }

private:
    const migrated_classes& classes_;
    const types::type_description& schema_;
    std::vector<std::optional<std::uint32_t>> rows_;
    std::map<const types::program_class*, std::uint32_t> own_rows_;
};

} // namespace remanence::objects
