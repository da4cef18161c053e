#include "commands.hpp"
#include "text.hpp"

#include <remanence/inspect.hpp>

#include <fmt/format.h>

namespace remanence::tool {

int upgrade(const std::string& file, const std::string& application) {
    const inspect::upgraded outcome = inspect::upgrade(file, application);
    if (!outcome.changed) {
        put(fmt::format("{} has format {} already: nothing to do.\n", visible(file), outcome.format_before));
        return exit_ok;
    }
    std::string done = outcome.format_before == outcome.format
                           ? fmt::format("{}: format {}", visible(file), outcome.format)
                           : fmt::format("{}: format {}, was {}", visible(file), outcome.format, outcome.format_before);
    if (!application.empty())
        done += fmt::format(", application {}", application);
    if (outcome.recovered_commits != 0)
        done += fmt::format("; {} recovered from the log", counted(outcome.recovered_commits, "commit"));
    put(done + "\n");
    return exit_ok;
}

} // namespace remanence::tool
