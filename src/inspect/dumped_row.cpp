#include "inspect/dumped_row.hpp"

#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"

#include <string_view>
#include <vector>

namespace remanence::inspect {

using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

std::string_view word_of(type_kind kind) {
    switch (kind) {
    case type_kind::pointer:
        return "pointer";
    case type_kind::array:
        return "array";
    case type_kind::members:
        return "members";
    case type_kind::object:
        return "object";
    case type_kind::serialised:
        return "serialised";
    case type_kind::plain:
    case type_kind::reference:
        break;
    }
    return "plain";
}

std::string_view word_of(detail::shape_kind shape) {
    using detail::shape_kind;
    switch (shape) {
    case shape_kind::none:
        return "";
    case shape_kind::signed_number:
        return "signed";
    case shape_kind::unsigned_number:
        return "unsigned";
    case shape_kind::floating:
        return "floating";
    case shape_kind::boolean:
        return "boolean";
    case shape_kind::character:
        return "character";
    case shape_kind::enumeration:
        return "enumeration";
    case shape_kind::members:
        return "members";
    case shape_kind::same_as_part:
        return "same";
    case shape_kind::array:
        return "array";
    case shape_kind::optional:
        return "optional";
    case shape_kind::variant:
        return "variant";
    case shape_kind::text:
    case shape_kind::text_by_link:
    case shape_kind::packed_text:
        return "text";
    case shape_kind::contiguous:
    case shape_kind::linked_block:
    case shape_kind::deque:
    case shape_kind::ring:
    case shape_kind::chain:
    case shape_kind::bits:
        return "sequence";
    case shape_kind::tree:
    case shape_kind::btree:
    case shape_kind::hash_chain:
    case shape_kind::hash_table:
    case shape_kind::packed:
        return "keyed";
    case shape_kind::serialised:
        return "serialised";
    case shape_kind::foreign: // occurs only in a dump that leaves such objects out
        return "foreign";
    }
    return "";
}

/// `of` is the row that has the bit-fields among these parts.
void put_parts(std::string& out, std::string_view key, const type_row& of, const std::vector<type_part>& parts,
               bool named) {
    if (parts.empty())
        return;
    out += ",\"";
    out += key;
    out += "\":[";
    for (std::size_t i = 0; i != parts.size(); ++i) {
        if (i != 0)
            out += ',';
        if (!named) {
            out += std::to_string(parts[i].type);
            continue;
        }
        out += "{\"name\":";
        put_json_bytes(out, parts[i].name);
        out += ",\"type\":" + std::to_string(parts[i].type);
        if (parts[i].offset)
            out += ",\"offset\":" + std::to_string(*parts[i].offset);
        else if (const auto place = place_of_member(of, parts, i, 0))
            out += ",\"bit\":" + std::to_string(8 * place->at + place->first_bit) +
                   ",\"bits\":" + std::to_string(place->bits);
        out += '}';
    }
    out += ']';
}

} // namespace

void put_dumped_row(std::string& out, const type_description& schema, std::uint32_t index) {
    const type_row& row = schema.rows[index];
    out += "{\"kind\":\"";
    out += word_of(row.kind);
    out += "\",\"name\":";
    put_json_bytes(out, schema.name_of(index));
    if (row.size != 0)
        out += ",\"size\":" + std::to_string(row.size) + ",\"alignment\":" + std::to_string(row.alignment);
    if (row.number != 0)
        out += ",\"layout_number\":" + std::to_string(row.number);
    if (row.kind == type_kind::array)
        out += ",\"extent\":" + std::to_string(row.extent);
    if (const std::string_view shape = word_of(row.shape); !shape.empty()) {
        out += ",\"shape\":\"";
        out += shape;
        out += '"';
    }
    if (row.shape == detail::shape_kind::array)
        out += ",\"extent\":" + std::to_string(row.numbers[0]);
    if (row.shape == detail::shape_kind::same_as_part)
        out += ",\"part\":" + std::to_string(row.numbers[0]);
    if (!row.labels.empty()) {
        out += ",\"enumerators\":{";
        for (std::size_t i = 0; i != row.labels.size(); ++i) {
            if (i != 0)
                out += ',';
            put_json_text(out, row.labels[i]);
            out += ':' + std::to_string(static_cast<std::int64_t>(row.numbers[i]));
        }
        out += '}';
    }
    const bool is_struct = row.shape == detail::shape_kind::members;
    if (row.kind == type_kind::members && !is_struct)
        put_parts(out, "members", row, row.parts, true);
    else
        put_parts(out, "parts", row, row.parts, false);
    put_parts(out, is_struct ? "members" : "texts", row, row.fields, true);
    out += '}';
}

} // namespace remanence::inspect
