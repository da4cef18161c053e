#include "inspect/row_layout.hpp"

#include "base/units.hpp"
#include "inspect/row_forms.hpp"

#include <algorithm>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::uint64_t k_word = 8;
constexpr std::size_t k_numbers_of_bits = 3; // for each bit-field: its member, its first bit and its number of bits

} // namespace

std::uint64_t alignment_of(const types::type_description& schema, std::uint32_t index) {
    while (schema.rows[index].kind == type_kind::array)
        index = schema.rows[index].parts.front().type;
    const type_row& row = schema.rows[index];
    return row.kind == type_kind::pointer ? k_word : std::max<std::uint64_t>(row.alignment, 1);
}

bool has_bit_fields(const type_row& row) {
    return row.kind == type_kind::members &&
           std::any_of(row.parts.begin(), row.parts.end(), [](const type_part& each) { return !each.offset; });
}

bool has_unknown_bits(const type_row& row) {
    if (row.shape != shape_kind::members)
        return has_bit_fields(row);
    const auto without_place =
        std::count_if(row.fields.begin(), row.fields.end(), [](const type_part& each) { return !each.offset; });
    return static_cast<std::size_t>(without_place) != row.numbers.size() / k_numbers_of_bits;
}

std::optional<object_place> place_of_member(const type_row& row, const std::vector<type_part>& members,
                                            std::size_t index, std::uint64_t of) {
    const type_part& member = members[index];
    if (member.offset)
        return object_place{member.type, of + *member.offset};
    if (row.shape != shape_kind::members)
        return {};
    for (std::size_t i = 0; i != row.numbers.size(); i += k_numbers_of_bits) {
        const std::uint64_t first = row.numbers[i + 1];
        if (row.numbers[i] == index)
            return object_place{member.type, of + first / 8, static_cast<std::uint8_t>(first % 8),
                                static_cast<std::uint8_t>(row.numbers[i + 2])};
    }
    return {};
}

namespace {

/// True for a class without members. One that names none (REM_REFLECT) may have some, if it has room for an address.
bool is_empty_class(const type_row& row) {
    return row.shape == shape_kind::members && row.fields.empty() && row.size < k_word;
}

} // namespace

bool may_leave_out(const type_row& row) {
    return row.shape == shape_kind::members && !is_empty_class(row) && !row.name.starts_with("std::");
}

std::vector<byte_range> rest_of(const types::type_description& schema, std::uint32_t index) {
    const type_row& row = schema.rows[index];
    std::vector<byte_range> taken;
    for (const type_part& each : *members_of(row)) {
        if (each.offset && !is_empty_class(schema.rows[each.type]))
            taken.push_back({*each.offset, size_of(schema, each.type)});
    }
    if (has_vptr(row))
        taken.push_back({0, k_word});
    std::sort(taken.begin(), taken.end(), [](const byte_range& a, const byte_range& b) { return a.at < b.at; });
    taken.push_back({row.size, 0});
    std::vector<byte_range> rest;
    std::uint64_t end = 0;
    for (const byte_range& each : taken) {
        if (each.at > end)
            rest.push_back({end, each.at - end});
        end = std::max(end, each.at + each.count);
    }
    return rest;
}

void put_bits(std::string& rest, const std::vector<byte_range>& ranges, const type_row& row,
              const std::function<bool(std::size_t member, std::uint64_t bit)>& is_one) {
    if (row.shape != shape_kind::members)
        return;
    for (std::size_t i = 0; i != row.numbers.size(); i += k_numbers_of_bits) {
        for (std::uint64_t bit = 0; bit != row.numbers[i + 2]; ++bit) {
            const std::uint64_t place = row.numbers[i + 1] + bit;
            std::uint64_t begin = 0; // where the bytes of the current range begin in `rest`
            for (const byte_range& each : ranges) {
                if (place / 8 >= each.at && place / 8 - each.at < each.count) {
                    char& byte = rest[begin + place / 8 - each.at];
                    const auto mask = static_cast<unsigned char>(1U << place % 8);
                    byte = static_cast<char>(is_one(row.numbers[i], bit) ? byte | mask : byte & ~mask);
                }
                begin += each.count;
            }
        }
    }
}

bool has_address(const type_row& row, const std::vector<byte_range>& ranges, std::string_view rest) {
    if (!may_leave_out(row) || row.alignment < k_word)
        return false;
    std::uint64_t begin = 0; // where the bytes of the current range begin in `rest`
    for (const byte_range& each : ranges) {
        for (std::uint64_t at = align_up(each.at, k_word); at + k_word <= each.at + each.count; at += k_word) {
            const std::string_view word = rest.substr(begin + at - each.at, k_word);
            if (word.find_first_not_of('\0') != std::string_view::npos)
                return true;
        }
        begin += each.count;
    }
    return false;
}

std::uint64_t room_of(const types::type_description& schema, std::uint32_t index, const type_part& member) {
    std::uint64_t room = k_all_room;
    for (const type_part& each : *members_of(schema.rows[index])) {
        if (each.offset && *each.offset > *member.offset && !is_empty_class(schema.rows[each.type]))
            room = std::min(room, *each.offset - *member.offset);
    }
    return room < size_of(schema, member.type) ? room : k_all_room;
}

std::uint64_t size_of(const types::type_description& schema, std::uint32_t index) {
    std::uint64_t times = 1;
    for (;;) {
        const type_row& each = schema.rows[index];
        if (each.kind == type_kind::pointer)
            return times * k_word;
        if (each.kind != type_kind::array)
            return each.size > k_size_max / times ? 0 : times * each.size;
        if (each.extent > k_size_max / times)
            return 0;
        times *= std::max<std::uint64_t>(each.extent, 1);
        index = each.parts.front().type;
    }
}

} // namespace remanence::inspect
