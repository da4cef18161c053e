// The places of an object's parts by its row, and the bytes beside them: sizes, bit-fields, and bytes that belong to no
// member. Rows are sound (types/schema_table.hpp).
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

/// No object is larger than this.
inline constexpr std::uint64_t k_size_max = std::uint64_t{1} << 47;

/// An object, or a part of one: its row in the schema, and where it lies.
struct object_place {
    std::uint32_t row = 0;
    std::uint64_t at = 0;       // heap offset
    std::uint8_t first_bit = 0; // of a bit-field, in the byte there
    std::uint8_t bits = 0;      // of a bit-field; else 0
};

/// Returns the place of a member in an object at `of`; the member is given by its index among the row's `members`.
/// Returns nothing if it is a bit-field whose place is not known.
[[nodiscard]] std::optional<object_place> place_of_member(const types::type_row& row,
                                                          const std::vector<types::type_part>& members,
                                                          std::size_t index, std::uint64_t of);
/// Returns the alignment in bytes; that of an array is that of its elements.
[[nodiscard]] std::uint64_t alignment_of(const types::type_description& schema, std::uint32_t row);
/// True if an aggregate has bit-fields.
[[nodiscard]] bool has_bit_fields(const types::type_row& row);
/// True if it has bit-fields whose place is not known, so that only their bytes can be written.
[[nodiscard]] bool has_unknown_bits(const types::type_row& row);
/// Returns the size of an object of this row in bytes; 0 if it is not known.
[[nodiscard]] std::uint64_t size_of(const types::type_description& schema, std::uint32_t row);
struct byte_range {
    std::uint64_t at, count;
    friend bool operator==(const byte_range&, const byte_range&) = default;
};
/// Returns the ranges where no member with a known place lies, counted from the object's beginning: bit-fields, bytes
/// that a class leaves out, and padding. Precondition: the row has members.
[[nodiscard]] std::vector<byte_range> rest_of(const types::type_description& schema, std::uint32_t row);
/// Sets the bits of bit-fields with a known place in the bytes of these ranges, which follow one another. `is_one`
/// returns each bit, by the index of the member and that of the bit.
void put_bits(std::string& rest, const std::vector<byte_range>& ranges, const types::type_row& row,
              const std::function<bool(std::size_t member, std::uint64_t bit)>& is_one);
/// True if there may be an address in these bytes of ranges that follow one another: an aligned word that is not 0, in
/// bytes that a class leaves out.
[[nodiscard]] bool has_address(const types::type_row& row, const std::vector<byte_range>& ranges,
                               std::string_view rest);
inline constexpr std::uint64_t k_all_room = ~std::uint64_t{0};
/// Returns how many bytes of a member belong to it alone, if the next member lies in its padding; otherwise k_all_room.
[[nodiscard]] std::uint64_t room_of(const types::type_description& schema, std::uint32_t row,
                                    const types::type_part& member);
/// True if a class that states its members (REM_REFLECT) may have others: left-out members, and bases that it does not
/// list.
[[nodiscard]] bool may_leave_out(const types::type_row& row);

} // namespace remanence::inspect
