// The form of each row of a schema, for code that walks through objects. All walks use it: over rows by parts_of(),
// over objects by for_each_part() (shape_walk.hpp).
//
//  RF1  The form alone tells what an object consists of. A new shape gets its form here, and then all walks reach what
//       such objects hold. Only code that lays out, finds or judges bytes distinguishes rows by their shapes: the
//       README lists it.
//
// Rows are sound (types/schema_table.hpp).
#pragma once

#include "types/type_description.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::inspect {

/// Shapes have the same form if their parts are of the same kind and are found in the same way.
enum class form : std::uint8_t {
    pointer,
    number,     // includes enumerations
    text,       // includes a text in a record of a packed map, and one of another library
    serialised, // its bytes are written as those of a text
    hidden,     // its structure is not known; or it is an array of no elements
    members,
    same, // another row describes it
    optional,
    variant,
    array, // of either kind; includes arrays of characters
    sequence,
    set,
    map,
    packed,
};
[[nodiscard]] form form_of(const types::type_row& row);

[[nodiscard]] constexpr bool is_held(form what) { return what == form::optional || what == form::variant; }
/// True if an object of this row has elements. is_map(): these have keys and values.
[[nodiscard]] bool is_container(const types::type_row& row);
[[nodiscard]] bool is_map(const types::type_row& row);
/// The rows of a container's elements. If it is no map, the two are the same.
struct element_rows {
    std::uint32_t key, value;
};
[[nodiscard]] element_rows rows_of_elements(const types::type_row& container);
/// True if object_reader::text() reads it, and it is not serialised.
[[nodiscard]] bool is_text(const types::type_row& row);
/// True if only another library can make such an object.
[[nodiscard]] bool is_foreign(const types::type_row& row);
/// True if it is a multimap or a multiset.
[[nodiscard]] bool has_several_of_a_key(const types::type_row& container);
/// True if an object of a class that hides its members is written as bytes: it contains no address, because an address
/// is aligned to 8 bytes.
[[nodiscard]] bool is_told_by_bytes(const types::type_row& row);
/// Returns the members of a class, of either kind; null if none are known.
[[nodiscard]] const std::vector<types::type_part>* members_of(const types::type_row& row);
/// Returns the number of elements of an array of either kind.
[[nodiscard]] std::uint64_t extent_of(const types::type_row& row);
/// True if it is a number with a unit, like those of std::chrono: with another unit it is another number.
[[nodiscard]] bool has_unit(const types::type_row& row);
/// True for an array of characters, which is written as a text.
[[nodiscard]] bool is_character_array(const types::type_description& schema, std::uint32_t row);
/// Returns the name of a member as it is written; a base has the name of its type.
[[nodiscard]] std::string member_name(const types::type_description& schema, const types::type_part& part);

/// The relation of a part to its object.
enum class part_role : std::uint8_t { pointee, member, same, held, key, element };
/// The row of a part that objects of another row have.
struct row_part {
    part_role role;
    std::uint32_t row;
    const types::type_part* member = nullptr; // of the schema; without an offset: a bit-field
};
/// Returns all parts that objects of this row may have: the target of a pointer, members, the value of an optional or
/// variant, keys and elements.
[[nodiscard]] std::vector<row_part> parts_of(const types::type_row& row);
/// Returns 1 for each row whose objects may own data in other blocks. `through_pointers`: the targets of pointers
/// count, too.
[[nodiscard]] std::vector<char> rows_that_lead_on(const types::type_description& schema, bool through_pointers);

} // namespace remanence::inspect
