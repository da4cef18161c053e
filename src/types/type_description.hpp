// The structure of a type, as a table that is stored with a root. If another version of the program has a different
// type, the library can say what differs.
//
// An encoding (docs/format.md, "Type descriptions") that comes from a heap is input: decode() checks all of it (I7).
#pragma once

#include <remanence/types/detail/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::types {

/// Longer descriptions and schemas are not stored.
inline constexpr std::size_t k_description_bytes_max = std::size_t{64} * 1024;
inline constexpr std::size_t k_schema_bytes_max = std::size_t{1024} * 1024;

enum class type_kind : std::uint8_t {
    plain = 'n',     // a function, void, or a tag: only a name
    reference = '&', // only a name
    pointer = '*',   // to its one part
    array = '[',     // of its one part, `extent` times
    object =
        // name, size and alignment; its parts are the template's arguments, or the underlying type of an enumeration
    'o',
    members = 'm',    // an aggregate: name, size and alignment; its parts are members
    serialised = 's', // a name; its parts are members that are stored one after the other
};

struct type_part {
    std::string name = {};                    // the member's name; empty if it is not known (bit-fields)
    std::optional<std::uint64_t> offset = {}; // the member's offset in its object; nothing if it is not known
    std::uint32_t type = 0;                   // the row of its type
    friend bool operator==(const type_part&, const type_part&) = default;
};

struct type_row {
    type_kind kind = type_kind::plain;
    std::string name = {};       // empty for pointers and arrays
    std::uint64_t size = 0;      // in bytes
    std::uint64_t alignment = 0; // in bytes
    std::uint64_t number = 0;    // layout_number
    std::uint64_t extent = 0;    // how many elements an array has; 0: not known
    std::string note = {};       // what else distinguishes its layout, for example " string 1"
    std::vector<type_part> parts = {};
    // The rest is set in a schema only (include/remanence/types/detail/shape.hpp).
    detail::shape_kind shape = detail::shape_kind::none;
    std::vector<std::uint64_t> numbers = {};
    std::vector<std::string> labels = {}; // names of the numbers of an enumeration
    // the members, if the shape is shape_kind::members. A field without a name is a base
    std::vector<type_part> fields = {};
    friend bool operator==(const type_row&, const type_row&) = default;
};

/// Selects what is encoded: a description says how a type looks, a schema also how to read its objects.
enum class row_contents { description, schema };

/// The rows of a type. They refer to each other; pointers and arrays refer only to rows before them.
struct type_description {
    std::vector<type_row> rows;
    std::uint32_t root = 0; // the row of the type that is described

    [[nodiscard]] std::string encode(row_contents contents = row_contents::description) const;
    /// Returns nothing if the bytes are not a valid encoding.
    static std::optional<type_description> decode(std::string_view bytes,
                                                  row_contents contents = row_contents::description);

    /// Returns the name as a programmer would write it: "rem::vector<int>", "double[2][3]", "node*".
    [[nodiscard]] std::string name_of(std::uint32_t row) const;
    /// Returns a line for each class, enumeration and fundamental type that the type consists of, in the order in which
    /// they are met: "address 88/8 {0 rem::string street, 40 rem::string city, 80 int zip}".
    [[nodiscard]] std::string text() const;
};

} // namespace remanence::types
