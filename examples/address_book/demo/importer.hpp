// The importer as a child process: what it reports, and how it ends. Depends on the standard library and POSIX.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// A line that `address_book import --report-fd` wrote.
struct import_event {
    bool opened;               ///< the first line; else a commit returned
    std::uint64_t imported;    ///< entries so far, as the book's own count says
    std::uint64_t found = 0;   ///< entries that a walk through the book finds
    std::uint64_t commits = 0; ///< recovered
    std::uint64_t bytes = 0;   ///< recovered
    std::chrono::nanoseconds open_time{};
};

struct import_end {
    bool killed;     ///< died of signal 9
    int exit_status; ///< unless it died of a signal
};

class importer {
public:
    /// Starts `tool book import options…`. Its standard output is dropped, its errors are ours.
    importer(const std::filesystem::path& tool, const std::filesystem::path& book,
             const std::vector<std::string>& options);
    importer(const importer&) = delete;
    importer& operator=(const importer&) = delete;
    /// Kills it when it still runs.
    ~importer();

    /// Waits for the next report; none once all that it ever wrote has been read.
    std::optional<import_event> next();
    void kill() noexcept;
    /// Waits for its end.
    import_end wait();

private:
    pid_t child_ = -1;
    int reports_ = -1;
    std::string unread_;
};
