#include "sync_count.hpp"

#include <harness.hpp>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

namespace {

constexpr const char* k_begin = "/nowhere/begin";
constexpr const char* k_end = "/nowhere/end";
constexpr const char* k_calls =
    "trace=openat,close,fsync,fdatasync,sync_file_range,msync,write,writev,pwrite64,pwritev,"
    "pwritev2,access,faccessat,faccessat2";

/// "1234  name(arguments) = result", or the first half of it: what of it begins a call.
struct call {
    std::string_view name;
    std::string_view rest;
};

call parse(std::string_view line) {
    const std::size_t begin = line.find_first_not_of("0123456789 ");
    const std::size_t open = line.find('(');
    if (begin == std::string_view::npos || open == std::string_view::npos || line[begin] == '<')
        return {};
    return {line.substr(begin, open - begin), line.substr(open + 1)};
}

int result_of(std::string_view rest) {
    const std::size_t equals = rest.rfind("= ");
    return equals == std::string_view::npos ? -1 : std::atoi(std::string(rest.substr(equals + 2)).c_str());
}

} // namespace

bool can_count_syncs() { return std::system("strace -o /dev/null true > /dev/null 2>&1") == 0; }

double count_syncs_of(const std::vector<std::string>& words, const std::filesystem::path& directory) {
    const std::filesystem::path trace = directory / "trace";
    bench::run_child(words, {"strace", "-f", "-qq", "-e", "signal=none", "-e", k_calls, "-o", trace});
    std::ifstream lines(trace);
    std::set<int> synchronous; // descriptors whose writes are syncs
    bool is_counting = false;
    double syncs = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto [name, rest] = parse(line);
        if (rest.find(k_begin) != std::string_view::npos)
            is_counting = true;
        if (rest.find(k_end) != std::string_view::npos)
            is_counting = false;
        const int descriptor = std::atoi(std::string(rest.substr(0, 8)).c_str());
        if (name == "openat" && rest.find("SYNC") != std::string_view::npos)
            synchronous.insert(result_of(rest));
        else if (name == "openat")
            synchronous.erase(result_of(rest));
        else if (name == "close")
            synchronous.erase(descriptor);
        else if (is_counting && (name.find("sync") != std::string_view::npos ||
                                 (name.find("write") != std::string_view::npos && synchronous.contains(descriptor))))
            ++syncs;
    }
    return syncs;
}

// strace sees them; there is no such file.
void mark_beginning() { (void)!::access(k_begin, F_OK); }
void mark_end() { (void)!::access(k_end, F_OK); }
