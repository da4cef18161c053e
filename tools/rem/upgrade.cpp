#include "recover/upgrade.hpp"
#include "commands.hpp"
#include "format/superblock.hpp"
#include "text.hpp"

#include <fmt/format.h>

namespace remanence::tool {

int upgrade(const std::string& file, const std::string& application) {
    const auto outcome = checked(recover::upgrade(os::posix_file_system(), real_path(file), application));
    if (!outcome.changed) {
        put(fmt::format("{} has format {} already: nothing to do.\n", visible(file), outcome.format_before));
        return exit_ok;
    }
    std::string done =
        outcome.format_before == format::k_format_version
            ? fmt::format("{}: format {}", visible(file), format::k_format_version)
            : fmt::format("{}: format {}, was {}", visible(file), format::k_format_version, outcome.format_before);
    if (!application.empty())
        done += fmt::format(", application {}", application);
    if (outcome.recovered_commits != 0)
        done += fmt::format("; {} recovered from the log", counted(outcome.recovered_commits, "commit"));
    put(done + "\n");
    return exit_ok;
}

} // namespace remanence::tool
