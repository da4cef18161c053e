#include "inspect/object_text.hpp"

#include "base/plain_text.hpp"
#include "base/real_text.hpp"
#include "inspect/object_number.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::string_view k_digits = "0123456789abcdef";

template <class T>
void put_chars(std::string& out, T value) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    out.append(text.data(), end);
}

/// True if the processor can produce this encoding of an 80-bit number. Other encodings, such as a large number whose
/// highest digit is 0, are invalid, so they are written as bits.
bool is_written_as_always(const std::byte* long_number) {
    constexpr std::uint64_t k_highest = std::uint64_t{1} << 63;
    constexpr std::uint16_t k_exponent = 0x7fff;
    std::uint64_t digits = 0;
    std::uint16_t exponent = 0;
    std::memcpy(&digits, long_number, sizeof digits);
    std::memcpy(&exponent, long_number + sizeof digits, sizeof exponent);
    return ((exponent & k_exponent) != 0) == ((digits & k_highest) != 0);
}

template <class T>
void put_floating(std::string& out, const std::byte* from) {
    constexpr std::size_t k_bytes = real_bytes(sizeof(T)); // padding is not written
    bool is_text = true;
    if constexpr (std::numeric_limits<T>::digits == 64)
        is_text = is_written_as_always(from);
    T value;
    std::memcpy(&value, from, sizeof value);
    if (is_text && std::isfinite(value))
        return put_real(out, value);
    for (const auto& [text, known] :
         {std::pair("nan", std::numeric_limits<T>::quiet_NaN()),
          std::pair("-nan", -std::numeric_limits<T>::quiet_NaN()), std::pair("inf", std::numeric_limits<T>::infinity()),
          std::pair("-inf", -std::numeric_limits<T>::infinity())}) {
        if (std::memcmp(&known, from, k_bytes) == 0)
            return put_json_text(out, text);
    }
    std::string bits(reinterpret_cast<const char*>(from), k_bytes);
    std::reverse(bits.begin(), bits.end());
    out += "{\"$bits\":\"";
    put_hex(out, bits);
    out += "\"}";
}

} // namespace

void put_json_text(std::string& out, std::string_view text) {
    out += '"';
    for (;;) {
        const std::size_t plain = plain_prefix(text);
        out.append(text, 0, plain);
        if (plain == text.size())
            break;
        const char c = text[plain];
        text.remove_prefix(plain + 1);
        switch (c) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\t':
            out += "\\t";
            break;
        default:
            if (static_cast<unsigned char>(c) >= 0x20) {
                out += c;
                break;
            }
            out += "\\u00";
            out += k_digits[static_cast<unsigned char>(c) >> 4];
            out += k_digits[static_cast<unsigned char>(c) & 15];
        }
    }
    out += '"';
}

std::string on_one_line(std::string_view name) {
    std::string shown;
    for (const char c : name) {
        const bool is_control = static_cast<unsigned char>(c) < 0x20;
        std::string escaped;
        put_json_text(escaped, {&c, 1});
        shown += is_control ? escaped.substr(1, escaped.size() - 2) : std::string(1, c);
    }
    return shown;
}

void put_hex(std::string& out, std::string_view bytes) {
    for (const char c : bytes) {
        out += k_digits[static_cast<unsigned char>(c) >> 4];
        out += k_digits[static_cast<unsigned char>(c) & 15];
    }
}

void put_json_bytes(std::string& out, std::string_view bytes) {
    if (plain_prefix(bytes) == bytes.size() || types::is_utf8(bytes))
        return put_json_text(out, bytes);
    out += "{\"$bytes\":\"";
    put_hex(out, bytes);
    out += "\"}";
}

result<void> object_walk::put_hidden(std::string& out, object_place of) {
    out += "{\"$hidden\":";
    put_json_text(out, reader_.schema().name_of(of.row));
    if (is_told_by_bytes(reader_.row(of.row))) {
        auto bytes = reader_.bytes(of.at, reader_.row(of.row).size);
        if (!bytes)
            return bytes.error();
        out += ",\"bytes\":\"";
        put_hex(out, {reinterpret_cast<const char*>(*bytes), reader_.row(of.row).size});
        out += '"';
    }
    out += '}';
    return {};
}

/// Writes the left-out bytes of an object, unless all of them are 0.
result<void> object_walk::put_rest(std::string& out, object_place of, std::uint64_t room, std::string_view before) {
    auto read = reader_.rest(of, room);
    if (!read)
        return read.error();
    const type_row& row = reader_.row(of.row);
    std::string rest(*read);
    // bit-fields with a known place are written as members, so their bits count as 0 here
    put_bits(rest, reader_.rest_of(of.row), row, [](std::size_t, std::uint64_t) { return false; });
    if (!has_unknown_bits(row) && rest.find_first_not_of('\0') == std::string::npos)
        return {};
    if (told_.carries_all() && has_address(row, reader_.rest_of(of.row), rest))
        return reader_.cannot_carry(of, k_left_out);
    out += before;
    out += "\"$rest\":\"";
    put_hex(out, rest);
    out += '"';
    return {};
}

result<void> object_walk::put_number(std::string& out, object_place of) {
    const type_row& row = reader_.row(of.row);
    auto read = reader_.bytes(of.at, bytes_of_number(row, of));
    if (!read)
        return read.error();
    const std::byte* const from = *read;
    if (of.bits != 0) {
        const std::uint64_t value = bits_at(from, of, is_signed(reader_.schema(), of.row));
        return put_whole_number(out, row, reinterpret_cast<const std::byte*>(&value));
    }
    if (row.shape == shape_kind::floating) {
        if (row.size == sizeof(float))
            put_floating<float>(out, from);
        else if (row.size == sizeof(double))
            put_floating<double>(out, from);
        else if (row.size == sizeof(long double))
            put_floating<long double>(out, from);
        else
            return put_hidden(out, of);
        return {};
    }
    if (row.size > sizeof(std::uint64_t)) {
        put_json_bytes(out, {reinterpret_cast<const char*>(from), row.size});
        return {};
    }
    return put_whole_number(out, row, from);
}

result<void> object_walk::put_whole_number(std::string& out, const type_row& row, const std::byte* from) {
    switch (row.shape) {
    case shape_kind::boolean:
        out += unsigned_at(from, 1) != 0 ? "true" : "false";
        break;
    case shape_kind::character: {
        const char c = static_cast<char>(unsigned_at(from, 1));
        if (c >= ' ' && c < 0x7f)
            put_json_text(out, {&c, 1});
        else
            put_chars(out, signed_at(from, 1));
        break;
    }
    case shape_kind::enumeration: {
        const shape_kind stored_as = reader_.row(row.parts[0].type).shape;
        const bool is_signed = stored_as == shape_kind::signed_number || stored_as == shape_kind::character;
        const std::uint64_t value =
            is_signed ? static_cast<std::uint64_t>(signed_at(from, row.size)) : unsigned_at(from, row.size);
        for (std::size_t i = 0; i != row.numbers.size(); ++i) {
            if (row.numbers[i] == value) {
                put_json_text(out, row.labels[i]);
                return {};
            }
        }
        if (is_signed)
            put_chars(out, static_cast<std::int64_t>(value));
        else
            put_chars(out, value);
        break;
    }
    case shape_kind::signed_number:
        put_chars(out, signed_at(from, row.size));
        break;
    default:
        put_chars(out, unsigned_at(from, row.size));
    }
    return {};
}

// NOLINTNEXTLINE(misc-no-recursion): bounded
result<void> object_walk::put_members(std::string& out, object_place of, const std::vector<type_part>& parts,
                                      std::uint64_t room, unsigned depth) {
    if (parts.empty()) {
        out += "{}";
        return {};
    }
    const auto& members = members_of(of.row, parts);
    for (const member_text& each : members) {
        out += each.before;
        if (follows_)
            path_.push_back(each.step);
        next_room_ = each.room;
        object_place place = each.place;
        place.at += of.at;
        REM_TRY(put(out, place, depth + 1));
        if (follows_)
            path_.pop_back();
    }
    if (members.empty())
        out += '{';
    if (reader_.has_rest(of.row))
        REM_TRY(put_rest(out, of, room, members.empty() ? "" : ","));
    out += '}';
    return {};
}

const std::vector<object_walk::member_text>& object_walk::members_of(std::uint32_t row,
                                                                     const std::vector<type_part>& parts) {
    std::vector<member_text>& members = members_[row];
    if (!members.empty())
        return members;
    for (std::size_t i = 0; i != parts.size(); ++i) {
        const type_part& part = parts[i];
        const auto place = place_of_member(reader_.row(row), parts, i, 0);
        if (!place)
            continue;
        member_text& made = members.emplace_back();
        made.before = members.size() == 1 ? "{" : ",";
        put_json_text(made.before, part.name.empty() ? reader_.schema().name_of(part.type) : part.name);
        made.before += ':';
        made.step.member = part.name.empty() ? reader_.row(part.type).name : part.name;
        made.place = *place;
        const type_row& member = reader_.row(part.type);
        if (part.offset && (may_leave_out(member) || has_bit_fields(member)))
            made.room = room_of(reader_.schema(), row, part);
    }
    return members;
}

// NOLINTNEXTLINE(misc-no-recursion): bounded
result<void> object_walk::put_elements(std::string& out, object_place of, unsigned depth) {
    const type_row& row = reader_.row(of.row);
    if (is_character_array(reader_.schema(), of.row)) {
        auto read = reader_.bytes(of.at, extent_of(row));
        if (!read)
            return read.error();
        std::string_view text(reinterpret_cast<const char*>(*read), extent_of(row));
        text = text.substr(0, text.find_last_not_of('\0') + 1); // if all are 0, npos + 1 is 0
        put_json_bytes(out, text);
        return {};
    }
    out += '[';
    std::uint64_t index = 0;
    REM_TRY(reader_.for_each_element(of, [&](const element_place& each) -> result<bool> {
        if (index != 0)
            out += ',';
        path_.push_back({{}, index++});
        if (each.has_key) {
            out += '[';
            path_.push_back({{}, 0});
            REM_TRY(put(out, each.key, depth + 1));
            path_.back().element = 1;
            out += ',';
            REM_TRY(put(out, each.value, depth + 1));
            path_.pop_back();
            out += ']';
        } else {
            REM_TRY(put(out, each.value, depth + 1));
        }
        path_.pop_back();
        return true;
    }));
    out += ']';
    return {};
}

result<void> object_walk::check_length(const std::string& out, object_place of, std::uint64_t more) const {
    if (out.size() <= bytes_max_ && more <= bytes_max_ - out.size())
        return {};
    return fail(errc::limit_reached,
                "the text of a " + reader_.schema().name_of(of.row) +
                    " is longer than the call allows. Allow it more, or read its parts one by one.");
}

// NOLINTNEXTLINE(misc-no-recursion): bounded
result<void> object_walk::put(std::string& out, object_place of, unsigned depth) {
    const std::uint64_t room = std::exchange(next_room_, k_all_room);
    REM_TRY(check_length(out, of, 0));
    if (depth == k_depth_max)
        return reader_.too_deep(of);
    const type_row& row = reader_.row(of.row);
    if (follows_)
        told_.meet(of, path_);
    switch (form_of(row)) {
    case form::pointer:
        return put_pointer(out, of);
    case form::members:
        return put_members(out, of, *inspect::members_of(row), room, depth);
    case form::text:
    case form::serialised:
        return put_text(out, of);
    case form::hidden:
        return put_hidden(out, of);
    case form::same:
        return put(out, {row.parts[row.numbers[0]].type, of.at}, depth + 1);
    case form::optional:
    case form::variant:
        return put_held(out, of, depth);
    case form::array:
    case form::sequence:
    case form::set:
    case form::map:
    case form::packed:
        return put_elements(out, of, depth);
    case form::number:
        break;
    }
    return put_number(out, of);
}

result<void> object_walk::put_pointer(std::string& out, object_place of) {
    auto to = reader_.target(of);
    if (!to)
        return to.error();
    if (*to != 0 && told_.carries_all() && reader_.row(reader_.row(of.row).parts[0].type).kind == type_kind::plain)
        return reader_.cannot_carry(of, "an address of what no type describes, which is another one elsewhere");
    if (*to == 0)
        out += "null";
    else
        told_.point(out, of, *to);
    return {};
}

result<void> object_walk::put_text(std::string& out, object_place of) {
    auto text = reader_.text(of);
    if (!text)
        return text.error();
    REM_TRY(check_length(out, of, text->size()));
    const bool is_serialised = form_of(reader_.row(of.row)) == form::serialised;
    if (is_serialised)
        out += "{\"$serialised\":";
    put_json_bytes(out, *text);
    if (is_serialised)
        out += '}';
    return {};
}

// NOLINTNEXTLINE(misc-no-recursion): bounded
result<void> object_walk::put_held(std::string& out, object_place of, unsigned depth) {
    const type_row& row = reader_.row(of.row);
    auto held = reader_.held(of);
    if (!held)
        return held.error();
    if (!*held) {
        out += "null";
        return {};
    }
    // The value of an optional or a variant is wrapped in a list or an object, so that an empty one can be told from a
    // value that is itself null.
    if (row.shape == shape_kind::optional) {
        out += '[';
        REM_TRY(put(out, **held, depth + 1));
        out += ']';
        return {};
    }
    out += "{\"$holds\":";
    put_json_text(out, reader_.schema().name_of((*held)->row));
    const auto is_same = [&](const type_part& part) { return part.type == (*held)->row; };
    if (std::count_if(row.parts.begin(), row.parts.end(), is_same) > 1)
        out += ",\"alternative\":" + std::to_string((*held)->alternative);
    out += ",\"value\":";
    REM_TRY(put(out, **held, depth + 1));
    out += '}';
    return {};
}

} // namespace remanence::inspect
