#include "json.hpp"

#include "text.hpp"

#include <fmt/format.h>

namespace remanence::tool {

std::string json_text(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_bytes(text);
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

json_object& json_object::add(std::string_view key, double number) { return raw(key, fmt::format("{:.4g}", number)); }

json_object& json_object::add(std::string_view key, const std::vector<json_object>& values) {
    std::string list;
    for (const json_object& value : values)
        list.append(list.empty() ? "" : ", ").append(value.text());
    return raw(key, "[" + list + "]");
}

json_object& json_object::add_texts(std::string_view key, const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts)
        list.append(list.empty() ? "" : ", ").append(json_text(text));
    return raw(key, "[" + list + "]");
}

} // namespace remanence::tool
