// What several subcommands say alike.
#pragma once

#include "base/result.hpp"
#include "json.hpp"
#include "inspect/inspection.hpp"

#include <functional>
#include <string>
#include <vector>

namespace remanence::tool {

inline std::vector<json_object> problems_as_json(const std::vector<inspect::problem>& problems) {
    std::vector<json_object> list;
    for (const inspect::problem& each : problems) {
        json_object& one = list.emplace_back();
        one.add("what", each.message).add("file", each.path);
        if (each.offset == error::k_no_offset)
            one.add_null("offset");
        else
            one.add("offset", each.offset);
        if (each.bytes == 0)
            one.add_null("bytes");
        else
            one.add("bytes", each.bytes);
    }
    return list;
}

/// Prints what `describe` says of the heap once `look` has read what that needs, and on standard error, if there is damage,
/// that there is and how to hear of all of it. Returns the exit code.
int print_findings(const std::string& file, const std::function<result<void>(inspect::inspection&)>& look,
                   const std::function<std::string(inspect::inspection&)>& describe);

} // namespace remanence::tool
