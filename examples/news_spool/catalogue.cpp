#include "catalogue.hpp"

#include <algorithm>

namespace news {

namespace {

constexpr char k_separator = ',';

rem::heap_options options_of_catalogue() {
    return {
        .access = rem::sharing::processes,
        .sharing = {.open_timeout = k_lock_wait},
        .checks = {.application = "news.spool"},
    };
}

group_info info_of(std::string_view name, const group_row& row) {
    return {
        std::string(name), row.generation, row.created, {row.low, row.high, row.count}, std::string(row.description)};
}

std::vector<std::string> names_in(std::string_view joined) {
    const std::vector<std::string_view> names = split(joined, k_separator);
    return {names.begin(), names.end()};
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& each : names)
        all += (all.empty() ? "" : std::string(1, k_separator)) + each;
    return all;
}

} // namespace

catalogue::catalogue(const std::filesystem::path& directory)
    : heap_(rem::heap::open(directory / "spool.rem", options_of_catalogue())),
      contents_(&heap_.root<spool_contents>("spool")) {}

std::vector<group_info> catalogue::groups() const {
    return heap_.read([&] {
        std::vector<group_info> all;
        all.reserve(contents_->groups.size());
        for (const auto& [name, row] : contents_->groups)
            all.push_back(info_of(name, row));
        return all;
    });
}

std::optional<group_info> catalogue::find(std::string_view group) const {
    return heap_.read([&]() -> std::optional<group_info> {
        const auto found = contents_->groups.find(group);
        if (found == contents_->groups.end())
            return {};
        return info_of(found->first, found->second);
    });
}

std::vector<std::string> catalogue::places(std::string_view message_id) const {
    return heap_.read([&]() -> std::vector<std::string> {
        const auto found = contents_->places.find(message_id);
        if (found == contents_->places.end())
            return {};
        return names_in(found->second);
    });
}

std::vector<open_claim> catalogue::claims() const {
    return heap_.read([&] {
        std::vector<open_claim> all;
        for (const auto& [message_id, row] : contents_->claims)
            all.push_back({std::string(message_id), row.session, row.undo});
        return all;
    });
}

bool catalogue::add(std::string_view group, std::string_view description, std::int64_t now) {
    bool is_new = false;
    write_within(heap_, rem::durability::durable, [&] {
        const auto [at, inserted] = contents_->groups.try_emplace(rem::string_pi(group));
        is_new = inserted;
        if (!inserted)
            return;
        at->second.generation = ++contents_->last_generation;
        at->second.created = now;
        at->second.description = description;
    });
    return is_new;
}

bool catalogue::remove(std::string_view group) {
    bool was_there = false;
    write_within(heap_, rem::durability::durable, [&] {
        const auto found = contents_->groups.find(group);
        was_there = found != contents_->groups.end();
        if (was_there)
            contents_->groups.erase(found);
    });
    return was_there;
}

claim_result catalogue::claim(std::string_view message_id, const std::vector<std::string>& groups, session_number by) {
    claim_result result = claim_result::claimed;
    write_within(heap_, rem::durability::durable, [&] {
        if (contents_->claims.contains(message_id)) {
            result = claim_result::being_posted;
        } else if (contents_->places.contains(message_id)) {
            result = claim_result::duplicate;
        } else {
            contents_->claims[rem::string_pi(message_id)].session = by;
            contents_->places[rem::string_pi(message_id)] = joined(groups);
        }
    });
    return result;
}

void catalogue::settle(std::string_view message_id, std::span<const group_marks> groups) {
    write_within(heap_, rem::durability::lazy, [&] {
        for (const group_marks& each : groups)
            note_in_section(each);
        contents_->claims.erase(message_id); // C2: it has been in `places` since it was claimed
    });
}

void catalogue::begin_undo(std::string_view message_id) {
    write_within(heap_, rem::durability::durable, [&] {
        const auto found = contents_->claims.find(message_id);
        if (found != contents_->claims.end())
            found->second.undo = true;
    });
}

void catalogue::abandon(std::string_view message_id) {
    write_within(heap_, rem::durability::lazy, [&] {
        contents_->claims.erase(message_id);
        contents_->places.erase(message_id);
    });
}

void catalogue::forget(std::string_view group, std::span<const article_name> articles) {
    write_within(heap_, rem::durability::durable, [&] {
        for (const article_name& each : articles)
            forget_in_section(group, each.message_id);
    });
}

void catalogue::forget_in_section(std::string_view group, std::string_view message_id) {
    const auto found = contents_->places.find(message_id);
    if (found == contents_->places.end())
        return;
    std::vector<std::string> names = names_in(found->second);
    std::erase(names, group);
    if (names.empty())
        contents_->places.erase(found);
    else
        found->second = joined(names);
}

void catalogue::note(const group_marks& of) {
    write_within(heap_, rem::durability::lazy, [&] { note_in_section(of); });
}

void catalogue::note_in_section(const group_marks& of) {
    const auto found = contents_->groups.find(of.group);
    if (found == contents_->groups.end())
        return; // removed meanwhile
    group_row& row = found->second;
    // Several sessions post to a group, and may settle in another order than they appended in.
    row.high = std::max(row.high, of.marks.high);
    row.low = std::max(row.low, of.marks.low);
    row.count = of.marks.count;
}

} // namespace news
