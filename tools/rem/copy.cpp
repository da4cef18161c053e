#include "commands.hpp"
#include "store/heap_copy.hpp"
#include "text.hpp"
#include "inspect/root_survey.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <system_error>
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

result<void> write_to_output(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(errc::io, fmt::format("cannot write to standard output: {}.", std::strerror(errno)), {}, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

/// A copy must not make damage look whole. Its pages are checked as they are copied.
result<void> refuse_damaged(inspect::inspection& heap) {
    if (heap.problems().empty()) {
        REM_TRY(heap.check_structure());
        inspect::check_roots(heap, checked(inspect::list_roots(heap)));
    }
    if (heap.problems().empty())
        return {};
    return unexpected(heap.problems().front());
}

/// What went out cannot be taken back: another attempt only tells whether the first one met damage or a busy writer.
void copy_to_output(inspect::inspection& heap, bool& has_begun) {
    const bool is_another = has_begun;
    progress_line progress("copying");
    checked(store::copy_bytes(
        heap.store(),
        [&](std::span<const std::byte> bytes) -> result<void> {
            has_begun = true;
            return is_another ? result<void>() : write_to_output(bytes);
        },
        [&](std::uint64_t done, std::uint64_t total) { progress(done, total); }));
    if (is_another)
        refuse(errc::in_use,
               fmt::format("{} was written to while it was copied: what went to standard output is not a whole copy. "
                           "Copy to a file instead.",
                           heap.path()),
               heap.path());
}

/// The file that is to be replaced, locked so that nobody opens it for writing meanwhile; null when there is none.
std::unique_ptr<os::file> lock_old(inspect::inspection& heap, const std::string& to, bool force) {
    os::file_system& files = os::posix_file_system();
    const bool is_there = checked(files.exists(to));
    constexpr std::string_view k_log = "-log";
    if (to.ends_with(k_log) && checked(files.exists(to.substr(0, to.size() - k_log.size()))))
        refuse(errc::exists,
               fmt::format("{} is where the redo log of {} belongs. Name another file.", to,
                           to.substr(0, to.size() - k_log.size())),
               to);
    std::error_code unknown; // then it is named as it is
    const std::string place = std::filesystem::weakly_canonical(to, unknown).string();
    if (is_there && checked(heap.store().file().is_at(unknown ? to : place)))
        refuse(errc::exists, fmt::format("{} and {} are the same file.", heap.path(), to), to);
    if (is_there && !force)
        refuse(errc::exists, fmt::format("{} exists. Name another file, or replace it with --force.", to), to);
    std::unique_ptr<os::file> old;
    if (is_there)
        old = checked(files.open(to, os::access::read_only));
    if (old && !checked(old->try_lock(os::lock_kind::shared)))
        fail_with(store::in_use(to).why());
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

/// A copy to a file, in as many steps as it takes.
class file_copy {
public:
    file_copy(std::string to, bool force) : to_(std::move(to)), force_(force) {}

    /// Once more when the heap moved on: then what has changed is copied.
    result<void> update(inspect::inspection& heap) {
        if (!copy_) {
            old_ = lock_old(heap, to_, force_);
            auto mode = heap.store().file().permissions();
            copy_ = checked(store::copy_in_progress::begin(files_, to_, checked(std::move(mode))));
            expect_signals(store::new_path(to_));
        }
        progress_line progress("copying");
        return copy_->update(heap.store(), [&](std::uint64_t done, std::uint64_t total) { progress(done, total); });
    }
    void finish() {
        auto done = copy_->finish(force_ ? store::existing::replaced : store::existing::refused);
        copy_.reset(); // removes what did not get its name
        unfinished[0] = '\0';
        checked(std::move(done));
    }

private:
    os::file_system& files_ = os::posix_file_system();
    std::string to_;
    bool force_;
    std::unique_ptr<os::file> old_;
    std::unique_ptr<store::copy_in_progress> copy_;
};

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
    if (to.ends_with('/'))
        refuse(errc::not_a_heap, fmt::format("{} names a directory. Name a file.", to), to);
    std::optional<file_copy> copy;
    if (!to_output)
        copy.emplace(real_path(to), force);
    bool has_begun = false;
    const auto heap = inspect(file, k_attempts, [&](inspect::inspection& now) -> result<void> {
        REM_TRY(refuse_damaged(now));
        if (copy)
            return copy->update(now);
        copy_to_output(now, has_begun);
        return {};
    });
    if (!heap->problems().empty())
        fail_with(heap->problems().front());
    if (copy)
        copy->finish();
    return exit_ok;
}

} // namespace remanence::tool
