// Writes JSON objects, with the members in the order in which they are added. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::tool {

std::string json_text(std::string_view text);

class json_object {
public:
    json_object& add(std::string_view key, std::string_view text) { return raw(key, json_text(text)); }
    json_object& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
    json_object& add(std::string_view key, std::uint64_t number) { return raw(key, std::to_string(number)); }
    json_object& add(std::string_view key, double number);
    json_object& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
    json_object& add(std::string_view key, const json_object& value) { return raw(key, value.text()); }
    json_object& add(std::string_view key, const std::vector<json_object>& values);
    /// Adds a value that is JSON text already.
    json_object& add_json(std::string_view key, std::string_view value) { return raw(key, value); }
    json_object& add_texts(std::string_view key, const std::vector<std::string>& texts);
    json_object& add_null(std::string_view key) { return raw(key, "null"); }
    [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

private:
    json_object& raw(std::string_view key, std::string_view value);
    std::string members_;
};

} // namespace remanence::tool
