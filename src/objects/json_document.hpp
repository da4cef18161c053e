// One JSON value (RFC 8259) as a table of its parts, in the order of the text. The text is input (I7): parsing always
// ends, either with the table or with an error that names the place.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::objects {

enum class json_kind : std::uint8_t { null, truth, number, text, list, object };

struct json_part {
    json_kind kind = json_kind::null;
    bool is_true = false;
    std::uint32_t next = 0;     // index of the part that follows this one and all parts in it
    std::uint32_t children = 0; // elements of a list; pairs of name and value of an object
    std::string_view text = {}; // decoded; a number is left as it was written
};

/// Passes over a number; `at` is the place of its first byte. Returns what is wrong, and leaves `at` there; null if
/// nothing is. Precondition: `at` is not the end of the text.
const char* fault_of_number(std::string_view text, std::size_t& at);

class json_document {
public:
    /// How deeply lists and objects may be nested; deeper ones are errc::not_supported.
    static constexpr unsigned k_depth_max = 2000;

    /// Parses a text, which must outlive the table. errc::invalid_argument, or errc::not_supported if the text is
    /// nested too deeply; the message says what is wrong, and at which byte. O(bytes).
    result<void> parse(std::string_view text);

    [[nodiscard]] const json_part& at(std::uint32_t index) const { return parts_[index]; }
    [[nodiscard]] const json_part& root() const { return parts_.front(); }
    /// Returns the index of the value that has this name in an object; 0 if there is none.
    [[nodiscard]] std::uint32_t member(std::uint32_t object, std::string_view name) const;
    /// Returns a name that occurs twice in an object; nothing if there is none. O(n log n).
    [[nodiscard]] std::optional<std::string_view> name_twice(std::uint32_t object) const;

private:
    result<void> parse_value();
    result<void> parse_name();
    result<void> end_value();
    result<void> parse_text(std::string_view& into);
    result<void> decode_rest(std::string& out);
    result<void> decode_escape(std::string& out);
    result<void> decode_character(std::string& out);
    bool read_code_unit(std::uint32_t& code);
    result<void> parse_number();
    [[nodiscard]] unexpected wrong(std::string_view what, errc code = errc::invalid_argument) const;
    void skip_space();
    void end_part(std::uint32_t index) { parts_[index].next = static_cast<std::uint32_t>(parts_.size()); }
    /// Returns the bracket that closes the innermost open list or object.
    [[nodiscard]] char closing() const { return parts_[open_.back()].kind == json_kind::list ? ']' : '}'; }
    [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<json_part> parts_;
    std::deque<std::string> decoded_; // the decoded forms of texts with escapes
    std::vector<std::uint32_t> open_;
};

} // namespace remanence::objects
