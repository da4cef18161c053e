#include "os/lock_holders.hpp"

#include "os/descriptor.hpp"

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace remanence::os {

namespace {

struct close_directory {
    void operator()(DIR* opened) const { ::closedir(opened); }
};

/// Returns the names in a directory of /proc that are numbers; returns nothing if the directory cannot be read.
std::vector<int> numbers_in(const std::string& directory) {
    std::vector<int> found;
    const int descriptor = open_file(directory.c_str(), O_RDONLY | O_DIRECTORY);
    if (descriptor < 0)
        return found;
    const std::unique_ptr<DIR, close_directory> opened(::fdopendir(descriptor));
    if (!opened) {
        ::close(descriptor);
        return found;
    }
    while (const dirent* entry = ::readdir(opened.get())) {
        const std::string_view name = entry->d_name;
        int number = 0;
        const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (wrong == std::errc{} && end == name.data() + name.size())
            found.push_back(number);
    }
    std::ranges::sort(found);
    return found;
}

struct held_locks {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    std::optional<std::int64_t> of_reader;
};

/// Adds the locks of an open file from lines such as "lock: 1: OFDLCK ADVISORY READ -1 fe:01:12 2305843009213693952
/// 2305843009213693952".
void add_locks(held_locks& held, const std::string& fdinfo) {
    const auto number = [](std::string_view text) {
        std::int64_t value = 0;
        (void)std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    };
    text_lines lines(fdinfo.c_str());
    for (std::string line; lines.next(line);) {
        if (!line.starts_with("lock:") || line.find("OFDLCK") == std::string::npos)
            continue;
        const std::size_t last = line.find_last_of(' ') + 1;
        const std::size_t first = line.find_last_of(' ', last - 2) + 1;
        const std::int64_t end = number(std::string_view(line).substr(last));
        if (end < k_first_reader_lock)
            continue;
        const std::int64_t begin = number(std::string_view(line).substr(first));
        held.all.emplace_back(begin, end);
        if (line.find(" READ ") != std::string::npos && begin < k_lock_offset)
            held.of_reader = std::min(begin, held.of_reader.value_or(begin));
    }
}

const char* words_of(char state) {
    switch (state) {
    case 'T':
        return ", which is stopped";
    case 't':
        return ", which is stopped by a debugger";
    case 'D':
        return ", which waits for a device";
    case 'R':
        return ", which is running";
    case 'S':
    case 'I':
        return ", which is sleeping";
    default:
        return "";
    }
}

} // namespace

bool lock_holder::holds(std::int64_t byte) const {
    return std::ranges::any_of(locks, [=](const auto& each) { return each.first <= byte && byte <= each.second; });
}

// The state follows the program's name, which is in parentheses and may itself contain some.
char state_of_process(int process) {
    std::string line;
    (void)text_lines(("/proc/" + std::to_string(process) + "/stat").c_str()).next(line);
    const std::size_t end = line.rfind(')');
    return end != std::string::npos && end + 2 < line.size() ? line[end + 2] : '\0';
}

std::vector<lock_holder> lock_holders(const std::string& path) {
    std::vector<lock_holder> found;
    struct stat wanted{};
    if (::stat(path.c_str(), &wanted) != 0)
        return found;
    for (const int process : numbers_in("/proc")) {
        const std::string directory = "/proc/" + std::to_string(process);
        held_locks held;
        for (const int number : numbers_in(directory + "/fd")) {
            struct stat opened{};
            const std::string name = std::to_string(number);
            if (::stat((directory + "/fd/" + name).c_str(), &opened) == 0 && opened.st_dev == wanted.st_dev &&
                opened.st_ino == wanted.st_ino)
                add_locks(held, directory + "/fdinfo/" + name);
        }
        if (held.all.empty())
            continue;
        std::string name;
        (void)text_lines((directory + "/comm").c_str()).next(name);
        found.push_back({process, std::move(name), held.of_reader, process == ::getpid(), state_of_process(process),
                         std::move(held.all)});
    }
    return found;
}

std::string who_holds(const std::string& path) {
    const std::vector<lock_holder> all = lock_holders(path);
    if (all.empty())
        return "another process, or another handle of this one, holds its lock; the kernel's lists do not tell which "
               "(it "
               "belongs to another user, or to another container)";
    std::string names;
    bool is_mine = false;
    std::size_t count = 0;
    for (const lock_holder& each : all) {
        if (each.is_this_process) {
            is_mine = true;
            continue;
        }
        names += (count++ == 0 ? "" : " and ") + std::to_string(each.process) + " (" + each.name +
                 (is_stopped(each.state) ? ", stopped)" : ")");
    }
    if (count == 0)
        return "another handle of this process holds its lock";
    if (is_mine)
        return "this process and " + names + " hold its lock";
    return count == 1 ? "another process, " + names + ", holds its lock"
                      : "other processes, " + names + ", hold its lock";
}

std::string describe_holders(const std::string& path, std::int64_t byte) {
    std::string all;
    for (const lock_holder& each : lock_holders(path)) {
        if (each.is_this_process || !each.holds(byte))
            continue;
        all += (all.empty() ? "another process, " : " and ") + std::to_string(each.process) + " (" + each.name + ")" +
               words_of(each.state);
    }
    if (!all.empty())
        return all;
    return "another process, or another handle of this one; the kernel's lists do not tell which (it belongs to "
           "another user, or to another container)";
}

} // namespace remanence::os
