#include "objects/json_source.hpp"

#include "base/real_text.hpp"
#include "inspect/object_text.hpp"
#include "types/number_shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <system_error>

namespace remanence::objects {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

std::string shown(const json_part& part) {
    constexpr std::size_t k_shown_max = 40;
    switch (part.kind) {
    case json_kind::null:
        return "null";
    case json_kind::truth:
        return part.is_true ? "true" : "false";
    case json_kind::number:
        return std::string(part.text.substr(0, k_shown_max));
    case json_kind::text: {
        std::size_t end = std::min(part.text.size(), k_shown_max);
        while (end != 0 && end != part.text.size() && (static_cast<unsigned char>(part.text[end]) & 0xc0U) == 0x80)
            --end; // so that no character is split
        return '"' + std::string(part.text.substr(0, end)) + (end == part.text.size() ? "\"" : "...\"");
    }
    case json_kind::list:
        return "a list";
    case json_kind::object:
        return "an object";
    }
    return {};
}

/// Returns false if the text is not a whole number, or if the number exceeds 64 bits.
bool read_whole(std::string_view text, scalar& value) {
    const char* const end = text.data() + text.size();
    std::from_chars_result read{};
    if (text.starts_with('-')) {
        std::int64_t number = 0;
        read = std::from_chars(text.data(), end, number);
        value.bits = static_cast<std::uint64_t>(number);
        value.is_negative = number != 0; // -0 is not negative
    } else {
        read = std::from_chars(text.data(), end, value.bits);
    }
    return read.ec == std::errc() && read.ptr == end;
}

} // namespace

std::optional<std::string> bytes_of_hex(std::string_view hex) {
    if (hex.size() % 2 != 0)
        return {};
    std::string bytes(hex.size() / 2, '\0');
    for (std::size_t i = 0; i != bytes.size(); ++i) {
        unsigned value = 0;
        const char* const end = hex.data() + 2 * i + 2;
        const auto read = std::from_chars(hex.data() + 2 * i, end, value, 16);
        if (read.ec != std::errc() || read.ptr != end)
            return {};
        bytes[i] = static_cast<char>(value);
    }
    return bytes;
}

std::optional<element_place> element_in(const json_document& line, const type_row& container) {
    const bool is_map = inspect::is_map(container);
    const inspect::element_rows rows = inspect::rows_of_elements(container);
    const std::uint32_t key = line.member(0, "k");
    const std::uint32_t value = line.member(0, "v");
    if (value == 0 || (key != 0) != is_map || line.root().children != (is_map ? 2U : 1U))
        return {};
    return element_place{.value = {rows.value, value}, .has_key = is_map, .key = {is_map ? rows.key : 0, key}};
}

unexpected json_source::damaged(object_place of, const std::string& what) const {
    static_cast<void>(of);
    return fail(errc::invalid_argument, line() + what);
}

unexpected json_source::too_deep(object_place of) const {
    return fail(errc::not_supported, line() + "a " + schema().name_of(of.row) + " lies more than " +
                                         std::to_string(inspect::k_depth_max) +
                                         " levels deep in other objects, which is the most that can be loaded");
}

unexpected json_source::is_not(object_place of, std::string_view wanted) const {
    return damaged(of, shown(part(of)) + " is no " + schema().name_of(of.row) + ": that is " + std::string(wanted));
}

/// Reads a real number in its own size. Reading it in a larger size and rounding it then may yield a neighbouring
/// value.
result<scalar> json_source::real(object_place of) {
    const type_row& is = row(of.row);
    return is.size == sizeof(float)    ? real_of<float>(of)
           : is.size == sizeof(double) ? real_of<double>(of)
                                       : real_of<long double>(of);
}

template <class T>
result<scalar> json_source::real_of(object_place of) {
    constexpr T k_nan = std::numeric_limits<T>::quiet_NaN();
    constexpr T k_infinity = std::numeric_limits<T>::infinity();
    const json_part& from = part(of);
    std::array<std::byte, sizeof(T)> bytes{};
    T value = 0;
    const std::uint32_t bits = document_.member(static_cast<std::uint32_t>(of.at), "$bits");
    if (bits != 0 && from.children == 1 && document_.at(bits).kind == json_kind::text) {
        auto read = bytes_of_hex(document_.at(bits).text);
        if (!read || read->size() != inspect::real_bytes(sizeof(T)))
            return damaged(of, "the bits of a " + schema().name_of(of.row) + " are " +
                                   std::to_string(2 * inspect::real_bytes(sizeof(T))) + " hexadecimal digits");
        std::reverse(read->begin(), read->end());
        std::memcpy(bytes.data(), read->data(), read->size());
    } else {
        if (from.kind == json_kind::text && (from.text == "nan" || from.text == "-nan"))
            value = from.text == "nan" ? k_nan : -k_nan;
        else if (from.kind == json_kind::text && (from.text == "inf" || from.text == "-inf"))
            value = from.text == "inf" ? k_infinity : -k_infinity;
        else if (from.kind != json_kind::number)
            return is_not(of, R"(a number, "nan", "-nan", "inf", "-inf" or {"$bits":...})");
        else if (!read_real(from.text, value))
            return damaged(of, shown(from) + " is out of the range of " + schema().name_of(of.row));
        std::memcpy(bytes.data(), &value, inspect::real_bytes(sizeof(T)));
    }
    scalar made;
    if (!made.take_real(bytes.data(), sizeof(T)))
        return is_not(of, "a number of a size that is known");
    return made;
}

result<scalar> json_source::number(object_place of) {
    const type_row& is = row(of.row);
    const json_part& from = part(of);
    scalar value;
    switch (is.shape) {
    case shape_kind::boolean:
        if (from.kind != json_kind::truth)
            return is_not(of, "true or false");
        value.bits = from.is_true ? 1 : 0;
        return value;
    case shape_kind::floating:
        return real(of);
    case shape_kind::character:
        if (from.kind == json_kind::text) {
            if (from.text.size() != 1)
                return is_not(of, "a text of one character of ASCII, or a number");
            value.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(from.text[0]));
            return value;
        }
        break;
    case shape_kind::enumeration:
        if (from.kind == json_kind::text) {
            const auto found = std::find(is.labels.begin(), is.labels.end(), from.text);
            if (found == is.labels.end())
                return is_not(of, "the name of one of its enumerators, or a number");
            value.label = *found;
            value.bits = is.numbers[static_cast<std::size_t>(found - is.labels.begin())];
            value.is_negative =
                static_cast<std::int64_t>(value.bits) < 0 && row(is.parts[0].type).shape == shape_kind::signed_number;
            return value;
        }
        break;
    default:
        if (is.size > sizeof value.bits) {
            auto bytes = text(of);
            if (!bytes)
                return bytes.error();
            value.what = scalar::form::bytes;
            value.bytes = *bytes;
            return value;
        }
    }
    if (from.kind != json_kind::number)
        return is_not(of, "a number");
    if (!read_whole(from.text, value))
        return damaged(of, shown(from) + " is no whole number, or out of the range of " + schema().name_of(of.row));
    return value;
}

result<std::string_view> json_source::text(object_place of) {
    const json_part* from = &part(of);
    auto index = static_cast<std::uint32_t>(of.at);
    if (row(of.row).shape == shape_kind::serialised) {
        const bool is_one = from->children == 1;
        index = document_.member(index, "$serialised");
        if (index == 0 || !is_one)
            return is_not(of, "{\"$serialised\":...}");
        from = &document_.at(index);
    }
    if (from->kind == json_kind::text)
        return from->text;
    const std::uint32_t hex = document_.member(index, "$bytes");
    if (hex != 0 && from->children == 1 && document_.at(hex).kind == json_kind::text) {
        if (auto bytes = bytes_of_hex(document_.at(hex).text)) {
            decoded_ = std::move(*bytes);
            return std::string_view(decoded_);
        }
    }
    return is_not(of, "a text, or {\"$bytes\":...}");
}

/// Returns the text of a member that has bytes as hexadecimal digits.
result<std::string_view> json_source::hex_of(object_place of, std::string_view name) {
    const std::uint32_t hex = document_.member(static_cast<std::uint32_t>(of.at), name);
    auto bytes =
        hex != 0 && document_.at(hex).kind == json_kind::text ? bytes_of_hex(document_.at(hex).text) : std::nullopt;
    if (!bytes)
        return damaged(of, "a " + schema().name_of(of.row) + " lacks its bytes, \"" + std::string(name) +
                               "\", as hexadecimal digits");
    decoded_ = std::move(*bytes);
    return std::string_view(decoded_);
}

result<std::string_view> json_source::hidden(object_place of) {
    const std::uint32_t type = document_.member(static_cast<std::uint32_t>(of.at), "$hidden");
    if (type == 0 || document_.at(type).kind != json_kind::text || document_.at(type).text != schema().name_of(of.row))
        return is_not(of, "{\"$hidden\":\"" + schema().name_of(of.row) + "\",\"bytes\":...}");
    if (const auto name = document_.name_twice(static_cast<std::uint32_t>(of.at)))
        return damaged(of, "a " + schema().name_of(of.row) + " has \"" + std::string(*name) + "\" twice");
    auto bytes = hex_of(of, "bytes");
    if (bytes && bytes->size() != row(of.row).size)
        return damaged(of, "a " + schema().name_of(of.row) + " has " + std::to_string(row(of.row).size) +
                               " bytes, not " + std::to_string(bytes->size()));
    return bytes;
}

bool json_source::may_have_rest(std::uint32_t row_index) const {
    return inspect::has_bit_fields(row(row_index)) || inspect::may_leave_out(row(row_index));
}

result<std::string_view> json_source::rest(object_place of, std::uint64_t /*room*/) {
    const type_row& is = row(of.row);
    const bool has_bits = is.shape == shape_kind::members && !is.numbers.empty();
    const bool has_rest = document_.member(static_cast<std::uint32_t>(of.at), k_rest) != 0;
    if (!has_bits)
        return has_rest || inspect::has_unknown_bits(is) ? hex_of(of, k_rest) : std::string_view();
    const auto ranges = inspect::rest_of(schema(), of.row);
    std::string bytes;
    if (has_rest) {
        auto read = hex_of(of, k_rest);
        if (!read)
            return read;
        bytes = *read;
    } else {
        for (const inspect::byte_range& each : ranges)
            bytes.append(each.count, '\0');
    }
    std::map<std::size_t, std::uint64_t> values; // of bit-fields, by the index of the member
    std::uint64_t total = 0;
    for (const inspect::byte_range& each : ranges)
        total += each.count;
    if (bytes.size() != total)
        return damaged(of, "a " + schema().name_of(of.row) + " has " + std::to_string(total) +
                               " bytes beside its members, not " + std::to_string(bytes.size()));
    for (std::size_t i = 0; i != is.fields.size(); ++i) {
        const auto place = inspect::place_of_member(is, is.fields, i, 0);
        if (!place || place->bits == 0)
            continue;
        auto value = bit_field(of, is.fields[i], place->bits);
        if (!value)
            return value.error();
        values[i] = *value;
    }
    inspect::put_bits(bytes, ranges, is,
                      [&](std::size_t member, std::uint64_t bit) { return (values.at(member) >> bit & 1U) != 0; });
    decoded_ = std::move(bytes);
    return std::string_view(decoded_);
}

/// Returns the value of a bit-field; an error if the value does not fit.
result<std::uint64_t> json_source::bit_field(object_place of, const type_part& member, unsigned bits) {
    const std::uint32_t found = document_.member(static_cast<std::uint32_t>(of.at), member.name);
    if (found == 0)
        return damaged(of, "a " + schema().name_of(of.row) + " lacks its member " + member.name);
    auto value = number({member.type, found});
    if (!value)
        return value.error();
    const type_row& is = row(member.type);
    const bool is_signed =
        types::is_signed(is.shape == shape_kind::enumeration ? row(is.parts[0].type).shape : is.shape);
    const unsigned digits = is_signed ? bits - 1 : bits;
    const std::uint64_t above = value->is_negative ? ~value->bits : value->bits; // the sign bit must be 0
    if ((value->is_negative && !is_signed) || (digits != 64 && above >> digits != 0))
        return damaged(of, shown(document_.at(found)) + " does not fit into the " + std::to_string(bits) + " bits of " +
                               member.name);
    return value->bits;
}

result<std::optional<held_place>> json_source::held(object_place of) {
    const type_row& is = row(of.row);
    const json_part& from = part(of);
    const auto index = static_cast<std::uint32_t>(of.at);
    if (from.kind == json_kind::null)
        return std::optional<held_place>();
    if (is.shape == shape_kind::optional) {
        if (from.kind != json_kind::list || from.children != 1)
            return is_not(of, "null, or a list of one value");
        return std::optional(held_place{{is.parts[0].type, index + 1}, 0});
    }
    const std::uint32_t type = document_.member(index, "$holds");
    const std::uint32_t value = document_.member(index, "value");
    const std::uint32_t number = document_.member(index, "alternative");
    if (type == 0 || value == 0 || from.children != (number == 0 ? 2U : 3U) ||
        document_.at(type).kind != json_kind::text)
        return is_not(of, "null, or {\"$holds\":TYPE,\"value\":...}");
    for (std::uint32_t i = 0; i != is.parts.size(); ++i) {
        if (schema().name_of(is.parts[i].type) == document_.at(type).text &&
            (number == 0 || document_.at(number).text == std::to_string(i)))
            return std::optional(held_place{{is.parts[i].type, value}, i});
    }
    return damaged(of,
                   shown(document_.at(type)) + " is none of the types that a " + schema().name_of(of.row) + " holds");
}

result<std::uint64_t> json_source::count(object_place of) {
    if (part(of).kind != json_kind::list)
        return is_not(of, "a list");
    return std::uint64_t{part(of).children};
}

result<void> json_source::for_each_element(object_place of, const visit_element& visit) {
    const type_row& is = row(of.row);
    const json_part& from = part(of);
    if (from.kind != json_kind::list)
        return is_not(of, "a list");
    const bool has_keys = inspect::is_map(is);
    const inspect::element_rows rows = inspect::rows_of_elements(is);
    for (auto i = static_cast<std::uint32_t>(of.at) + 1; i != from.next; i = document_.at(i).next) {
        element_place element;
        element.value = {rows.value, i};
        if (has_keys) {
            if (document_.at(i).kind != json_kind::list || document_.at(i).children != 2)
                return damaged(of, shown(document_.at(i)) + " is no element of a " + schema().name_of(of.row) +
                                       ": that is a list of key and value");
            element = {.value = {rows.value, document_.at(i + 1).next}, .has_key = true, .key = {rows.key, i + 1}};
        }
        auto more = visit(element);
        if (!more)
            return more.error();
        if (!*more)
            break;
    }
    return {};
}

result<std::optional<object_place>> json_source::member(object_place of, const type_part& part_of) {
    if (!part_of.offset)
        return std::optional<object_place>();
    if (part(of).kind != json_kind::object)
        return is_not(of, "an object");
    const std::uint32_t end = part(of).next;
    const auto index = static_cast<std::uint32_t>(of.at);
    const auto find = [&](std::string_view name) -> std::uint32_t {
        const bool is_next = found_.line == line_ && found_.object == index;
        const std::uint32_t expected = is_next ? found_.next : index + 1;
        if (expected != end && document_.at(expected).text == name)
            return expected + 1;
        return document_.member(index, name);
    };
    const std::uint32_t found = part_of.name.empty() ? find(member_name(schema(), part_of)) : find(part_of.name);
    if (found == 0)
        return damaged(of, "a " + schema().name_of(of.row) + " lacks its member " + member_name(schema(), part_of));
    found_ = {line_, index, document_.at(found).next};
    return std::optional(object_place{part_of.type, found});
}

bool json_source::has_these_in_order(object_place of, const std::vector<type_part>& members) const {
    auto at = static_cast<std::uint32_t>(of.at) + 1;
    const std::uint32_t end = part(of).next;
    for (std::size_t i = 0; i != members.size(); ++i) {
        const type_part& each = members[i];
        if (!inspect::place_of_member(row(of.row), members, i, 0))
            continue;
        if (at == end || each.name.empty() || document_.at(at).text != each.name)
            return false;
        at = document_.at(at + 1).next;
    }
    if (at != end && may_have_rest(of.row) && document_.at(at).text == k_rest)
        at = document_.at(at + 1).next;
    return at == end;
}

result<void> json_source::check_members(object_place of) {
    const json_part& from = part(of);
    if (from.kind != json_kind::object)
        return is_not(of, "an object");
    const auto* const members = members_of(row(of.row));
    const auto end = from.next;
    if (has_these_in_order(of, *members))
        return {};
    for (auto i = static_cast<std::uint32_t>(of.at) + 1; i != end; i = document_.at(i + 1).next) {
        const std::string_view name = document_.at(i).text;
        const bool is_rest = name == k_rest && may_have_rest(of.row);
        const bool is_known = is_rest || std::any_of(members->begin(), members->end(), [&](const type_part& each) {
                                  const auto index = static_cast<std::size_t>(&each - members->data());
                                  return inspect::place_of_member(row(of.row), *members, index, 0) &&
                                         (each.name.empty() ? schema().name_of(each.type) == name : each.name == name);
                              });
        if (!is_known)
            return damaged(of, "a " + schema().name_of(of.row) + " has no member " + shown(document_.at(i)));
        if (document_.member(static_cast<std::uint32_t>(of.at), name) != i + 1)
            return damaged(of,
                           "a " + schema().name_of(of.row) + " has its member " + shown(document_.at(i)) + " twice");
    }
    return {};
}

result<bool> json_source::is_null(object_place pointer) { return part(pointer).kind == json_kind::null; }

result<std::uint32_t> json_source::reference(object_place pointer) const {
    const std::uint32_t list = document_.member(static_cast<std::uint32_t>(pointer.at), "$ref");
    if (list == 0 || part(pointer).children != 1 || document_.at(list).kind != json_kind::list ||
        document_.at(list).children == 0)
        return is_not(pointer, "null, or {\"$ref\":[OWNER,STEP,...]}");
    return list;
}

} // namespace remanence::objects
