// Where the parts of an object lie by its row, and what lies beside them: sizes, bit-fields, and bytes that no member has.
// Rows are sound (types/schema_table.hpp).
#pragma once

#include "types/type_description.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::inspect {

/// No object has more bytes.
inline constexpr std::uint64_t k_size_max = std::uint64_t{1} << 47;

/// An object, or a part of one: its row in the schema, and where it lies.
struct object_place {
    std::uint32_t row = 0;
    std::uint64_t at = 0;       // heap offset
    std::uint8_t first_bit = 0; // of a bit-field, in the byte there
    std::uint8_t bits = 0;      // of a bit-field; else 0
};

/// Where the member lies in an object at `of`, by its number among `members`, which are the row's; nothing: a bit-field whose place is not
/// known.
[[nodiscard]] std::optional<object_place> place_of_member(const types::type_row& row,
                                                          const std::vector<types::type_part>& members,
                                                          std::size_t index, std::uint64_t of);
/// In bytes. Arrays have that of their elements.
[[nodiscard]] std::uint64_t alignment_of(const types::type_description& schema, std::uint32_t row);
/// Of an aggregate with bit-fields.
[[nodiscard]] bool has_bit_fields(const types::type_row& row);
/// True if it has some whose place is not known, so that only their bytes can be told.
[[nodiscard]] bool has_unknown_bits(const types::type_row& row);
/// Of an object of this row, in bytes; 0 where it is not known.
[[nodiscard]] std::uint64_t size_of(const types::type_description& schema, std::uint32_t row);
struct byte_range {
    std::uint64_t at, count;
    friend bool operator==(const byte_range&, const byte_range&) = default;
};
/// Where no member lies whose place is known, from the object's begin: bit-fields, what a class leaves out, and padding. Precondition: the
/// row has members.
[[nodiscard]] std::vector<byte_range> rest_of(const types::type_description& schema, std::uint32_t row);
/// Sets the bits of bit-fields whose place is known in the bytes of these ranges, one behind the other: `is_one` tells each, by the
/// member's number and the bit's.
void put_bits(std::string& rest, const std::vector<byte_range>& ranges, const types::type_row& row,
              const std::function<bool(std::size_t member, std::uint64_t bit)>& is_one);
/// True if there may be an address in these bytes, one range behind the other: an aligned word that is not 0, of what a class leaves out.
[[nodiscard]] bool has_address(const types::type_row& row, const std::vector<byte_range>& ranges,
                               std::string_view rest);
inline constexpr std::uint64_t k_all_room = ~std::uint64_t{0};
/// How many bytes of a member are its own, up to the next member, which may lie in its padding; k_all_room, if that does not.
[[nodiscard]] std::uint64_t room_of(const types::type_description& schema, std::uint32_t row,
                                    const types::type_part& member);
/// Of a class that says its members (REM_REFLECT), and may have others: those it leaves out, and bases that it does not list.
[[nodiscard]] bool may_leave_out(const types::type_row& row);

} // namespace remanence::inspect
