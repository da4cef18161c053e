// Writes objects of a heap as JSON, by their schema. docs/reference/dump.md describes the forms.
#pragma once

#include "base/result.hpp"
#include "inspect/object_reader.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace remanence::inspect {

/// Appends a quoted text. `text` must be UTF-8, as the names in a sound schema are.
void put_json_text(std::string& out, std::string_view text);
/// Appends a quoted text, or {"$bytes":"hex"} if the bytes are not UTF-8.
void put_json_bytes(std::string& out, std::string_view bytes);
/// Normalizes a JSON value to the form that object_walk writes: without space between its parts, and with only the
/// necessary escapes.
[[nodiscard]] std::string normal_json(std::string_view value);
/// Returns a name that fits on one line: its control characters are escaped as in JSON.
[[nodiscard]] std::string on_one_line(std::string_view name);
/// Returns how many bytes of a floating-point number of this size are used; the others are padding.
[[nodiscard]] constexpr std::size_t real_bytes(std::size_t size) { return size > 8 ? 10 : size; }
/// Appends two hexadecimal digits for each byte.
void put_hex(std::string& out, std::string_view bytes);

/// The end of a message about bytes that a class leaves out; it follows "has " or "with ".
inline constexpr std::string_view k_left_out = "bytes that its REM_REFLECT leaves out, and that may be an address, "
                                               "which is another one elsewhere. Name the member in "
                                               "REM_REFLECT, or the base in its parentheses, or make these bytes 0";

/// A step on the path from a root to a part of its object: a member's name, or the index of an element in its
/// container. Behind the index of a map's element comes another step: 0 for its key, 1 for its value.
struct path_step {
    std::string_view member; // lies in the schema; empty for an element
    std::uint64_t element = 0;
};

/// Visits an object and all its parts, and writes them as text. Does not follow pointers. errc::not_supported for
/// objects that are nested deeper than k_depth_max.
class object_walk {
public:
    struct listener {
        virtual ~listener() = default;
        /// True if meet() must be called; otherwise paths are not recorded.
        [[nodiscard]] virtual bool follows() const { return false; }
        /// Called with each object and its path, before the object's parts.
        virtual void meet(object_place, const std::vector<path_step>& /*path*/) {}
        /// True if the text must contain all bytes; otherwise bytes that a class leaves out may be omitted.
        [[nodiscard]] virtual bool carries_all() const { return false; }
        /// Appends the text for a pointer. `to` is its target; 0 for null.
        virtual void point(std::string& /*out*/, object_place /*pointer*/, std::uint64_t /*to*/) {}
    };

    object_walk(object_reader& reader, listener& told)
        : reader_(reader), told_(told), members_(reader.schema().rows.size()) {}

    /// From now on put() fails with errc::limit_reached if its text becomes longer than this.
    void limit_bytes(std::uint64_t most) { bytes_max_ = most; }
    /// Appends to `out` the JSON of the object.
    result<void> put(std::string& out, object_place of) {
        follows_ = told_.follows();
        REM_TRY(put(out, of, 0));
        return check_length(out, of, 0);
    }
    /// Returns the path of the object that put() will write, for callers that write the elements of a root one by one.
    std::vector<path_step>& path() { return path_; }

private:
    result<void> put(std::string& out, object_place of, unsigned depth);
    result<void> put_number(std::string& out, object_place of);
    result<void> put_whole_number(std::string& out, const types::type_row& row, const std::byte* from);
    result<void> put_members(std::string& out, object_place of, const std::vector<types::type_part>& parts,
                             std::uint64_t room, unsigned depth);
    /// A member, with the text in front of its value.
    struct member_text {
        std::string before; // a brace or a comma, then the member's name
        path_step step;
        object_place place; // place in the object
        std::uint64_t room = k_all_room;
    };
    /// Returns the members of a row, without bit-fields whose place is not known. Computed once for each row.
    const std::vector<member_text>& members_of(std::uint32_t row, const std::vector<types::type_part>& parts);
    result<void> put_elements(std::string& out, object_place of, unsigned depth);
    result<void> put_pointer(std::string& out, object_place of);
    result<void> put_text(std::string& out, object_place of);
    result<void> put_held(std::string& out, object_place of, unsigned depth);
    result<void> put_hidden(std::string& out, object_place of);
    result<void> put_rest(std::string& out, object_place of, std::uint64_t room, std::string_view before);
    /// Fails if the text would become too long by so many more bytes.
    result<void> check_length(const std::string& out, object_place of, std::uint64_t more) const;

    object_reader& reader_;
    listener& told_;
    bool follows_ = false;
    std::uint64_t bytes_max_ = ~std::uint64_t{0};
    std::uint64_t next_room_ = k_all_room; // bytes that the next object may use; a member may lie in its padding
    std::vector<path_step> path_;
    std::vector<std::vector<member_text>> members_;
};

/// Writes a pointer as the heap offset of its target, because no path to the target is known.
struct pointers_as_offsets : object_walk::listener {
    void point(std::string& out, object_place /*pointer*/, std::uint64_t to) override {
        out += "{\"$offset\":" + std::to_string(to) + '}';
    }
};

} // namespace remanence::inspect
