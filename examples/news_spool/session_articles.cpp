#include "session.hpp"

#include <charconv>
#include <utility>

namespace news {

namespace {

constexpr std::size_t k_bytes_field = 5; // in an overview
constexpr std::size_t k_lines_field = 6;

} // namespace

std::optional<article_copy> session::find_by_id(std::string_view message_id) {
    for (const std::string& name : spool_.index().places(message_id)) {
        group_file* const of = spool_.open(name);
        if (of == nullptr)
            continue;
        if (const std::optional<article_number> number = of->number_of(message_id))
            if (std::optional<article_copy> found = of->find(*number)) {
                found->name.number = 0; // RFC 3977, 6.2.1.2: it need not be in the selected group
                return found;
            }
    }
    client_.put_line("430 There is no article with this message-id");
    return {};
}

/// Finds the article that ARTICLE and its like name, and replies if there is none.
std::optional<article_copy> session::find(words rest) {
    if (!rest.empty() && rest[0].starts_with('<'))
        return find_by_id(rest[0]);
    std::optional<article_number> number = current_;
    if (!rest.empty()) {
        const std::string_view text = rest[0];
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number.emplace(0));
        if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
            client_.put_line("501 An article is named by its number or <message-id>");
            return {};
        }
    }
    const group_file* const of = current_group();
    if (of == nullptr)
        return {};
    if (!number) {
        client_.put_line("420 The group has no current article");
        return {};
    }
    std::optional<article_copy> found = of->find(*number);
    if (!found)
        client_.put_line(rest.empty() ? "420 The current article was removed"
                                      : "423 There is no article with this number");
    else
        current_ = number;
    return found;
}

void session::send(words rest, part which) {
    const std::optional<article_copy> found = find(rest);
    if (!found)
        return;
    static constexpr std::string_view k_codes[] = {"220 ", "221 ", "222 ", "223 "};
    client_.put_line(std::string(k_codes[static_cast<std::size_t>(which)]) + std::to_string(found->name.number) + ' ' +
                     found->name.message_id);
    if (which == part::nothing)
        return;
    const std::string_view text = found->text;
    if (which == part::all)
        client_.put_stuffed(text);
    else if (which == part::head)
        client_.put_stuffed(text.substr(0, found->body_at - 2)); // without the empty line
    else
        client_.put_stuffed(text.substr(found->body_at));
    client_.put_line(".");
}

void session::article(words rest) { send(rest, part::all); }
void session::head(words rest) { send(rest, part::head); }
void session::body(words rest) { send(rest, part::body); }
void session::stat(words rest) { send(rest, part::nothing); }

/// Sends a line for each article of `range`: a message-id, numbers, or nothing, for the current article.
void session::send_lines(words range, std::string_view reply, const line_of& make) {
    const auto line_of_copy = [&](const article_copy& of) {
        client_.put_line(reply);
        client_.put_line(make(of.name.number, of.overview, std::string_view(of.text).substr(0, of.body_at)));
        client_.put_line(".");
    };
    if (range.empty() || range[0].starts_with('<')) {
        if (const std::optional<article_copy> found = find(range))
            line_of_copy(*found);
        return;
    }
    const std::optional<session::number_range> which = range_in(range[0]);
    const group_file* const of = which ? current_group() : nullptr;
    if (of == nullptr)
        return;
    constexpr std::size_t k_lines = 500; // in one read section, which ends before anything is sent
    bool is_first = true;
    std::optional<article_number> at = which->first;
    while (at) {
        std::vector<std::string> lines;
        at = of->visit(*at, which->last, [&](article_number number, const stored_article& each) {
            lines.push_back(make(number, each.overview, std::string_view(each.text).substr(0, each.body_at)));
            return lines.size() < k_lines;
        });
        if (!lines.empty() && std::exchange(is_first, false))
            client_.put_line(reply);
        for (const std::string& each : lines)
            client_.put_line(each);
    }
    client_.put_line(is_first ? "423 There are no articles in this range" : ".");
}

void session::over(words rest) {
    send_lines(rest, "224 Overview follows", [](article_number number, std::string_view overview, std::string_view) {
        return std::to_string(number) + '\t' + std::string(overview);
    });
}

void session::hdr(words rest) { send_fields(rest, "225 Fields follow"); }
void session::xhdr(words rest) { send_fields(rest, "221 Fields follow"); } // RFC 2980

void session::send_fields(words rest, std::string_view reply) {
    const std::string name(rest[0]);
    send_lines(rest.subspan(1), reply, [&](article_number number, std::string_view overview, std::string_view header) {
        std::string value;
        if (equal_but_for_case(name, ":bytes"))
            value = split(overview, '\t').at(k_bytes_field);
        else if (equal_but_for_case(name, ":lines"))
            value = split(overview, '\t').at(k_lines_field);
        else
            value = field_of(header, name).value_or("");
        return std::to_string(number) + ' ' + value;
    });
}

} // namespace news
