#include "objects/binary_form.hpp"

#include "base/real_text.hpp"
#include "inspect/object_text.hpp"
#include "objects/json_source.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace remanence::objects {

namespace {

constexpr std::uint64_t k_tag_of_cbor = 55799;
constexpr std::uint64_t k_tag_of_json = 262; // the tag of byte strings that contain JSON

void put_big_endian(std::string& out, std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i != 0; --i)
        out += static_cast<char>(value >> (8 * (i - 1)));
}

std::string number_text(double value) {
    std::string text;
    put_real(text, value);
    return text;
}

template <class T>
bool is_all(std::string_view text, T& value) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

/// Encodes a number so that decoding it yields the same text.
void put_json_number(std::string& out, std::string_view text) {
    std::uint64_t whole = 0;
    if (is_all(text, whole))
        return put_item_head(out, cbor::k_unsigned, whole);
    std::int64_t negative = 0;
    if (is_all(text, negative) && negative != 0)
        return put_item_head(out, cbor::k_negative, static_cast<std::uint64_t>(-1 - negative));
    double real = 0;
    if (!read_real(text, real) || number_text(real) != text) { // the text has more digits than a double
        put_item_head(out, cbor::k_tag, k_tag_of_json);
        put_item_head(out, cbor::k_bytes, text.size());
        out += text;
        return;
    }
    const auto shorter = static_cast<float>(real);
    const bool is_float = static_cast<double>(shorter) == real;
    out += static_cast<char>(cbor::k_simple << 5 | (is_float ? cbor::k_float : cbor::k_double));
    if (is_float)
        put_big_endian(out, std::bit_cast<std::uint32_t>(shorter), sizeof(float));
    else
        put_big_endian(out, std::bit_cast<std::uint64_t>(real), sizeof(double));
}

unexpected wrong(const std::string& what) { return fail(errc::invalid_argument, what); }

} // namespace

void put_item_head(std::string& out, unsigned kind, std::uint64_t value) {
    const auto begin = [&](unsigned info) { out += static_cast<char>(kind << 5 | info); };
    if (value < 24)
        return begin(static_cast<unsigned>(value));
    const unsigned size = value <= 0xff ? 0 : value <= 0xffff ? 1 : value <= 0xffffffff ? 2 : 3;
    begin(24 + size);
    put_big_endian(out, value, 1U << size);
}

std::optional<item_head> take_item_head(std::string_view& from) {
    if (from.empty())
        return {};
    const auto first = static_cast<unsigned char>(from.front());
    const unsigned info = first & 31U;
    item_head item{static_cast<unsigned>(first) >> 5U, info, info};
    const std::size_t size = item.info < 24 ? 0 : std::size_t{1} << (item.info - 24);
    if (item.info > 27 || from.size() <= size)
        return {};
    if (size != 0)
        item.value = 0;
    for (std::size_t i = 1; i <= size; ++i)
        item.value = item.value << 8 | static_cast<unsigned char>(from[i]);
    from.remove_prefix(1 + size);
    return item;
}

std::optional<std::size_t> size_of_item(std::string_view bytes) {
    std::string_view rest = bytes;
    for (std::uint64_t items = 1; items != 0; --items) { // those that are still to come
        const auto head = take_item_head(rest);
        if (!head)
            return {};
        const bool has_bytes = head->kind == cbor::k_bytes || head->kind == cbor::k_text;
        const bool has_items = head->kind == cbor::k_list || head->kind == cbor::k_object;
        if ((has_bytes || has_items) && head->value > rest.size()) // an item has a byte at least
            return {};
        if (has_bytes)
            rest.remove_prefix(head->value);
        if (has_items)
            items += head->kind == cbor::k_object ? 2 * head->value : head->value;
        if (head->kind == cbor::k_tag)
            ++items;
    }
    return bytes.size() - rest.size();
}

result<void> binary_writer::put(std::string& out, std::string_view lines) {
    if (!has_begun_)
        out += k_binary_mark;
    has_begun_ = true;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        REM_TRY(document_.parse(lines.substr(0, end)));
        for (std::uint32_t i = 0; i != document_.root().next;)
            put_part(out, i);
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return {};
}

/// Encodes one part, without the parts in it, and sets `index` to the next part.
void binary_writer::put_part(std::string& out, std::uint32_t& index) {
    const json_part& part = document_.at(index++);
    switch (part.kind) {
    case json_kind::null:
        return put_item_head(out, cbor::k_simple, cbor::k_null);
    case json_kind::truth:
        return put_item_head(out, cbor::k_simple, part.is_true ? cbor::k_true : cbor::k_false);
    case json_kind::number:
        return put_json_number(out, part.text);
    case json_kind::text:
        put_item_head(out, cbor::k_text, part.text.size());
        out += part.text;
        return;
    case json_kind::list:
        return put_item_head(out, cbor::k_list, part.children);
    case json_kind::object:
        if (part.children == 1 && document_.at(index).text == "$bytes" &&
            document_.at(index + 1).kind == json_kind::text) {
            if (const auto bytes = bytes_of_hex(document_.at(index + 1).text)) {
                put_item_head(out, cbor::k_bytes, bytes->size());
                out += *bytes;
                index += 2;
                return;
            }
        }
        return put_item_head(out, cbor::k_object, part.children);
    }
}

result<item_head> binary_reader::next_head() {
    const int first = input_.take();
    if (first < 0)
        return wrong("an item does not end");
    item_head item{static_cast<unsigned>(first) >> 5, static_cast<unsigned>(first) & 31, 0};
    if (item.info < 24) {
        item.value = item.info;
        return item;
    }
    if (item.info > 27)
        return wrong("an item has no length, or is of a kind that this form does not have");
    for (unsigned i = 0; i != 1U << (item.info - 24); ++i) {
        const int byte = input_.take();
        if (byte < 0)
            return wrong("an item does not end");
        item.value = item.value << 8 | static_cast<unsigned>(byte);
    }
    return item;
}

result<void> binary_reader::put_bytes(std::string& line, std::uint64_t count) {
    constexpr std::string_view k_digits = "0123456789abcdef";
    text_.clear();
    if (count > k_line_bytes_max || !input_.take(text_, count))
        return wrong("an item does not end");
    line += "{\"$bytes\":\"";
    for (const char c : text_) {
        line += k_digits[static_cast<unsigned char>(c) >> 4];
        line += k_digits[static_cast<unsigned char>(c) & 15];
    }
    line += "\"}";
    return {};
}

/// Decodes a number that was encoded as JSON text; its tag has been read.
result<void> binary_reader::put_number(std::string& line) {
    constexpr std::uint64_t k_digits_max = 100;
    auto item = next_head();
    if (!item)
        return item.error();
    text_.clear();
    if (item->kind != cbor::k_bytes || item->value > k_digits_max || !input_.take(text_, item->value) ||
        text_.find_first_not_of("0123456789+-.eE") != std::string::npos)
        return wrong("what is to be a number is none");
    line += text_;
    return {};
}

result<void> binary_reader::put_simple(std::string& line, const item_head& item) {
    double real = 0;
    switch (item.info) {
    case cbor::k_false:
        line += "false";
        return {};
    case cbor::k_true:
        line += "true";
        return {};
    case cbor::k_null:
        line += "null";
        return {};
    case cbor::k_float:
        real = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(item.value)));
        break;
    case cbor::k_double:
        real = std::bit_cast<double>(item.value);
        break;
    default:
        return wrong("an item is of a kind that this form does not have");
    }
    if (!std::isfinite(real))
        return wrong("a number is none");
    line += number_text(real);
    return {};
}

result<bool> binary_reader::next(std::string& line) {
    line.clear();
    if (input_.peek() < 0)
        return false;
    for (;;) {
        auto item = next_head();
        if (!item)
            return item.error();
        if (item->kind == cbor::k_tag && item->value == k_tag_of_cbor && line.empty())
            continue;
        if (line.size() > k_line_bytes_max)
            return wrong("an item is longer than 4 GiB");
        REM_TRY(put_separator(line, *item));
        REM_TRY(put_item(line, *item));
        const bool has_opened = item->kind == cbor::k_list || item->kind == cbor::k_object;
        end_item(line, has_opened);
        if (open_.empty())
            return true;
    }
}

result<void> binary_reader::put_separator(std::string& line, const item_head& item) {
    if (open_.empty())
        return {};
    const open_item& in = open_.back();
    if (in.is_object && in.done % 2 == 0 && item.kind != cbor::k_text)
        return wrong("the name of a member is no text");
    if (in.done != 0)
        line += in.is_object && in.done % 2 == 1 ? ':' : ',';
    return {};
}

result<void> binary_reader::put_item(std::string& line, const item_head& item) {
    switch (item.kind) {
    case cbor::k_unsigned:
        line += std::to_string(item.value);
        break;
    case cbor::k_negative:
        if (item.value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return wrong("a number has more than 64 bits");
        line += std::to_string(-1 - static_cast<std::int64_t>(item.value));
        break;
    case cbor::k_bytes:
        REM_TRY(put_bytes(line, item.value));
        break;
    case cbor::k_text:
        text_.clear();
        if (item.value > k_line_bytes_max || !input_.take(text_, item.value))
            return wrong("an item does not end");
        inspect::put_json_text(line, text_);
        break;
    case cbor::k_list:
    case cbor::k_object:
        if (open_.size() == json_document::k_depth_max)
            return fail(errc::not_supported, "lists and objects lie more than " +
                                                 std::to_string(json_document::k_depth_max) +
                                                 " levels deep in each other, which is the most that can be loaded");
        if (item.value > k_line_bytes_max)
            return wrong("a list or an object has too many parts");
        line += item.kind == cbor::k_list ? '[' : '{';
        open_.push_back({item.kind == cbor::k_object, item.kind == cbor::k_object ? 2 * item.value : item.value});
        break;
    case cbor::k_tag:
        if (item.value != k_tag_of_json)
            return wrong("an item has a tag that this form does not have");
        REM_TRY(put_number(line));
        break;
    default:
        REM_TRY(put_simple(line, item));
    }
    return {};
}

/// Counts a complete item of its list or object, and closes each list and object that this completes.
void binary_reader::end_item(std::string& line, bool has_opened) {
    if (!has_opened && !open_.empty())
        ++open_.back().done;
    while (!open_.empty() && open_.back().done == open_.back().parts) {
        line += open_.back().is_object ? '}' : ']';
        open_.pop_back();
        if (!open_.empty())
            ++open_.back().done;
    }
}

result<std::string_view> item_decoder::decode(std::string_view item) {
    rest_ = item;
    auto more = reader_.next(line_);
    if (!more)
        return more.error();
    return std::string_view(line_);
}

} // namespace remanence::objects
