// The form of each row of a schema. All code that visits objects uses it: parts_of() for rows, for_each_part()
// (shape_walk.hpp) for objects.
//
//  RF1  The form alone tells of which parts an object consists. When a new shape gets its form here, all visitors reach
//       the parts of such objects. Only code that lays out, finds or judges bytes distinguishes shapes; the README
//       lists that code.
//
// Precondition of all functions: the rows are sound (types/schema_table.hpp).
#pragma once

#include "types/type_description.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::inspect {

/// Two shapes have the same form if their parts are of the same kind and are found in the same way.
enum class form : std::uint8_t {
    pointer,
    number,     // includes enumerations
    text,       // includes a text in a record of a packed map, and a text of another library
    serialised, // its bytes are written like those of a text
    hidden,     // its structure is not known, or it is an array of no elements
    members,
    same, // is described by another row
    optional,
    variant,
    array, // of either kind; also an array of characters
    sequence,
    set,
    map,
    packed,
};
[[nodiscard]] form form_of(const types::type_row& row);

[[nodiscard]] constexpr bool is_held(form what) { return what == form::optional || what == form::variant; }
/// is_container(): an object of this row has elements. is_map(): its elements have keys and values.
[[nodiscard]] bool is_container(const types::type_row& row);
[[nodiscard]] bool is_map(const types::type_row& row);
/// The rows of a container's keys and values. If the container is no map, both are the element's row.
struct element_rows {
    std::uint32_t key, value;
};
[[nodiscard]] element_rows rows_of_elements(const types::type_row& container);
/// True if object_reader::text() reads such an object as a text; false if it is serialised.
[[nodiscard]] bool is_text(const types::type_row& row);
/// True if only another library can make such an object.
[[nodiscard]] bool is_foreign(const types::type_row& row);
/// True if the container is a multimap or a multiset.
[[nodiscard]] bool has_several_of_a_key(const types::type_row& container);
/// True if an object of a class that hides its members can be written as bytes. It contains no address, because its
/// alignment is smaller than that of an address, 8 bytes.
[[nodiscard]] bool is_told_by_bytes(const types::type_row& row);
/// Returns the members of a class, stated or visible; null if none are known.
[[nodiscard]] const std::vector<types::type_part>* members_of(const types::type_row& row);
/// True for a class with virtual functions: its objects begin with a vptr, which belongs to no member.
[[nodiscard]] bool has_vptr(const types::type_row& row);
/// True if an object of this row, or one of its bases that are known, has a vptr at this offset.
[[nodiscard]] bool has_vptr_at(const types::type_description& schema, std::uint32_t row, std::uint64_t offset);
/// True if an object of the type, or one to which it leads, may have virtual functions.
[[nodiscard]] bool have_vptrs(const types::type_description& type);
/// Returns the number of elements of an array, built-in or std::array.
[[nodiscard]] std::uint64_t extent_of(const types::type_row& row);
/// True if the number has a unit, like those of std::chrono. A number with another unit is of another type.
[[nodiscard]] bool has_unit(const types::type_row& row);
/// True for an array of characters, which is written like a text.
[[nodiscard]] bool is_character_array(const types::type_description& schema, std::uint32_t row);
/// Returns the name under which a member is written. For a base, this is the name of its type.
[[nodiscard]] std::string member_name(const types::type_description& schema, const types::type_part& part);

/// In which way a part belongs to its object.
enum class part_role : std::uint8_t { pointee, member, same, held, key, element };
/// A kind of part that objects of a row have, and the part's own row.
struct row_part {
    part_role role;
    std::uint32_t row;
    const types::type_part* member = nullptr; // lies in the schema; a bit-field has no offset
};
/// Returns all parts that objects of this row may have: the target of a pointer, members, the value of an optional or
/// variant, keys and elements.
[[nodiscard]] std::vector<row_part> parts_of(const types::type_row& row);
/// Returns, for each row, 1 if its objects may own data in other blocks. `through_pointers`: the targets of pointers
/// count as such data.
[[nodiscard]] std::vector<char> rows_that_lead_on(const types::type_description& schema, bool through_pointers);

} // namespace remanence::inspect
