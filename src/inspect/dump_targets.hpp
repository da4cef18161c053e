// Finds the targets of pointers. A dump writes a pointer as the path from a root to the pointer's target. A target that
// no root contains is written as an object of its own.
//
// If there are pointers, the heap is visited three times: to find the targets, to find which of them lie in roots, and
// (object_dump.cpp) to write. Objects that lie in no root are visited once more. If one of these lies in another one,
// only the larger one is written. The larger one's block must contain nothing else, because the dump would lose it.
#pragma once

#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/object_classes.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"
#include "types/type_description.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace remanence::inspect {

/// Listens to the visit of each object, both while targets are searched and while objects are written.
class dump_targets final : public object_walk::listener {
public:
    /// The target of a pointer. Its type is a row in the schema of the root that led to it.
    struct target {
        const types::type_description* schema;
        std::uint32_t row;
        std::uint64_t at;
        std::uint64_t pointer; // place of the first pointer that leads to this target
        bool is_base = false;  // of an object with virtual functions, which is another target
    };
    /// The reader and the walk for objects of one schema.
    struct reading {
        reading(const heap_to_read& heap, const types::type_description& schema, object_walk::listener& told)
            : reader(heap.bytes, heap.path, heap.base, heap.end, schema), walk(reader, told) {}
        object_reader reader;
        object_walk walk;
    };

    /// `others` are roots that are not written. All arguments must outlive this object. Each of `roots` must have a
    /// schema before find() is called.
    dump_targets(const heap_to_read& heap, const std::vector<root_with_schema>& roots,
                 const std::vector<root_with_schema>& others, const dump_manner& manner)
        : heap_(heap), roots_(roots), others_(others), manner_(manner) {}

    /// Finds all targets. errc::not_supported if a pointer leads to something that is not known to be one object,
    /// unless the manner allows to leave such a pointer out. errc::corrupt. O(objects).
    result<void> find();
    /// Reads each root without pointers once, so that damage is found before anything is written (OD1,
    /// object_dump.cpp). find() has already read the roots with pointers.
    result<void> look_at_objects();
    /// Returns, after find(), the heap's classes with virtual functions.
    [[nodiscard]] const object_classes& classes() const { return *classes_; }
    /// Returns, after find(), the targets that lie in no root. Each is an object of its own, whose number is its index.
    [[nodiscard]] const std::vector<target>& objects() const { return objects_; }
    /// Returns the bytes behind a lone object in its block, up to the last byte that is not 0.
    result<std::string> behind(const target& which);

    /// From now on, objects are written: each pointer becomes the path that find() has found.
    void begin_writing() { purpose_ = purpose::writing; }
    /// Prepares to visit objects of this schema.
    reading& begin(const types::type_description& schema) {
        schema_ = &schema;
        return reading_of(schema);
    }

    [[nodiscard]] bool salvages() const { return static_cast<bool>(manner_.leave_out); }
    /// Returns `done`. But if the dump leaves out what cannot be read, reports such a failure to the manner and returns
    /// success.
    result<void> unless_salvaged(result<void> done, const std::string& where);
    [[nodiscard]] unexpected cannot_dump(const std::string& why) const;

    [[nodiscard]] bool carries_all() const override { return !salvages(); }
    [[nodiscard]] bool follows() const override { return purpose_ == purpose::locating || purpose_ == purpose::owning; }
    void meet(object_place object, const std::vector<path_step>& path) override;
    void point(std::string& out, object_place pointer, std::uint64_t to) override;

private:
    enum class purpose { looking, collecting, locating, owning, writing };
    /// Identifies a target. Equal types have the same number, also in different schemas.
    struct target_key {
        std::uint32_t type;
        std::uint64_t at;
        friend bool operator==(const target_key&, const target_key&) = default;
    };
    struct target_hash {
        std::size_t operator()(const target_key& key) const {
            return std::hash<std::uint64_t>()(key.at * 31 + key.type);
        }
    };

    /// True if all parts of the class's objects are known.
    bool says_members(const object_classes::entry& of);
    /// Adds the target of a pointer that was not met before.
    void add_target(const target& found);
    reading& reading_of(const types::type_description& schema);
    target_key key_of(const types::type_description& schema, std::uint32_t row, std::uint64_t at);
    /// Visits an object, and discards its text.
    result<void> look(object_place object);
    /// Collects the targets of all pointers in roots, and in those targets that are whole objects, from index `from` of
    /// pending_ on. A part of an object is visited with that object.
    result<void> collect(std::size_t from);
    result<void> locate_in_roots();
    /// Finds the targets that lie in roots that are not written, and makes each of them an object of its own.
    result<void> look_into_other_roots();
    /// Numbers the whole objects that lie in no root and in no other object. Fails if any other target still has no
    /// path then, because the dump would lose it.
    result<void> number_objects();
    /// Removes the last object, which cannot be read. Pointers into it become null.
    void leave_out_last_object();
    /// Forgets the paths that begin with this one, because the object there is left out.
    void forget_paths(const std::string& begin);
    [[nodiscard]] bool is_located(const target& which);
    /// True if the target is known to be one object by itself. A part of another object may not be.
    result<bool> is_whole_object(const target& which);
    /// True if the target lies in a root that is not written, or in an object that such a root leads to.
    result<bool> lies_in_other_root(const target& which);
    result<std::string> why_refused(const target& which);
    /// Returns the path of a pointer. The path begins at a root, or with the type of the object that contains the
    /// pointer.
    result<std::string> name_of_pointer(std::uint64_t pointer);

    const heap_to_read& heap_;
    const std::vector<root_with_schema>& roots_;
    const std::vector<root_with_schema>& others_;
    const dump_manner& manner_;
    std::optional<object_classes> classes_;
    std::map<const types::type_description*, bool> says_members_;
    std::vector<root_with_schema> all_roots_; // the roots that with_others_ searches
    const std::vector<root_with_schema> no_roots_;
    // searches all roots, also those that are not written, to find the targets that lie in them
    std::unique_ptr<dump_targets> with_others_;
    bool is_for_search_ = false; // true in with_others_, which refuses nothing
    std::map<const types::type_description*, std::unique_ptr<reading>> readings_;
    const types::type_description* schema_ = nullptr; // schema of the object that is being visited
    purpose purpose_ = purpose::collecting;
    bool has_failed_ = false; // whether a part of the visited object was left out
    std::string owner_;       // JSON: the name of a root, or the number of an object
    std::unordered_map<target_key, std::string, target_hash> targets_; // the path to each; empty if not known yet
    std::unordered_set<target_key, target_hash> owned_;                // parts of objects that lie in no root
    std::unordered_set<target_key, target_hash> parts_of_others_;
    std::vector<target> pending_;
    std::vector<target> objects_;                // the targets that lie in no root
    std::map<std::string, std::uint32_t> types_; // the number of each type, from 1
    // number of each row's type; 0: not known yet
    std::map<const types::type_description*, std::vector<std::uint32_t>> types_of_;
};

} // namespace remanence::inspect
