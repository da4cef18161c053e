#include "objects/json_document.hpp"

#include "base/plain_text.hpp"
#include "base/put_utf8.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <limits>

namespace remanence::objects {

namespace {

constexpr std::size_t k_bytes_max = std::numeric_limits<std::uint32_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

} // namespace

unexpected json_document::wrong(std::string_view what, errc code) const {
    return fail(code, "at its byte " + std::to_string(at_ + 1) + " " + std::string(what));
}

void json_document::skip_space() {
    while (at_ != text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
        ++at_;
}

result<void> json_document::parse_text(std::string_view& into) {
    const std::size_t begin = ++at_; // behind the opening quotation mark
    for (;; ++at_) {                 // also passes over bytes that are not ASCII
        at_ += plain_prefix(text_.substr(at_));
        if (is_at_end() || text_[at_] == '"' || text_[at_] == '\\' || static_cast<unsigned char>(text_[at_]) < 0x20)
            break;
    }
    if (is_at_end())
        return wrong("a text does not end");
    if (text_[at_] == '"') {
        into = text_.substr(begin, at_++ - begin);
        return {};
    }
    std::string& out = decoded_.emplace_back(text_.substr(begin, at_ - begin));
    REM_TRY(decode_rest(out));
    into = out;
    return {};
}

/// Decodes the rest of a text: from its first escape up to and including the closing quotation mark.
result<void> json_document::decode_rest(std::string& out) {
    for (;;) {
        if (is_at_end())
            return wrong("a text does not end");
        const char c = text_[at_];
        if (static_cast<unsigned char>(c) < 0x20)
            return wrong("a text has a control character");
        ++at_;
        if (c == '"')
            return {};
        if (c == '\\')
            REM_TRY(decode_escape(out));
        else
            out += c;
    }
}

result<void> json_document::decode_escape(std::string& out) {
    constexpr std::string_view k_escapes = "\"\\/bfnrt";
    constexpr std::string_view k_meanings = "\"\\/\b\f\n\r\t";
    if (is_at_end())
        return wrong("a text does not end");
    const char escaped = text_[at_++];
    if (escaped == 'u')
        return decode_character(out);
    const std::size_t known = k_escapes.find(escaped);
    if (known == std::string_view::npos)
        return wrong("a text has an escape that JSON does not have");
    out += k_meanings[known];
    return {};
}

/// Decodes the digits behind "\u". A character beyond U+FFFF consists of two such escapes.
result<void> json_document::decode_character(std::string& out) {
    std::uint32_t code = 0;
    if (!read_code_unit(code))
        return wrong("\\u has no four hexadecimal digits behind it");
    if (code >= 0xd800 && code < 0xdc00) { // the first half of a pair
        std::uint32_t low = 0;
        if (text_.substr(at_, 2) != "\\u")
            return wrong("half a character is alone");
        at_ += 2;
        if (!read_code_unit(low) || low < 0xdc00 || low > 0xdfff)
            return wrong("half a character is alone");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return wrong("half a character is alone");
    }
    put_utf8(out, code);
    return {};
}

bool json_document::read_code_unit(std::uint32_t& code) {
    if (text_.size() - at_ < 4)
        return false;
    code = 0;
    for (int i = 0; i != 4; ++i, ++at_) {
        const int digit = hex_digit(text_[at_]);
        if (digit < 0)
            return false;
        code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
}

const char* fault_of_number(std::string_view text, std::size_t& at) {
    const auto digits = [&] {
        const std::size_t first = at;
        while (at != text.size() && is_digit(text[at]))
            ++at;
        return at != first;
    };
    if (text[at] == '-')
        ++at;
    const std::size_t whole = at;
    if (!digits())
        return "there is no JSON value";
    if (text[whole] == '0' && at != whole + 1)
        return "a number begins with 0";
    if (at != text.size() && text[at] == '.') {
        ++at;
        if (!digits())
            return "a number ends with its point";
    }
    if (at != text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at != text.size() && (text[at] == '+' || text[at] == '-'))
            ++at;
        if (!digits())
            return "a number has no exponent";
    }
    return nullptr;
}

result<void> json_document::parse_number() {
    const std::size_t begin = at_;
    if (const char* const fault = fault_of_number(text_, at_))
        return wrong(fault);
    parts_.push_back({json_kind::number, false, 0, 0, text_.substr(begin, at_ - begin)});
    return {};
}

/// Parses a scalar, or the beginning of a list or an object.
result<void> json_document::parse_value() {
    const char c = text_[at_];
    const auto word = [&](std::string_view spelled, json_part part) -> result<void> {
        if (text_.substr(at_, spelled.size()) != spelled)
            return wrong("there is no JSON value");
        at_ += spelled.size();
        parts_.push_back(part);
        return {};
    };
    switch (c) {
    case 'n':
        return word("null", {});
    case 't':
        return word("true", {json_kind::truth, true, 0, 0, {}});
    case 'f':
        return word("false", {json_kind::truth, false, 0, 0, {}});
    case '"': {
        std::string_view text;
        REM_TRY(parse_text(text));
        parts_.push_back({json_kind::text, false, 0, 0, text});
        return {};
    }
    case '[':
    case '{':
        if (open_.size() == k_depth_max)
            return wrong("lists and objects lie more than " + std::to_string(k_depth_max) +
                             " levels deep in each other, which is the most that can be loaded",
                         errc::not_supported);
        open_.push_back(static_cast<std::uint32_t>(parts_.size()));
        parts_.push_back({c == '[' ? json_kind::list : json_kind::object, false, 0, 0, {}});
        ++at_;
        return {};
    default:
        return parse_number();
    }
}

result<void> json_document::parse(std::string_view text) {
    text_ = text;
    at_ = 0;
    parts_.clear();
    decoded_.clear();
    open_.clear();
    if (text.size() > k_bytes_max)
        return fail(errc::invalid_argument, "it is longer than 4 GiB");
    if (!types::is_utf8(text))
        return fail(errc::invalid_argument, "it is not UTF-8");
    bool may_end = false; // only an empty list or object may end here
    for (;;) {
        skip_space();
        if (is_at_end())
            return wrong("the line ends within a value");
        if (!may_end || text_[at_] != closing()) {
            if (!open_.empty() && parts_[open_.back()].kind == json_kind::object)
                REM_TRY(parse_name());
            if (!open_.empty())
                ++parts_[open_.back()].children;
            const auto index = static_cast<std::uint32_t>(parts_.size());
            const std::size_t depth = open_.size();
            REM_TRY(parse_value());
            may_end = open_.size() != depth;
            if (may_end)
                continue;
            end_part(index);
        }
        may_end = false;
        REM_TRY(end_value());
        if (open_.empty())
            return {};
    }
}

/// Parses the name of a member, up to its value.
result<void> json_document::parse_name() {
    if (text_[at_] != '"')
        return wrong("a name in quotation marks is missing");
    std::string_view name;
    REM_TRY(parse_text(name));
    const auto key = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back({json_kind::text, false, 0, 0, name});
    end_part(key);
    skip_space();
    if (is_at_end() || text_[at_] != ':')
        return wrong("':' is missing");
    ++at_;
    skip_space();
    return is_at_end() ? wrong("the line ends within a value") : result<void>();
}

/// Parses what follows a value: a comma, or the end of the enclosing list or object.
result<void> json_document::end_value() {
    for (;;) {
        skip_space();
        if (open_.empty())
            return is_at_end() ? result<void>() : wrong("there is more than one value in the line");
        if (is_at_end())
            return wrong("the line ends within a value");
        if (text_[at_] == ',') {
            ++at_;
            return {};
        }
        if (text_[at_] != closing())
            return wrong("',' is missing");
        ++at_;
        end_part(open_.back());
        open_.pop_back();
    }
}

std::uint32_t json_document::member(std::uint32_t object, std::string_view name) const {
    const json_part& of = parts_[object];
    if (of.kind != json_kind::object)
        return 0;
    for (std::uint32_t i = object + 1; i != of.next; i = parts_[i + 1].next) {
        if (parts_[i].text == name)
            return i + 1;
    }
    return 0;
}

std::optional<std::string_view> json_document::name_twice(std::uint32_t object) const {
    std::vector<std::string_view> names;
    for (std::uint32_t i = object + 1; i != parts_[object].next; i = parts_[i + 1].next)
        names.push_back(parts_[i].text);
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    return found == names.end() ? std::nullopt : std::optional(*found);
}

} // namespace remanence::objects
