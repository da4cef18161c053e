// Visits an object and all that it owns, and tells everything in them that refers to memory of the heap.
//
//  RW1  The schema is followed: members, elements, the memory of containers. Numbers refer to nothing.
//  RW2  Opaque are: classes that hide their members, bytes that a class leaves out (REM_REFLECT), function objects of
//       containers, if there is room for a pointer; and containers of other libraries themselves, whose elements are
//       known.
//  RW3  The target of a pointer is not owned; it is told, and not visited.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "inspect/object_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::inspect {

inline constexpr std::uint64_t k_address_bytes = 8;

/// What a walk tells. All places are heap offsets.
class reference_listener {
public:
    reference_listener() = default;
    reference_listener(const reference_listener&) = delete;
    reference_listener& operator=(const reference_listener&) = delete;
    virtual ~reference_listener() = default;

    /// A pointer that a type declares; it may be null, or lead out of the heap.
    virtual void pointer(object_place /*pointer*/) {}
    /// A word in which a container keeps an address of its own memory or of itself, or null.
    virtual void link(std::uint64_t /*at*/) {}
    /// The vptr of an object with virtual functions, or of its base.
    virtual void vptr(std::uint64_t /*at*/) {}
    /// A place in a block that the object has allocated.
    virtual void owned(std::uint64_t /*at*/) {}
    /// Objects that lie side by side, and are not part of a larger one that was told.
    virtual void objects(object_place /*first*/, std::uint64_t /*count*/) {}
    /// Bytes that may hold references which the schema does not describe, in an object of this row.
    virtual result<void> opaque(heap_range bytes, std::uint32_t row) = 0;
};

/// Finds, for each row, whether its objects may refer to memory, or are opaque.
class referring_rows {
public:
    explicit referring_rows(const object_reader& reader)
        : reader_(reader), known_(reader.schema().rows.size(), answer::unknown) {}

    bool ask(std::uint32_t row);
    /// True if a class with known members may have others that are large enough for a pointer.
    [[nodiscard]] bool leaves_out(std::uint32_t row) const;

private:
    enum class answer : char { unknown, no, yes };
    bool find(std::uint32_t row);

    const object_reader& reader_;
    std::vector<answer> known_;
};

class reference_walk {
public:
    /// `reader` and `listener` must outlive this object. Takes over object_reader::listen().
    reference_walk(object_reader& reader, reference_listener& listener);

    /// Visits the object and all that it owns. errc::corrupt if an object does not match the schema; what was told
    /// before stays told. O(objects).
    result<void> own(object_place object);

private:
    result<void> look(object_place of);
    result<void> look_at_members(object_place of);
    result<void> look_into(object_place container);
    result<void> own_memory(object_place of);
    result<void> own_deque(object_place of);
    result<void> own_buckets(object_place of);
    void tell_node(object_place container, const element_place& element);
    void tell_links(std::uint32_t links, std::uint64_t begin);

    object_reader& reader_;
    reference_listener& listener_;
    referring_rows refer_;
    std::vector<object_place> containers_; // whose elements are still to be visited
};

/// Returns where the members of a class end: a class that is derived from it may use the bytes behind. For other
/// types, their size.
[[nodiscard]] std::uint64_t end_of_members(const types::type_description& schema, std::uint32_t row);

/// True if a part of an object of row `whole` lies at `offset` in it, and is called `part`. The object itself counts, as
/// do all values that an optional or a variant may have.
[[nodiscard]] bool has_part_at(const types::type_description& schema, std::uint32_t whole, std::uint64_t offset,
                               const std::string& part);

} // namespace remanence::inspect
