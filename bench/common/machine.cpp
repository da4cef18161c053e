#include "harness.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace bench {

namespace {

namespace fs = std::filesystem;

/// The value of a line "key : value" in a file of /proc; empty when there is none.
std::string proc_value(const char* file, std::string_view key) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(key))
            continue;
        const std::size_t colon = line.find(':');
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        if (colon != std::string::npos && value != std::string::npos)
            return line.substr(value);
    }
    return {};
}

bool is_below(const std::string& path, const std::string& mount_point) {
    if (mount_point == "/")
        return true;
    return path.starts_with(mount_point) && (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

} // namespace

std::string file_system_of(const fs::path& directory) {
    const std::string path = fs::canonical(directory).string();
    std::ifstream mounts("/proc/self/mounts");
    std::string best_point;
    std::string best = "unknown file system";
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string device;
        std::string point;
        std::string type;
        words >> device >> point >> type;
        // The later of two at the same place hides the earlier.
        if (!is_below(path, point) || point.size() < best_point.size())
            continue;
        best_point = point;
        best = type;
        best.append(" (").append(device).append(")");
    }
    return best;
}

std::vector<std::pair<std::string, std::string>> machine_facts(const fs::path& directory) {
    utsname kernel{};
    ::uname(&kernel);
#ifdef __clang__
    const std::string compiler = "clang " __clang_version__;
#else
    const std::string compiler = "g++ " __VERSION__;
#endif
    return {{"machine", std::to_string(std::thread::hardware_concurrency()) + " cores, " +
                            proc_value("/proc/cpuinfo", "model name") + ", memory " +
                            proc_value("/proc/meminfo", "MemTotal")},
            {"kernel", std::string(kernel.sysname) + ' ' + kernel.release},
            {"disk", file_system_of(directory)},
            {"compiler", compiler}};
}

} // namespace bench
