#include "os/memory_limit.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::os {

namespace {

constexpr std::size_t k_text_bytes_max = 64 * KiB;

/// Returns the text of a file in /proc, up to 64 KiB. The system does not report the size of such a file.
std::string text_of(file_system& files, const std::string& path) {
    auto opened = files.open(path, access::read_only);
    if (!opened)
        return {};
    const auto size = (*opened)->size();
    const std::uint64_t bytes_max =
        size && *size != 0 ? std::min<std::uint64_t>(*size, k_text_bytes_max) : k_text_bytes_max;
    std::string text;
    for (std::uint64_t bytes = std::min<std::uint64_t>(bytes_max, 4 * KiB);; bytes = std::min(4 * bytes, bytes_max)) {
        text.assign(bytes, '\0');
        // Fails because the file is shorter, but has read its contents all the same.
        (void)(*opened)->read(0, std::as_writable_bytes(std::span(text)));
        if (text.back() == '\0' || bytes == bytes_max)
            break;
    }
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

/// Returns the number that a text begins with; nothing for "max".
std::optional<std::uint64_t> number_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::uint64_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{})
        return {};
    return number;
}

/// Applies the limits of a group and of its parents. In a container, the path that the kernel names may not exist; then
/// the root is the container's own group.
void take_limits(file_system& files, const std::string& mount, std::string_view group, const char* name,
                 std::uint64_t& limit) {
    std::string path(group);
    for (;;) {
        while (!path.empty() && path.back() == '/')
            path.pop_back();
        if (const auto of_group = number_in(text_of(files, mount + path + '/' + name)))
            limit = std::min(limit, *of_group);
        if (path.empty())
            return;
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
}

} // namespace

std::uint64_t memory_limit(file_system& files) {
    constexpr std::uint64_t k_none = ~std::uint64_t{0};
    constexpr std::string_view k_total = "MemTotal:";
    std::uint64_t limit = k_none;
    const std::string machine = text_of(files, "/proc/meminfo");
    for (const std::string_view line : parts_of(machine, '\n')) {
        if (!line.starts_with(k_total))
            continue;
        if (const auto total = number_in(line.substr(k_total.size())))
            limit = *total * KiB;
    }
    const std::string groups = text_of(files, "/proc/self/cgroup"); // lines of number:controllers:path
    for (const std::string_view line : parts_of(groups, '\n')) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos)
            continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string_view group = line.substr(second + 1);
        if (controllers.empty()) {
            take_limits(files, "/sys/fs/cgroup", group, "memory.max", limit);
            take_limits(files, "/sys/fs/cgroup/unified", group, "memory.max", limit);
        } else if (std::ranges::count(parts_of(controllers, ','), "memory") != 0) {
            take_limits(files, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", limit);
        }
    }
    return limit == k_none ? 0 : limit;
}

} // namespace remanence::os
