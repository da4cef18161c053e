// The line of a dump that is being loaded: its contents, and the error messages that name it.
#pragma once

#include "base/result.hpp"
#include "objects/dump_lines.hpp"
#include "objects/json_document.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::objects {

/// Parses digits without a sign. Returns nothing if the text is not such a number, or the number exceeds 64 bits.
std::optional<std::uint64_t> number_in(std::string_view text, int radix);

class current_line {
public:
    /// `path` is the heap's path, for messages. Both arguments must outlive this object.
    current_line(const read_bytes& read, const std::string& path) : lines_(read), path_(path) {}

    /// Reads the next line, which becomes the current one. Returns false at the end.
    result<bool> next();
    /// Reads and stores the lines of elements that follow. Returns true if another line follows, and sets `behind` to
    /// it, valid until the next call. The current line stays the same, but number() increases. `may_be_items`: see
    /// line_reader.
    result<bool> keep_elements(kept_lines& kept, std::string_view& behind, bool may_be_items);
    /// Makes the line that keep_elements() has read the current line.
    result<void> take(std::string_view line);

    [[nodiscard]] bool is_binary() const { return lines_.is_binary(); }
    /// Returns how many lines have been read.
    [[nodiscard]] const std::uint64_t& number() const { return lines_.number(); }
    [[nodiscard]] const json_document& document() const { return document_; }
    [[nodiscard]] bool has(std::string_view name) const { return document_.member(0, name) != 0; }
    [[nodiscard]] bool has_list(std::string_view name) const { return find(name, json_kind::list) != nullptr; }
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
    [[nodiscard]] bool is_true(std::string_view name) const;
    /// Returns a text member, which may also be written as bytes that are not UTF-8.
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;

    [[nodiscard]] unexpected wrong(const std::string& what, errc code = errc::invalid_argument) const {
        return wrong_at(number(), what, code);
    }
    [[nodiscard]] unexpected wrong_at(std::uint64_t line, const std::string& what,
                                      errc code = errc::invalid_argument) const {
        return cannot_load("line " + std::to_string(line) + ": " + what, code);
    }
    /// Returns an error that names no line; `what` may name one.
    [[nodiscard]] unexpected cannot_load(const std::string& what, errc code) const;

private:
    result<bool> read(std::string_view& line, bool may_be_item);
    result<void> parse();
    [[nodiscard]] const json_part* find(std::string_view name, json_kind kind) const;

    line_reader lines_;
    const std::string& path_;
    std::string line_;
    json_document document_;
};

} // namespace remanence::objects
