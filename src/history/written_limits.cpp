// Separate from kept_steps.cpp, since every program that opens a heap links this file, but not kept_steps.cpp.
#include "history/step_tree.hpp"

namespace remanence::history {

format::history_limits written(const limits& most) {
    return {most.bytes_max, most.steps_max, static_cast<std::uint64_t>(most.then)};
}

std::optional<limits> read_limits(const format::history_limits& written) {
    if (written.when_full > format::k_when_full_last)
        return std::nullopt;
    // An earlier release could end a history that was full (k_when_full_ended). Such a history continues with the steps
    // in the file. But the commit at which it ended removed all steps except kept ones, so later events may not fit the
    // steps in the file. If they do not fit, the history begins anew, and reports that.
    const bool ended = written.when_full == format::k_when_full_ended;
    return limits{written.bytes_max, written.steps_max,
                  ended ? when_full::oldest_go : static_cast<when_full>(written.when_full)};
}

} // namespace remanence::history
