#include "objects/object_source.hpp"

#include "inspect/object_text.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::objects {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

template <class T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

} // namespace

bool scalar::take_real(const std::byte* from, std::uint64_t size) {
    what = form::real;
    if (size == sizeof(float))
        real = static_cast<long double>(read<float>(from));
    else if (size == sizeof(double))
        real = static_cast<long double>(read<double>(from));
    else if (size == sizeof(long double))
        real = read<long double>(from);
    else
        return false;
    real_size = size;
    std::memcpy(real_bits.data(), from, inspect::real_bytes(size));
    return true;
}

result<scalar> heap_source::number(object_place of) {
    const type_row& is = row(of.row);
    auto bytes = reader_.bytes(of.at, is.size);
    if (!bytes)
        return bytes.error();
    const std::byte* const from = *bytes;
    scalar value;
    if (is.shape == shape_kind::floating)
        return value.take_real(from, is.size) ? result<scalar>(value) : damaged(of, "of a size that is not known");
    if (is.size > sizeof value.bits) {
        value.what = scalar::form::bytes;
        value.bytes = {reinterpret_cast<const char*>(from), is.size};
        return value;
    }
    std::memcpy(&value.bits, from, is.size);
    const shape_kind shape = is.shape == shape_kind::enumeration ? row(is.parts[0].type).shape : is.shape;
    if (shape == shape_kind::signed_number || shape == shape_kind::character) {
        const unsigned unused = static_cast<unsigned>(64 - 8 * is.size);
        value.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value.bits << unused) >> unused);
        value.is_negative = static_cast<std::int64_t>(value.bits) < 0;
    }
    for (std::size_t i = 0; is.shape == shape_kind::enumeration && i != is.numbers.size(); ++i) {
        if (is.numbers[i] == value.bits) {
            value.label = is.labels[i];
            break;
        }
    }
    return value;
}

result<std::string_view> heap_source::text(object_place of) {
    const type_row& is = row(of.row);
    if (!is_character_array(schema(), of.row))
        return reader_.text(of);
    auto bytes = reader_.bytes(of.at, extent_of(is));
    if (!bytes)
        return bytes.error();
    const std::string_view text(reinterpret_cast<const char*>(*bytes), extent_of(is));
    return text.substr(0, text.find_last_not_of('\0') + 1); // if all are 0, npos + 1 is 0
}

result<std::string_view> heap_source::hidden(object_place of) {
    auto bytes = reader_.bytes(of.at, row(of.row).size);
    if (!bytes)
        return bytes.error();
    return std::string_view(reinterpret_cast<const char*>(*bytes), row(of.row).size);
}

result<bool> heap_source::is_null(object_place pointer) {
    auto to = reader_.target(pointer);
    if (!to)
        return to.error();
    return *to == 0;
}

bool has_known_order(const type_description& schema,
                     std::uint32_t index) { // NOLINT(misc-no-recursion): no sound schema is circular
    const type_row& row = schema.rows[index];
    if (row.kind != type_kind::object)
        return false;
    switch (form_of(row)) {
    case form::text:
        return true;
    case form::number:
        return row.size <= sizeof(std::uint64_t) || row.shape == shape_kind::floating;
    case form::members: // excluded, since a class may have a comparison operator of its own
        return (row.name.starts_with("std::pair<") || row.name.starts_with("std::tuple<")) &&
               std::all_of(row.fields.begin(), row.fields.end(),
                           [&](const type_part& part) { return has_known_order(schema, part.type); });
    default:
        return false;
    }
}

result<std::optional<int>> compare(object_source& source, object_place a, object_place b) { // NOLINT(misc-no-recursion)
    const type_row& row = source.row(a.row);
    const auto order = [](const auto& x, const auto& y) { return std::optional<int>(x < y ? -1 : y < x ? 1 : 0); };
    if (inspect::is_text(row)) {
        auto x = source.text(a);
        if (!x)
            return x.error();
        const std::string kept(*x);
        auto y = source.text(b);
        if (!y)
            return y.error();
        return order(std::string_view(kept), *y);
    }
    if (row.shape == shape_kind::members) {
        for (const type_part& part : row.fields) {
            auto x = source.member(a, part);
            auto y = source.member(b, part);
            if (!x || !y)
                return (!x ? x : y).error();
            if (!*x || !*y)
                return std::optional<int>();
            auto compared = compare(source, **x, **y);
            if (!compared || !*compared || **compared != 0)
                return compared;
        }
        return std::optional(0);
    }
    auto x = source.number(a);
    auto y = source.number(b);
    if (!x || !y)
        return (!x ? x : y).error();
    if (x->what == scalar::form::real || y->what == scalar::form::real) {
        if (x->real != x->real || y->real != y->real)
            return std::optional<int>();
        return order(x->real, y->real);
    }
    if (x->is_negative != y->is_negative)
        return std::optional(x->is_negative ? -1 : 1);
    return order(x->bits, y->bits); // right for two negative numbers, too
}

} // namespace remanence::objects
