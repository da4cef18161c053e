#include "article.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace news {

namespace {

constexpr std::string_view k_line_end = "\r\n";
constexpr std::size_t k_message_id_max = 250; // RFC 3977, 3.6
constexpr std::size_t k_group_name_max = 200;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

struct field {
    std::string_view name;
    std::string value; // on one line
};

/// Takes the next line off the text, without its end.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find(k_line_end);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + k_line_end.size());
    return line;
}

/// Takes the next field, with its continuation lines, off a header. Returns nothing at the empty line, which it takes,
/// and at the end of the text. Errors: refused.
std::optional<field> take_field(std::string_view& text) {
    const std::string_view line = take_line(text);
    if (line.empty())
        return {};
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    const auto is_of_name = [](char c) { return c > ' ' && c < 127; };
    if (colon == line.npos || name.empty() || !std::ranges::all_of(name, is_of_name))
        throw refused("A line of the header is not a field");
    field found{name, std::string(trimmed(line.substr(colon + 1)))};
    while (!text.empty() && is_blank(text.front()) && !text.starts_with(k_line_end))
        found.value += ' ' + std::string(trimmed(take_line(text)));
    return found;
}

/// The fields of a header that the server looks at.
class header {
public:
    explicit header(std::string_view text) {
        const std::size_t whole = text.size();
        while (std::optional<field> next = take_field(text))
            fields_.push_back(std::move(*next));
        bytes_ = whole - text.size();
    }
    [[nodiscard]] const std::string* find(std::string_view name) const {
        const auto found =
            std::ranges::find_if(fields_, [&](const field& each) { return equal_but_for_case(each.name, name); });
        return found == fields_.end() ? nullptr : &found->value;
    }
    [[nodiscard]] std::string value_or_empty(std::string_view name) const {
        const std::string* const found = find(name);
        return found == nullptr ? std::string() : *found;
    }
    /// Errors: refused, when a field that may stand once stands twice, or a required one is missing.
    void check() const {
        for (const std::string_view name : {"From", "Subject", "Newsgroups", "Message-ID", "Date", "References"}) {
            const auto same = [&](const field& each) { return equal_but_for_case(each.name, name); };
            if (std::ranges::count_if(fields_, same) > 1)
                throw refused("The field " + std::string(name) + " stands twice");
        }
        for (const std::string_view name : {"From", "Subject", "Newsgroups"})
            if (value_or_empty(name).empty())
                throw refused("The field " + std::string(name) + " is missing");
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; } ///< up to the body, with the empty line

private:
    std::vector<field> fields_;
    std::size_t bytes_;
};

std::vector<std::string> groups_in(std::string_view newsgroups) {
    std::vector<std::string> groups;
    for (const std::string_view each : split(newsgroups, ',')) {
        const std::string_view name = trimmed(each);
        if (!is_group_name(name))
            throw refused("The field Newsgroups has a name that no group can have");
        groups.emplace_back(name);
    }
    std::ranges::sort(groups);
    groups.erase(std::ranges::unique(groups).begin(), groups.end());
    if (groups.size() > k_groups_max)
        throw refused("The article names more than " + std::to_string(k_groups_max) + " groups");
    return groups;
}

/// The overview is one line, in which tabs separate fields.
std::string overview_of(const header& fields, const article& of) {
    std::string line;
    for (const std::string_view name : {"Subject", "From", "Date", "Message-ID", "References"}) {
        std::string value = fields.value_or_empty(name);
        std::ranges::replace(value, '\t', ' ');
        line += value + '\t';
    }
    const auto lines = std::ranges::count(std::string_view(of.text).substr(of.body_at), '\n');
    return line + std::to_string(of.text.size()) + '\t' + std::to_string(lines);
}

} // namespace

article make_article(std::string_view posted, const posting_defaults& add) {
    if (posted.find('\0') != posted.npos)
        throw refused("The article has a NUL byte");
    const header given(posted);
    given.check();
    article made;
    const auto add_field = [&](std::string_view name, const std::string& value) {
        if (given.find(name) == nullptr)
            made.text.append(name).append(": ").append(value).append(k_line_end);
    };
    add_field("Path", add.path);
    add_field("Message-ID", add.message_id);
    add_field("Date", add.date);
    made.body_at = made.text.size() + given.bytes();
    made.text += posted;
    if (!std::string_view(made.text).substr(0, made.body_at).ends_with("\r\n\r\n"))
        throw refused("No empty line ends the header");
    const header complete(made.text);
    made.message_id = complete.value_or_empty("Message-ID");
    if (!is_message_id(made.message_id))
        throw refused("The field Message-ID is malformed");
    made.groups = groups_in(complete.value_or_empty("Newsgroups"));
    made.overview = overview_of(complete, made);
    return made;
}

std::optional<std::string> field_of(std::string_view text, std::string_view name) {
    while (std::optional<field> next = take_field(text))
        if (equal_but_for_case(next->name, name))
            return std::move(next->value);
    return {};
}

bool is_message_id(std::string_view text) {
    if (text.size() < 5 || text.size() > k_message_id_max || text.front() != '<' || text.back() != '>')
        return false;
    text = text.substr(1, text.size() - 2);
    const auto is_allowed = [](char c) { return c > ' ' && c < 127 && c != '<' && c != '>'; };
    const std::size_t at = text.find('@');
    return std::ranges::all_of(text, is_allowed) && at != text.npos && at != 0 && at + 1 != text.size();
}

bool is_group_name(std::string_view text) {
    if (text.empty() || text.size() > k_group_name_max)
        return false;
    const auto is_allowed = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '_';
    };
    return std::ranges::all_of(split(text, '.'), [&](std::string_view component) {
        return !component.empty() && std::ranges::all_of(component, is_allowed);
    });
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

} // namespace news
