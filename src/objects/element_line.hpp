// Reads a line of an element straight into the element's place, if the line is written exactly as a dump writes it. The
// elements must consist of numbers and texts, and of structs and arrays of them. In the binary form, an item is such a
// line.
//
//  EL1  parse() reads the whole line before put() writes a byte. Lines that parse() does not accept must be read by
//       json_source, which reads all lines of dumps, and says what is wrong with other lines.
#pragma once

#include "base/result.hpp"
#include "objects/binary_form.hpp"
#include "objects/conversion.hpp"
#include "objects/object_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::objects {

class element_line {
public:
    /// `from` is the row of a container in the dump, `to` that of the container which gets its elements. `is_binary`:
    /// the lines are items of the binary form. Returns nothing if the elements have other parts than this class reads.
    /// `builder` must outlive the result. Precondition: the rows match, and no value may be lost.
    static std::optional<element_line> of(const row_matching& rows, object_builder& builder, std::uint32_t from,
                                          std::uint32_t to, bool is_binary);

    /// Returns false if the line must be read in another way. Otherwise the line's texts must stay valid until put().
    [[nodiscard]] bool parse(std::string_view line);
    /// Returns the hash of the key of the line that was parsed.
    [[nodiscard]] std::uint64_t hash(std::uint64_t seed) const;
    /// Makes the element of the line that was parsed, in zeroed memory. errc::exhausted.
    result<void> put(const element_place& to) const;

private:
    enum class kind : std::uint8_t { whole, real, truth, text, characters };
    /// A value in the line, and where it belongs.
    struct leaf {
        kind what;
        bool is_in_key;
        std::string before;     // the line's text before the value
        object_place to;        // counted from the beginning of the key or value
        std::uint64_t size;     // bytes of a number, or of an array of characters
        std::uint64_t least;    // the absolute value of the least number
        std::uint64_t greatest; // the greatest number
        std::uint64_t bits = 0; // of the number in the line
        std::string_view text = {};
    };
    // Longer lines take so long that the way of reading them matters less. Limited, since a schema is input.
    static constexpr std::size_t k_parts_max = 128;

    element_line(const row_matching& rows, object_builder& builder, std::uint32_t container, bool is_binary)
        : rows_(&rows), builder_(&builder), function_(builder.function_of(container)), is_binary_(is_binary) {}

    // Append to the text that precedes the next value:
    void begin(form what, std::uint64_t count);
    void separate(std::uint64_t index);
    void name(std::string_view member);
    void end(form what);

    bool add(std::uint32_t from, std::uint32_t to, std::uint64_t at);
    [[nodiscard]] std::optional<kind> kind_of(std::uint32_t from, std::uint32_t to) const;
    bool add_members(std::uint32_t from, std::uint32_t to, std::uint64_t at);
    bool add_array(std::uint32_t from, std::uint32_t to, std::uint64_t at);
    void add_leaf(kind what, std::uint32_t to, std::uint64_t at);
    /// These read a value at the beginning of `rest`, and remove it. parse_item() is for the binary form.
    [[nodiscard]] static bool parse_item(leaf& into, std::string_view& rest);
    [[nodiscard]] static bool parse_item_text(leaf& into, std::string_view& rest, const item_head& item);
    [[nodiscard]] static bool take_whole(leaf& into, std::uint64_t value, bool is_negative);
    [[nodiscard]] static bool parse_leaf(leaf& into, std::string_view& rest);
    [[nodiscard]] static bool parse_whole(leaf& into, std::string_view& rest);
    [[nodiscard]] static bool parse_real(leaf& into, std::string_view& rest);
    [[nodiscard]] static bool parse_text(leaf& into, std::string_view& rest);

    const row_matching* rows_;
    object_builder* builder_;
    key_function function_;
    bool is_binary_;
    std::vector<leaf> leaves_;
    std::string literal_;   // the line's text behind the last leaf
    std::size_t parts_ = 0; // how many objects were added
    bool is_in_key_ = false;
};

} // namespace remanence::objects
