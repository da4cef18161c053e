#include "commands.hpp"
#include "store/heap_copy.hpp"
#include "text.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace remanence::tool {

namespace {

// The file that is being made, for the handler of signals to remove; empty when there is none.
std::array<char, PATH_MAX> unfinished{};

extern "C" void remove_unfinished(int signal) {
    if (unfinished[0] != '\0')
        ::unlink(unfinished.data());
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void expect_signals(const std::string& building) {
    if (building.size() < unfinished.size())
        std::memcpy(unfinished.data(), building.c_str(), building.size() + 1);
}

[[noreturn]] void refuse(errc code, std::string message, const std::string& path, int os_error = 0) {
    fail_with({code, std::move(message), path, os_error});
}

void copy_to_output(txn::inspection& heap) {
    auto write = [](std::span<const std::byte> bytes) -> result<void> {
        while (!bytes.empty()) {
            const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return fail(errc::io, fmt::format("cannot write to standard output: {}.", std::strerror(errno)), {},
                            errno);
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
        return {};
    };
    progress_line progress("copying");
    checked(store::copy_bytes(heap.store(), write,
                              [&](std::uint64_t done, std::uint64_t total) { progress(done, total); }));
}

/// The file that is to be replaced, locked so that nobody opens it for writing meanwhile; null when there is none.
std::unique_ptr<os::file> lock_old(txn::inspection& heap, const std::string& to, bool force) {
    os::file_system& files = os::posix_file_system();
    const bool is_there = checked(files.exists(to));
    if (is_there && checked(heap.store().file().is_at(to)))
        refuse(errc::exists, fmt::format("{} and {} are the same file.", heap.path(), to), to);
    if (to == store::log_path(real_path(heap.path())))
        refuse(errc::exists, fmt::format("{} is where the redo log of {} belongs. Name another file.", to, heap.path()),
               to);
    if (is_there && !force)
        refuse(errc::exists, fmt::format("{} exists. Name another file, or replace it with --force.", to), to);
    std::unique_ptr<os::file> old;
    if (is_there)
        old = checked(files.open(to, os::access::read_only));
    if (old && !checked(old->try_lock(os::lock_kind::shared)))
        refuse(errc::in_use, fmt::format("{} is open in another process. Close it there before it is replaced.", to),
               to);
    const std::string log = store::log_path(to);
    if (checked(files.exists(log))) {
        refuse(errc::exists,
               fmt::format("the redo log {} is in the way: the copy would be taken for its heap. Bring it back to its "
                           "heap, or remove it.",
                           log),
               log);
    }
    return old;
}

void copy_to_file(txn::inspection& heap, const std::string& to, bool force) {
    os::file_system& files = os::posix_file_system();
    const auto old = lock_old(heap, to, force);
    const std::string building = store::new_path(to);
    progress_line progress("copying");
    auto file = checked(store::copy_to_new(heap.store(), files, to, [&](std::uint64_t done, std::uint64_t total) {
        if (unfinished[0] == '\0') // from here on it is ours
            expect_signals(building);
        progress(done, total);
    }));
    result<void> named;
    if (force) {
        std::error_code why;
        std::filesystem::rename(building, to, why);
        if (why)
            named = fail(errc::io, fmt::format("cannot rename {} to {}: {}.", building, to, why.message()), to,
                         why.value());
    } else {
        named = files.rename_to_new("rem: rename copy", building, to);
    }
    unfinished[0] = '\0';
    if (!named)
        (void)files.remove("rem: remove copy", building); // best effort: the error at hand is the one that counts
    checked(std::move(named));
    checked(files.sync_directory("rem: sync directory of copy", to));
}

} // namespace

int copy(const std::string& file, const std::string& to, bool force) {
    const bool to_output = to == "-";
    if (to_output && ::isatty(STDOUT_FILENO) == 1) {
        fmt::print(stderr, "rem copy: standard output is a terminal. Name a file, or send the copy into a pipe.\n");
        return exit_usage;
    }
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
        if (std::signal(signal, remove_unfinished) == SIG_IGN)
            std::signal(signal, SIG_IGN); // nohup
    }
    std::signal(SIGPIPE, SIG_IGN); // a reader that goes away is an error of write()
    std::signal(SIGXFSZ, SIG_IGN); // and so is a file beyond the process's limit
    auto heap = inspect(file);
    if (!heap->problems().empty())
        fail_with(heap->problems().front()); // a copy must not make damage look whole
    if (to_output)
        copy_to_output(*heap);
    else
        copy_to_file(*heap, real_path(to), force);
    return exit_ok;
}

} // namespace remanence::tool
