#include "json.hpp"

#include <fmt/format.h>

namespace remanence::tool {

namespace {

/// Bytes of the UTF-8 sequence that `text` begins with; 0 when it begins with none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80)
            return 0;
    }
    // Not longer than needed, no surrogates, nothing above U+10FFFF.
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf0 && byte(1) < 0x90) ||
        (lead == 0xf4 && byte(1) >= 0x90))
        return 0;
    return length;
}

} // namespace

std::string json_text(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const char c = text.front();
        if (length == 0)
            quoted += "\xef\xbf\xbd";
        else if (c == '"' || c == '\\')
            quoted.append(1, '\\').append(1, c);
        else if (static_cast<unsigned char>(c) < 0x20)
            quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
            quoted += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return quoted + "\"";
}

json_object& json_object::raw(std::string_view key, std::string_view value) {
    if (!members_.empty())
        members_ += ", ";
    members_ += fmt::format("{}: {}", json_text(key), value);
    return *this;
}

json_object& json_object::add(std::string_view key, const std::vector<json_object>& values) {
    std::string list;
    for (const json_object& value : values)
        list.append(list.empty() ? "" : ", ").append(value.text());
    return raw(key, "[" + list + "]");
}

} // namespace remanence::tool
