// Reads numbers of a heap: also bit-fields, characters, booleans and enumerations.
#pragma once

#include "base/result.hpp"
#include "inspect/object_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace remanence::inspect {

/// Reads a number of at most 8 bytes, which are little-endian.
[[nodiscard]] inline std::uint64_t unsigned_at(const std::byte* from, std::uint64_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, size);
    return value;
}
[[nodiscard]] inline std::int64_t signed_at(const std::byte* from, std::uint64_t size) {
    const unsigned unused = static_cast<unsigned>(64 - 8 * size);
    return static_cast<std::int64_t>(unsigned_at(from, size) << unused) >> unused;
}
/// True if numbers of this row have a sign: also an enumeration that is stored as such a number.
[[nodiscard]] inline bool is_signed(const types::type_description& schema, std::uint32_t index) {
    const types::type_row& row = schema.rows[index];
    const detail::shape_kind shape =
        row.shape == detail::shape_kind::enumeration ? schema.rows[row.parts[0].type].shape : row.shape;
    return shape == detail::shape_kind::signed_number || shape == detail::shape_kind::character;
}
/// Returns how many bytes a number, perhaps a bit-field, occupies.
[[nodiscard]] inline std::uint64_t bytes_of_number(const types::type_row& row, object_place of) {
    return of.bits == 0 ? row.size : (of.first_bit + of.bits + 7U) / 8;
}
/// Returns the bits of a bit-field, extended to a number of 8 bytes.
[[nodiscard]] inline std::uint64_t bits_at(const std::byte* from, object_place of, bool is_signed) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i != of.bits; ++i) {
        const unsigned bit = of.first_bit + i;
        value |= (std::to_integer<std::uint64_t>(from[bit / 8]) >> bit % 8 & 1U) << i;
    }
    const unsigned unused = 64U - of.bits;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused) : value;
}

/// A number without loss.
struct whole_or_real {
    bool is_real = false;
    bool is_negative = false; // of a whole number
    std::uint64_t bits = 0;   // of a whole number, as two's complement
    long double real = 0;
};
/// Reads a number. errc::not_supported if it has more than 64 bits and is no real number; errc::corrupt. Precondition: the
/// row's form is form::number.
result<whole_or_real> number_of(object_reader& reader, object_place of);

/// Returns the name of an enumeration's value; empty if it has none.
[[nodiscard]] std::string_view label_of(const types::type_row& enumeration, std::uint64_t bits);

} // namespace remanence::inspect
