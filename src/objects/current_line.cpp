#include "objects/current_line.hpp"

#include "objects/json_source.hpp"

#include <charconv>
#include <system_error>
#include <utility>

namespace remanence::objects {

std::optional<std::uint64_t> number_in(std::string_view text, int radix) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, radix);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

result<bool> current_line::next() {
    std::string_view line;
    auto more = read(line, false);
    if (more && *more)
        REM_TRY(take(line));
    return more;
}

result<bool> current_line::read(std::string_view& line, bool may_be_item) {
    auto more = lines_.next(line, may_be_item);
    if (!more)
        return wrong(more.why().message, more.why().code);
    return *more;
}

result<bool> current_line::keep_elements(kept_lines& kept, std::string_view& behind, bool may_be_items) {
    for (;;) {
        auto more = read(behind, may_be_items);
        if (!more || !*more)
            return more;
        if (!is_element_line(behind) && !(is_binary() && is_element_item(behind)))
            return true;
        kept.add(behind);
    }
}

result<void> current_line::take(std::string_view line) {
    line_ = line;
    return parse();
}

result<void> current_line::parse() {
    if (auto parsed = document_.parse(line_); !parsed)
        return wrong(parsed.why().message, parsed.why().code);
    if (document_.root().kind != json_kind::object)
        return wrong("it is no object of JSON");
    if (const auto name = document_.name_twice(0))
        return wrong("it has \"" + std::string(*name) + "\" twice");
    return {};
}

const json_part* current_line::find(std::string_view name, json_kind kind) const {
    const std::uint32_t index = document_.member(0, name);
    return index != 0 && document_.at(index).kind == kind ? &document_.at(index) : nullptr;
}

std::optional<std::uint64_t> current_line::number(std::string_view name) const {
    const json_part* const part = find(name, json_kind::number);
    return part == nullptr ? std::nullopt : number_in(part->text, 10);
}

bool current_line::is_true(std::string_view name) const {
    const json_part* const part = find(name, json_kind::truth);
    return part != nullptr && part->is_true;
}

std::optional<std::string> current_line::text(std::string_view name) const {
    if (const json_part* const part = find(name, json_kind::text))
        return std::string(part->text);
    if (find(name, json_kind::object) == nullptr)
        return {};
    const std::uint32_t bytes = document_.member(0, name);
    const std::uint32_t hex = document_.at(bytes).children == 1 ? document_.member(bytes, "$bytes") : 0;
    return hex != 0 && document_.at(hex).kind == json_kind::text ? bytes_of_hex(document_.at(hex).text) : std::nullopt;
}

unexpected current_line::cannot_load(const std::string& what, errc code) const {
    return fail(code, "the dump for " + path_ + " cannot be loaded: " + what + ". Nothing was loaded.", path_);
}

} // namespace remanence::objects
