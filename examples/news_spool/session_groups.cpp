#include "session.hpp"

#include <charconv>
#include <chrono>
#include <limits>

namespace news {

namespace {

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
        return {};
    return number;
}

/// Matches one pattern of a wildmat, in which '*' stands for any characters and '?' for one.
bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::size_t at = 0;
    std::size_t in_text = 0;
    std::size_t star = pattern.npos;
    std::size_t behind_star = 0; // where the text goes on behind what the star stands for
    while (in_text < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            behind_star = in_text;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
            ++at;
            ++in_text;
        } else if (star != pattern.npos) {
            at = star + 1;
            in_text = ++behind_star;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == pattern.npos;
}

std::string status_of(const watermarks& marks, std::string_view name) {
    return "211 " + std::to_string(marks.count) + ' ' + std::to_string(marks.low) + ' ' + std::to_string(marks.high) +
           ' ' + std::string(name);
}

std::string active_line(const group_info& of) {
    return of.name + ' ' + std::to_string(of.marks.high) + ' ' + std::to_string(of.marks.low) + " y";
}

/// Reads [yy]yymmdd and hhmmss, in UTC. Returns seconds since 1970.
std::optional<std::int64_t> time_in(std::string_view date, std::string_view time) {
    const auto day_number = number_in(date);
    const auto second_number = number_in(time);
    if (!day_number || !second_number || time.size() != 6 || (date.size() != 6 && date.size() != 8))
        return {};
    std::uint64_t year = *day_number / 10'000;
    if (date.size() == 6)
        year += year < 70 ? 2000 : 1900;
    const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(year)),
                                          std::chrono::month(static_cast<unsigned>(*day_number / 100 % 100)),
                                          std::chrono::day(static_cast<unsigned>(*day_number % 100)));
    const std::uint64_t hour = *second_number / 10'000;
    const std::uint64_t minute = *second_number / 100 % 100;
    const std::uint64_t second = *second_number % 100;
    if (!day.ok() || hour > 23 || minute > 59 || second > 60)
        return {};
    const std::chrono::seconds since_1970 = std::chrono::sys_days(day).time_since_epoch();
    return since_1970.count() + static_cast<std::int64_t>(hour * 3600 + minute * 60 + second);
}

} // namespace

bool matches(std::string_view wildmat, std::string_view text) {
    bool result = false;
    for (std::string_view pattern : split(wildmat, ',')) { // the last pattern that fits decides
        const bool is_negated = pattern.starts_with('!');
        if (matches_pattern(pattern.substr(is_negated ? 1 : 0), text))
            result = !is_negated;
    }
    return result;
}

std::optional<session::number_range> session::range_in(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = number_in(text.substr(0, dash));
    const bool is_open = dash != text.npos && dash + 1 == text.size();
    const auto last = dash == text.npos ? first
                      : is_open         ? std::numeric_limits<article_number>::max()
                                        : number_in(text.substr(dash + 1));
    if (first && last)
        return number_range{*first, *last};
    client_.put_line("501 A range is NUMBER, NUMBER- or NUMBER-NUMBER");
    return {};
}

group_file* session::select(std::string_view name) {
    group_file* const found = is_group_name(name) ? spool_.open(name) : nullptr;
    if (found == nullptr) {
        client_.put_line("411 There is no such group");
        return nullptr;
    }
    group_ = name;
    const watermarks marks = found->marks();
    current_ = marks.count == 0 ? std::nullopt : std::optional(marks.low);
    return found;
}

void session::group(words rest) {
    if (const group_file* const found = select(rest[0]))
        client_.put_line(status_of(found->marks(), group_));
}

void session::listgroup(words rest) {
    if (rest.empty() && group_.empty()) {
        client_.put_line("412 No group is selected");
        return;
    }
    number_range which{0, std::numeric_limits<article_number>::max()};
    if (rest.size() == 2) {
        const std::optional<number_range> given = range_in(rest[1]);
        if (!given)
            return;
        which = *given;
    }
    const group_file* const of = select(rest.empty() ? std::string_view(group_) : rest[0]);
    if (of == nullptr)
        return;
    client_.put_line(status_of(of->marks(), group_) + " list follows");
    constexpr std::size_t k_lines = 5000; // in one read section, which ends before anything is sent
    std::optional<article_number> at = which.first;
    while (at) {
        std::vector<article_number> numbers;
        at = of->visit(*at, which.last, [&](article_number number, const stored_article&) {
            numbers.push_back(number);
            return numbers.size() < k_lines;
        });
        for (const article_number each : numbers)
            client_.put_line(std::to_string(each));
    }
    client_.put_line(".");
}

void session::step(bool forwards) {
    const group_file* const of = current_group();
    if (of == nullptr)
        return;
    if (!current_) {
        client_.put_line("420 The group has no current article");
        return;
    }
    const std::optional<article_name> found = forwards ? of->after(*current_) : of->before(*current_);
    if (!found) {
        client_.put_line(forwards ? "421 There is no next article" : "422 There is no previous article");
        return;
    }
    current_ = found->number;
    client_.put_line("223 " + std::to_string(found->number) + ' ' + found->message_id);
}

void session::next(words) { step(true); }
void session::last(words) { step(false); }

void session::list(words rest) {
    const std::string_view what = rest.empty() ? "ACTIVE" : rest[0];
    const std::string_view wildmat = rest.size() < 2 ? "*" : rest[1];
    if (equal_but_for_case(what, "ACTIVE")) {
        client_.put_line("215 Groups, as NAME HIGH LOW STATUS");
        for (const group_info& each : spool_.index().groups())
            if (matches(wildmat, each.name))
                client_.put_line(active_line(each));
    } else if (equal_but_for_case(what, "NEWSGROUPS")) {
        client_.put_line("215 Groups and what they are about");
        for (const group_info& each : spool_.index().groups())
            if (matches(wildmat, each.name))
                client_.put_line(each.name + '\t' + each.description);
    } else if (equal_but_for_case(what, "OVERVIEW.FMT") && rest.size() == 1) {
        client_.put_line("215 The fields of OVER"); // the last two as in RFC 2980: old clients ask for that
        for (const std::string_view field :
             {"Subject:", "From:", "Date:", "Message-ID:", "References:", "Bytes:", "Lines:"})
            client_.put_line(field);
    } else if (equal_but_for_case(what, "HEADERS")) {
        client_.put_line("215 HDR takes any field and:");
        for (const std::string_view field : {":", ":bytes", ":lines"})
            client_.put_line(field);
    } else {
        client_.put_line("501 LIST knows ACTIVE, NEWSGROUPS, OVERVIEW.FMT and HEADERS");
        return;
    }
    client_.put_line(".");
}

void session::newgroups(words rest) {
    const std::optional<std::int64_t> since = time_in(rest[0], rest[1]);
    if (!since || (rest.size() == 3 && !equal_but_for_case(rest[2], "GMT"))) {
        client_.put_line("501 Usage: NEWGROUPS [yy]yymmdd hhmmss [GMT]");
        return;
    }
    client_.put_line("231 New groups follow");
    for (const group_info& each : spool_.index().groups())
        if (each.created >= *since)
            client_.put_line(active_line(each));
    client_.put_line(".");
}

} // namespace news
