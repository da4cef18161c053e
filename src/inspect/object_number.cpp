#include "inspect/object_number.hpp"

#include <algorithm>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_row;

namespace {

template <class T>
long double real_at(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<long double>(value);
}

} // namespace

result<whole_or_real> number_of(object_reader& reader, object_place of) {
    const type_row& row = reader.row(of.row);
    auto read = reader.bytes(of.at, bytes_of_number(row, of));
    if (!read)
        return read.error();
    const std::byte* const from = *read;
    whole_or_real number;
    if (row.shape == shape_kind::floating && of.bits == 0) {
        number.is_real = true;
        if (row.size == sizeof(float))
            number.real = real_at<float>(from);
        else if (row.size == sizeof(double))
            number.real = real_at<double>(from);
        else if (row.size == sizeof(long double))
            number.real = real_at<long double>(from);
        else
            return reader.cannot_carry(of, "a size that is not known");
        return number;
    }
    const bool has_sign = is_signed(reader.schema(), of.row);
    if (of.bits != 0)
        number.bits = bits_at(from, of, has_sign);
    else if (row.size > sizeof(std::uint64_t))
        return reader.cannot_carry(of, "more than 64 bits, which no number of this interface has. Read its bytes");
    else
        number.bits = has_sign ? static_cast<std::uint64_t>(signed_at(from, row.size)) : unsigned_at(from, row.size);
    number.is_negative = has_sign && static_cast<std::int64_t>(number.bits) < 0;
    return number;
}

std::string_view label_of(const type_row& enumeration, std::uint64_t bits) {
    const auto& values = enumeration.numbers;
    const auto found = std::find(values.begin(), values.end(), bits);
    return found == values.end() ? std::string_view()
                                 : enumeration.labels[static_cast<std::size_t>(found - values.begin())];
}

} // namespace remanence::inspect
