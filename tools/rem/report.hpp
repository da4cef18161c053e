// Output that several subcommands share.
#pragma once

#include "json.hpp"
#include "text.hpp"

#include <remanence/inspect.hpp>

#include <optional>
#include <string>
#include <vector>

namespace remanence::tool {

inline std::vector<json_object> problems_as_json(const std::vector<inspect::damage>& problems) {
    std::vector<json_object> list;
    for (const inspect::damage& each : problems) {
        json_object& one = list.emplace_back();
        one.add("what", each.what).add("file", each.path);
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

/// Returns the result of f. On a terminal, shows the progress of each step in a line until f returns.
template <class F>
auto with_progress(const F& f) {
    std::optional<progress_line> line;
    std::optional<inspect::step> step;
    return f([&](inspect::step what, std::uint64_t done, std::uint64_t total) {
        if (step != what) {
            step = what;
            line.reset(); // removes the old line before the new one is shown
            line.emplace(what == inspect::step::reading_log ? "reading the redo log"
                         : what == inspect::step::checking  ? "checking"
                                                            : "copying");
        }
        (*line)(done, total);
    });
}

/// Returns the exit code. If there is damage, reports that on standard error, and says how to list all of it.
int exit_code_of(const std::string& file, const inspect::report& found);

} // namespace remanence::tool
