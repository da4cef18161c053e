// What several subcommands say alike.
#pragma once

#include "base/result.hpp"
#include "json.hpp"
#include "txn/inspection.hpp"

#include <functional>
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

/// Prints what `describe` says of the heap, and on standard error, if there is damage, that there is and how to hear of
/// all of it. Returns the exit code.
int print_findings(const std::string& file, const std::function<std::string(txn::inspection&)>& describe);

} // namespace remanence::tool
