// What the rows of a schema are to those who go through objects. All walks stand on it: over rows by parts_of(), over objects by
// for_each_part() (shape_walk.hpp).
//
//  RF1  What an object consists of is told by its form alone. A new shape gets its form here, and all walks reach what such objects hold.
//       By their shapes rows are told apart where bytes are laid out, found or judged: the README lists that.
//
// Rows are sound (types/schema_table.hpp).
#pragma once

#include "types/type_description.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::inspect {

/// Shapes with parts of the same kind, found in the same way, have one form.
enum class form : std::uint8_t {
    pointer,
    number,     // an enumeration, too
    text,       // also in a record of a packed map, and of another library
    serialised, // its bytes are told as those of a text
    hidden,     // nobody says what it consists of; an array of no elements, too
    members,
    same, // another row says what it is
    optional,
    variant,
    array, // of either kind, also of characters
    sequence,
    set,
    map,
    packed,
};
[[nodiscard]] form form_of(const types::type_row& row);

[[nodiscard]] constexpr bool is_held(form what) { return what == form::optional || what == form::variant; }
/// True if an object of this row has elements, and whether these have keys beside their values.
[[nodiscard]] bool is_container(const types::type_row& row);
[[nodiscard]] bool is_map(const types::type_row& row);
/// The rows of its elements. In what is no map they are the same.
struct element_rows {
    std::uint32_t key, value;
};
[[nodiscard]] element_rows rows_of_elements(const types::type_row& container);
/// True if object_reader::text() tells it, and it is not serialised.
[[nodiscard]] bool is_text(const types::type_row& row);
/// True if only another library can make it.
[[nodiscard]] bool is_foreign(const types::type_row& row);
/// True if it is a multimap or a multiset.
[[nodiscard]] bool has_several_of_a_key(const types::type_row& container);
/// True if an object of a class that hides its members is told by its bytes: it has no address, since an address is aligned to 8 bytes.
[[nodiscard]] bool is_told_by_bytes(const types::type_row& row);
/// The members of a class, of either kind; null: it has none that are known.
[[nodiscard]] const std::vector<types::type_part>* members_of(const types::type_row& row);
/// How many elements an array has, of either kind.
[[nodiscard]] std::uint64_t extent_of(const types::type_row& row);
/// True if it is a number of a unit, as those of std::chrono: of another unit it is another number.
[[nodiscard]] bool has_unit(const types::type_row& row);
/// An array of characters is told as a text.
[[nodiscard]] bool is_character_array(const types::type_description& schema, std::uint32_t row);
/// The name by which a member is told: a base by that of its type.
[[nodiscard]] std::string member_name(const types::type_description& schema, const types::type_part& part);

/// How an object has a part.
enum class part_role : std::uint8_t { pointee, member, same, held, key, element };
/// A row of what objects of another row have.
struct row_part {
    part_role role;
    std::uint32_t row;
    const types::type_part* member = nullptr; // the schema's; without an offset: a bit-field
};
/// All that objects of this row may have: what a pointer leads to, members, what may be held, keys and elements.
[[nodiscard]] std::vector<row_part> parts_of(const types::type_row& row);
/// Of each row, 1: objects of it may have something in other blocks than their own. `through_pointers`: what they point at counts.
[[nodiscard]] std::vector<char> rows_that_lead_on(const types::type_description& schema, bool through_pointers);

} // namespace remanence::inspect
