// What a spool knows of all its groups and articles: the heap spool.rem, which processes share. Depends on Remanence and
// the standard library.
//
// An article that is being posted has a *claim*, from before the first group has it until all groups have it. So a
// message-id is posted once, and whatever ends a session in between, the claim tells which groups may lack the article.
//
// C1: a claim is durable before a group has the article, and stays until all its groups are durable.
// C2: an article that a group has, and that has no claim, stands in `places`, unless it is expiring.
#pragma once

#include "article.hpp"
#include "group_file.hpp"
#include "section.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace news {

/// The process that serves one client. Numbers grow as long as the spool is served.
using session_number = std::uint64_t;

// What lies in the heap. It holds no addresses.
struct group_row {
    std::uint64_t generation = 0; ///< tells a group from a removed one of the same name
    std::int64_t created = 0;     ///< seconds since 1970
    article_number low = 1;       ///< as the last settled article or expiry has left them; group_file has the truth
    article_number high = 0;
    std::uint64_t count = 0;
    rem::string_pi description;
};
struct claim_row {
    session_number session = 0;
    bool undo = false; ///< the client was told that the article is not posted
};
struct spool_contents {
    std::uint64_t last_generation = 0;
    rem::btree_map<rem::string_pi, group_row> groups;      ///< by name
    rem::btree_map<rem::string_pi, rem::string_pi> places; ///< message-id to names of groups, separated by commas
    rem::btree_map<rem::string_pi, claim_row> claims;      ///< by message-id
};

static_assert(rem::position_independent<spool_contents>);

struct group_info {
    std::string name;
    std::uint64_t generation = 0;
    std::int64_t created = 0;
    watermarks marks;
    std::string description;
};

struct open_claim {
    std::string message_id;
    session_number session = 0;
    bool undo = false;
};

/// A group's name with its articles.
struct group_marks {
    std::string group;
    watermarks marks;
};

enum class claim_result {
    claimed,
    duplicate,    ///< the article was posted before
    being_posted, ///< another session has claimed it
};

/// Each call is one section. Errors of all: remanence::error; of those that change the catalogue, busy.
class catalogue {
public:
    /// Opens DIR/spool.rem, and creates it when there is none.
    explicit catalogue(const std::filesystem::path& directory);

    [[nodiscard]] std::vector<group_info> groups() const; ///< by name
    [[nodiscard]] std::optional<group_info> find(std::string_view group) const;
    /// Returns the groups that have, or had, the article.
    [[nodiscard]] std::vector<std::string> places(std::string_view message_id) const;
    [[nodiscard]] std::vector<open_claim> claims() const;

    /// Adds a group; returns false if there is one of this name. Durable once this returns.
    bool add(std::string_view group, std::string_view description, std::int64_t now);
    /// Removes a group; returns false if there is none. Durable once this returns.
    bool remove(std::string_view group);

    /// Claims a message-id for an article that will be in `groups`. Durable once this returns (C1).
    claim_result claim(std::string_view message_id, const std::vector<std::string>& groups, session_number by);
    /// Ends the claim: all groups have the article. Not durable at once. If a crash of the machine takes it back, the
    /// claim is there again, and is settled again.
    void settle(std::string_view message_id, std::span<const group_marks> groups);
    /// Notes that the article must be taken out of all groups. Durable once this returns.
    void begin_undo(std::string_view message_id);
    /// Ends the claim: no group has the article. Not durable at once, like settle().
    void abandon(std::string_view message_id);

    /// Forgets that articles are in a group from which they will be removed. Durable once this returns.
    void forget(std::string_view group, std::span<const article_name> articles);
    /// Notes what a group has. Not durable at once.
    void note(const group_marks& of);

private:
    void note_in_section(const group_marks& of);
    void forget_in_section(std::string_view group, std::string_view message_id);

    rem::heap heap_;
    spool_contents* contents_;
};

} // namespace news
