// What several subcommands say alike.
#pragma once

#include "base/result.hpp"
#include "json.hpp"

#include <string>
#include <vector>

namespace remanence::tool {

inline std::vector<json_object> problems_as_json(const std::vector<failure>& problems) {
    std::vector<json_object> list;
    for (const failure& problem : problems) {
        json_object& one = list.emplace_back();
        one.add("what", problem.message).add("file", problem.path);
        if (problem.offset == error::k_no_offset)
            one.add_null("offset");
        else
            one.add("offset", problem.offset);
    }
    return list;
}

/// One line on standard error: that there is damage, and how to hear of all of it.
void warn_of_damage(const std::vector<failure>& problems, const std::string& file);

} // namespace remanence::tool
