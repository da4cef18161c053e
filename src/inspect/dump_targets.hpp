// What pointers lead to, and how a dump tells it: by the path to it from a root, or as an object of its own.
//
// Where there are pointers, the heap is gone through three times: to learn what is pointed at, to learn which of it lies in roots, and
// (object_dump.cpp) to write; objects that lie in no root once more. What lies in no root is an object of its own; of two that lie in each
// other the larger one is. Its block must be that of one such object, or the dump would not have the others.
#pragma once

#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"
#include "types/type_description.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace remanence::inspect {

/// It is told of each object that is gone through, whether for itself or to be written.
class dump_targets final : public object_walk::listener {
public:
    /// Something that is pointed at, by the schema of the root that led to it.
    struct target {
        const types::type_description* schema;
        std::uint32_t row;
        std::uint64_t at;
        std::uint64_t pointer; // where the first pointer is that leads to it
    };
    /// How the objects of a schema are read.
    struct reading {
        reading(const heap_to_read& heap, const types::type_description& schema, object_walk::listener& told)
            : reader(heap.bytes, heap.path, heap.base, heap.end, schema), walk(reader, told) {}
        object_reader reader;
        object_walk walk;
    };

    /// `others`: roots that are not to be written. All must outlive it; each of `roots` has a schema before find().
    dump_targets(const heap_to_read& heap, const std::vector<root_with_schema>& roots,
                 const std::vector<root_with_schema>& others, const dump_manner& manner)
        : heap_(heap), roots_(roots), others_(others), manner_(manner) {}

    /// errc::not_supported, or left out: a pointer leads to what is not known as one object. errc::corrupt. O(objects).
    result<void> find();
    /// OD1 (object_dump.cpp). Reads roots without pointers, once; those with pointers have been gone through by find().
    result<void> look_at_objects();
    /// Says, after find(), what lies in no root: each is an object of its own, by its number.
    [[nodiscard]] const std::vector<target>& objects() const { return objects_; }
    /// What lies behind a lone object in its block, up to the last byte that is not 0.
    result<std::string> behind(const target& which);

    /// From now on objects are written: pointers are told by the ways that find() has found.
    void begin_writing() { purpose_ = purpose::writing; }
    /// Objects of this schema are gone through next.
    reading& begin(const types::type_description& schema) {
        schema_ = &schema;
        return reading_of(schema);
    }

    [[nodiscard]] bool salvages() const { return static_cast<bool>(manner_.leave_out); }
    /// Where parts are left out, what is there goes on.
    result<void> unless_salvaged(result<void> done, const std::string& where);
    [[nodiscard]] unexpected cannot_dump(const std::string& why) const;

    [[nodiscard]] bool carries_all() const override { return !salvages(); }
    [[nodiscard]] bool follows() const override { return purpose_ == purpose::locating || purpose_ == purpose::owning; }
    void meet(object_place object, const std::vector<path_step>& path) override;
    void point(std::string& out, object_place pointer, std::uint64_t to) override;

private:
    enum class purpose { looking, collecting, locating, owning, writing };
    /// A type has one number in all schemas.
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

    reading& reading_of(const types::type_description& schema);
    target_key key_of(const types::type_description& schema, std::uint32_t row, std::uint64_t at);
    /// Goes through an object without keeping its text.
    result<void> look(object_place object);
    /// What whole objects point at, from this one of pending_ on. Parts are looked at with their owners.
    result<void> collect(std::size_t from);
    result<void> locate_in_roots();
    /// Parts of roots that are not written become objects of their own.
    result<void> look_into_other_roots();
    /// Whole objects that lie in no root, nor in each other. That all else is known, so that nothing is lost which pointers lead to.
    result<void> number_objects();
    /// It cannot be read. Pointers into it are null.
    void leave_out_last_object();
    /// To what is left out, and lies at this way or behind it.
    void forget_paths(const std::string& begin);
    [[nodiscard]] bool is_located(const target& which);
    /// True if it is known as one object by itself. A part of another object that is gone through may be none.
    result<bool> is_whole_object(const target& which);
    /// True if it is a part of a root that is not written, or of an object that this leads to.
    result<bool> lies_in_other_root(const target& which);
    result<std::string> why_refused(const target& which);
    /// By its path from a root, or from the type of the object that has it.
    result<std::string> name_of_pointer(std::uint64_t pointer);

    const heap_to_read& heap_;
    const std::vector<root_with_schema>& roots_;
    const std::vector<root_with_schema>& others_;
    const dump_manner& manner_;
    std::vector<root_with_schema> all_roots_; // of with_others_
    const std::vector<root_with_schema> no_roots_;
    std::unique_ptr<dump_targets> with_others_; // of all roots, to find what lies in them
    bool is_for_search_ = false;                // this is such a one: it refuses nothing
    std::map<const types::type_description*, std::unique_ptr<reading>> readings_;
    const types::type_description* schema_ = nullptr; // of the object that is gone through
    purpose purpose_ = purpose::collecting;
    bool has_failed_ = false; // something that was left out
    std::string owner_;       // JSON: the name of a root, or the number of an object
    std::unordered_map<target_key, std::string, target_hash> targets_; // the path to each; empty: not known yet
    std::unordered_set<target_key, target_hash> owned_;                // parts of objects that lie in no root
    std::unordered_set<target_key, target_hash> parts_of_others_;
    std::vector<target> pending_;
    std::vector<target> objects_;                                                   // that lie in no root
    std::map<std::string, std::uint32_t> types_;                                    // numbers, from 1
    std::map<const types::type_description*, std::vector<std::uint32_t>> types_of_; // of rows; 0: not known yet
};

} // namespace remanence::inspect
