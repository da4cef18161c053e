// Finds the places of an object's parts from its row: sizes, bit-fields, and bytes that belong to no member.
// Precondition: the rows are sound (types/schema_table.hpp).
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

/// An object or a part of one: its row in the schema, and its place in the heap.
struct object_place {
    std::uint32_t row = 0;
    std::uint64_t at = 0;       // heap offset
    std::uint8_t first_bit = 0; // for a bit-field: its first bit, counted from that byte
    std::uint8_t bits = 0;      // for a bit-field: number of bits; else 0
};

/// Returns the place of a member in an object at heap offset `of`. `index` is the member's index in `members`. Returns
/// nothing if the member is a bit-field whose place is not known.
[[nodiscard]] std::optional<object_place> place_of_member(const types::type_row& row,
                                                          const std::vector<types::type_part>& members,
                                                          std::size_t index, std::uint64_t of);
/// Returns the alignment in bytes. The alignment of an array is that of its elements.
[[nodiscard]] std::uint64_t alignment_of(const types::type_description& schema, std::uint32_t row);
[[nodiscard]] bool has_bit_fields(const types::type_row& row);
/// True if the row has bit-fields whose place is not known, so that only their bytes can be written.
[[nodiscard]] bool has_unknown_bits(const types::type_row& row);
/// Returns the size of an object of this row in bytes; 0 if it is not known.
[[nodiscard]] std::uint64_t size_of(const types::type_description& schema, std::uint32_t row);
struct byte_range {
    std::uint64_t at, count;
    friend bool operator==(const byte_range&, const byte_range&) = default;
};
/// Returns the ranges in which no member with a known place and no vptr lies, counted from the object's beginning. They contain
/// bit-fields, bytes that a class leaves out, and padding. Precondition: the row has members.
[[nodiscard]] std::vector<byte_range> rest_of(const types::type_description& schema, std::uint32_t row);
/// Sets the bits of those bit-fields whose place is known. `rest` holds the bytes of these ranges, joined. `is_one`
/// returns the value of a bit, given the index of the member and the index of the bit in it.
void put_bits(std::string& rest, const std::vector<byte_range>& ranges, const types::type_row& row,
              const std::function<bool(std::size_t member, std::uint64_t bit)>& is_one);
/// True if `rest`, the joined bytes of these ranges, may contain an address: an aligned word that is not 0, in bytes
/// that a class leaves out.
[[nodiscard]] bool has_address(const types::type_row& row, const std::vector<byte_range>& ranges,
                               std::string_view rest);
inline constexpr std::uint64_t k_all_room = ~std::uint64_t{0};
/// If another member lies in the padding of this one, returns how many bytes belong to this one; otherwise k_all_room.
[[nodiscard]] std::uint64_t room_of(const types::type_description& schema, std::uint32_t row,
                                    const types::type_part& member);
/// True if a class that states its members (REM_REFLECT) may have left out members or bases.
[[nodiscard]] bool may_leave_out(const types::type_row& row);

} // namespace remanence::inspect
