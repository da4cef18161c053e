// How old articles leave the spool. Depends on spool.hpp.
//
// The age of an article is what has passed since it arrived, by the clock of this machine, which may be wrong:
// E1: the newest `keep` articles of a group never expire;
// E2: one run removes at most a quarter of a group's articles, and runs are an hour apart. A clock that jumps ahead thus
//     costs a group no more than that until somebody notices;
// E3: an article that arrived in the future, because the clock was set back, does not expire.
#pragma once

#include "spool.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace news {

struct expiry_rule {
    std::string groups;     ///< a group, or "comp.*" for all groups whose names begin so, or "*"
    std::uint64_t days = 0; ///< 0: articles never expire
    std::uint64_t keep = 100;
};

/// The rules of a spool; the last one that fits a group holds for it.
class expiry_rules {
public:
    /// Reads DIR/expire.conf, whose lines are "GROUPS DAYS [KEEP]"; '#' begins a comment. Without the file, all groups
    /// have `otherwise`, as have the groups that no line names. Errors: std::runtime_error, which names the line.
    expiry_rules(const std::filesystem::path& directory, const expiry_rule& otherwise);
    [[nodiscard]] const expiry_rule& of(std::string_view group) const;

private:
    std::vector<expiry_rule> rules_;
};

/// Removes what has expired at the time `now`, from all groups. Returns how many articles that were; an article in
/// several groups counts as often. Errors: remanence::error and busy, after which the next run goes on.
std::uint64_t expire(spool& in, const expiry_rules& rules, std::int64_t now);

} // namespace news
