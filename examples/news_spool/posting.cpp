#include "posting.hpp"

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace news {

namespace {

std::vector<std::string> existing(spool& in, const std::vector<std::string>& groups) {
    std::vector<std::string> found;
    for (const std::string& each : groups)
        if (in.index().find(each))
            found.push_back(each);
    return found;
}

/// Claims the article. If another session has claimed it, waits until that session, or its mender, ends the claim.
claim_result claim_in_time(spool& in, const article& what, const std::vector<std::string>& groups, session_number by,
                           const std::function<bool()>& is_in_haste) {
    using namespace std::chrono_literals;
    const auto deadline = std::chrono::steady_clock::now() + k_lock_wait;
    for (;;) {
        const claim_result result = in.index().claim(what.message_id, groups, by);
        if (result != claim_result::being_posted || std::chrono::steady_clock::now() > deadline || is_in_haste())
            return result;
        std::this_thread::sleep_for(50ms);
    }
}

/// Appends the article to all groups. A group that was removed meanwhile does not matter, unless it was the only one.
std::vector<group_marks> append_to_all(spool& in, const article& what, const std::vector<std::string>& groups) {
    std::vector<group_marks> marks;
    const std::int64_t arrived = now();
    for (const std::string& name : groups) {
        group_file* const group = in.open(name);
        if (group == nullptr)
            continue;
        static_cast<void>(group->append(what, arrived)); // C1
        marks.push_back({name, group->marks()});
    }
    if (marks.empty())
        throw refused("The groups of the article were removed");
    return marks;
}

void remove_from_all(spool& in, std::string_view message_id) {
    const std::vector<article_name> which{{.number = 0, .message_id = std::string(message_id)}};
    for (const std::string& name : in.index().places(message_id)) {
        if (group_file* const group = in.open(name))
            group->remove(which); // also if the group seems to lack it: that fails if the group's file has failed
    }
}

/// Removes the article from all groups. Returns false if that fails; the claim then stays.
bool undo(spool& in, std::string_view message_id) {
    try {
        in.index().begin_undo(message_id);
        remove_from_all(in, message_id);
        in.index().abandon(message_id);
        return true;
    } catch (const std::exception& reason) {
        std::cerr << "news_spool: cannot take back " << message_id << " yet: " << reason.what() << '\n';
        return false;
    }
}

post_result post_claimed(spool& to, const article& what, const std::vector<std::string>& groups) {
    std::vector<group_marks> marks;
    try {
        marks = append_to_all(to, what, groups);
    } catch (const std::exception& reason) {
        std::cerr << "news_spool: " << what.message_id << " is not posted: " << reason.what() << '\n';
        const bool is_undone = undo(to, what.message_id);
        return {false, is_undone ? "Posting failed, try again later" : "Posting failed, and is being taken back",
                !is_undone};
    }
    try {
        to.index().settle(what.message_id, marks);
        return {true, {}};
    } catch (const std::exception& reason) { // all groups have it, so it is posted
        std::cerr << "news_spool: " << what.message_id << " is not settled yet: " << reason.what() << '\n';
        return {true, {}, true};
    }
}

std::optional<article_copy> copy_in(spool& all, const std::vector<std::string>& groups, std::string_view message_id) {
    for (const std::string& name : groups) {
        group_file* const group = all.open(name);
        const std::optional<article_number> number = group == nullptr ? std::nullopt : group->number_of(message_id);
        if (number)
            return group->find(*number);
    }
    return {};
}

void complete(spool& all, const open_claim& left) {
    const std::vector<std::string> groups = all.index().places(left.message_id);
    const std::optional<article_copy> found = copy_in(all, groups, left.message_id);
    if (!found) {
        all.index().abandon(left.message_id);
        return;
    }
    std::vector<group_marks> marks;
    for (const std::string& name : groups) {
        group_file* const group = all.open(name);
        if (group == nullptr)
            continue;
        static_cast<void>(group->append(*found)); // does nothing where the article is
        marks.push_back({name, group->marks()});
    }
    all.index().settle(left.message_id, marks);
}

} // namespace

post_result post(spool& to, const article& what, session_number by, const std::function<bool()>& is_in_haste) {
    try {
        const std::vector<std::string> groups = existing(to, what.groups);
        if (groups.empty())
            return {false, "There is no such group"};
        switch (claim_in_time(to, what, groups, by, is_in_haste)) {
        case claim_result::duplicate:
            return {false, "Duplicate: an article with this Message-ID was posted before"};
        case claim_result::being_posted:
            return {false, "An article with this Message-ID is being posted, try again later"};
        case claim_result::claimed:
            break;
        }
        return post_claimed(to, what, groups);
    } catch (const std::exception& reason) { // after a failure of the disk nobody knows whether the claim is durable
        std::cerr << "news_spool: " << what.message_id << " is not posted: " << reason.what() << '\n';
        return {false, "Posting failed, try again later", true};
    }
}

bool mend(spool& all, const std::function<bool(session_number)>& has_ended) {
    bool all_is_well = true;
    for (const open_claim& left : all.index().claims()) {
        if (!has_ended(left.session))
            continue;
        try {
            if (left.undo)
                all_is_well = undo(all, left.message_id) && all_is_well;
            else
                complete(all, left);
        } catch (const std::exception& reason) {
            std::cerr << "news_spool: cannot mend " << left.message_id << " yet: " << reason.what() << '\n';
            all_is_well = false;
        }
    }
    return all_is_well;
}

} // namespace news
