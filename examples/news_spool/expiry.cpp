#include "expiry.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace news {

namespace {

constexpr std::int64_t k_day = 86'400; // s
constexpr std::uint64_t k_days_max = 36'500;
constexpr std::size_t k_looked_at = 1000; // articles, in one read section
constexpr std::size_t k_batch = 200;      // articles that one section removes, while posters wait

bool fits(std::string_view pattern, std::string_view group) {
    if (pattern.ends_with('*'))
        return group.starts_with(pattern.substr(0, pattern.size() - 1));
    return pattern == group;
}

/// Returns the rule in a line, or nothing if the line has none. Errors: std::runtime_error.
std::optional<expiry_rule> rule_in(const std::string& line) {
    std::istringstream words(line.substr(0, line.find('#')));
    expiry_rule rule;
    std::int64_t days = 0;
    std::int64_t keep = static_cast<std::int64_t>(rule.keep);
    std::string rest;
    if (!(words >> rule.groups))
        return {};
    if (!(words >> days) || (!(words >> keep) && !words.eof()) || (words.clear(), words >> rest) || days < 0 ||
        days > static_cast<std::int64_t>(k_days_max) || keep < 0)
        throw std::runtime_error("is not GROUPS DAYS [KEEP]: " + line);
    rule.days = static_cast<std::uint64_t>(days);
    rule.keep = static_cast<std::uint64_t>(keep);
    return rule;
}

std::vector<article_name> expired_in(const group_file& group, const expiry_rule& rule, std::int64_t now) {
    const watermarks marks = group.marks();
    if (marks.count <= rule.keep) // E1
        return {};
    std::uint64_t candidates = marks.count - rule.keep;                             // E1: the others are newer
    const std::uint64_t most = std::max<std::uint64_t>(1, marks.count / 4);         // E2
    const std::int64_t latest = now - static_cast<std::int64_t>(rule.days) * k_day; // E3: what is later is kept
    std::vector<article_name> expired;
    std::optional<article_number> at = marks.low;
    while (at && candidates != 0 && expired.size() != most) {
        std::size_t left_in_section = k_looked_at;
        at = group.visit(*at, marks.high, [&](article_number number, const stored_article& each) {
            if (each.arrived < latest)
                expired.push_back({number, message_id_in(each.overview)});
            return --candidates != 0 && expired.size() != most && --left_in_section != 0;
        });
    }
    return expired;
}

} // namespace

expiry_rules::expiry_rules(const std::filesystem::path& directory, const expiry_rule& otherwise)
    : rules_{{.groups = std::string(1, '*'), .days = otherwise.days, .keep = otherwise.keep}} {
    const std::filesystem::path path = directory / "expire.conf";
    std::ifstream file(path);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        try {
            if (std::optional<expiry_rule> rule = rule_in(line))
                rules_.push_back(std::move(*rule));
        } catch (const std::runtime_error& reason) {
            throw std::runtime_error(path.string() + ", line " + std::to_string(number) + ' ' + reason.what());
        }
    }
}

const expiry_rule& expiry_rules::of(std::string_view group) const {
    return *std::find_if(rules_.rbegin(), rules_.rend(),
                         [&](const expiry_rule& each) { return fits(each.groups, group); });
}

std::uint64_t expire(spool& in, const expiry_rules& rules, std::int64_t now) {
    std::uint64_t removed = 0;
    for (const group_info& info : in.index().groups()) {
        const expiry_rule& rule = rules.of(info.name);
        group_file* const group = rule.days == 0 ? nullptr : in.open(info.name);
        if (group == nullptr)
            continue;
        const std::vector<article_name> expired = expired_in(*group, rule, now);
        for (std::size_t i = 0; i < expired.size(); i += k_batch) {
            const std::span<const article_name> batch =
                std::span(expired).subspan(i, std::min(k_batch, expired.size() - i));
            // In this order, a kill between the two leaves articles that expire again. In the other order it would
            // leave message-ids that nobody forgets.
            in.index().forget(info.name, batch);
            group->remove(batch);
            removed += batch.size();
        }
        if (!expired.empty())
            in.index().note({info.name, group->marks()});
    }
    return removed;
}

} // namespace news
