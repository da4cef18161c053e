// Tells of which classes the objects with virtual functions are, by their vptrs (format/class_table.hpp). The static type
// of a pointer may be that of a base.
#pragma once

#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/object_reader.hpp"
#include "types/class_table.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace remanence::inspect {

class object_classes {
public:
    /// An entry of the heap's table. A class has several, with several positions, if it has several bases.
    struct entry {
        types::stored_class stored;
        std::string name;                                      // as a programmer writes it
        std::shared_ptr<const types::type_description> schema; // null if the heap stores none that has this vptr
        types::stored_schema told = {};                        // its place in the schema table; `encoded` is empty
    };

    /// Reads the tables of classes and of schemas. errc::corrupt.
    static result<object_classes> of(const heap_to_read& heap);

    [[nodiscard]] const std::vector<entry>& all() const { return all_; }
    /// Returns the class of an object with this vptr; null if it is none of the heap.
    [[nodiscard]] const entry* find(std::uint64_t vptr) const;

    struct whole_object {
        const entry* of =
            nullptr; // null if the vptr is none of the heap, as that of an object made since the last commit
        object_place place = {}; // by of->schema
    };
    /// Returns the object to which one with virtual functions (has_vptr()) belongs as a base, or that one itself.
    [[nodiscard]] whole_object whole_of(object_reader& reader, object_place base) const;

private:
    explicit object_classes(std::uint64_t base) : base_(base) {}

    std::uint64_t base_;
    std::vector<entry> all_;
};

} // namespace remanence::inspect
