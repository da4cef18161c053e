// What the benchmarks share: options, runs in child processes, medians, a table for people and JSON for programs.
// A line on standard error tells of each child that has finished. Asked to stop (SIGINT, SIGTERM, SIGHUP), a benchmark ends
// its child, prints what is finished, and removes its files.
// Depends on the standard library and POSIX.
//
// Each measurement comes from a child process (this program again), so that systems do not disturb each other's
// memory, and so that "reopened" can mean a fresh process. The parent starts the systems in turn within each run, which
// spreads the machine's moods over all of them.
#pragma once

#include "aim.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

struct options {
    std::string json; ///< file for the results; empty: none
    unsigned runs = 5;
    std::filesystem::path dir;          ///< exists; results on disk go into a directory below it
    std::vector<std::string> only;      ///< parts of the names of the systems wanted; empty: all
    std::vector<std::string> workloads; ///< the same for workloads
    std::vector<std::string> child;     ///< the words of a child process; empty in the parent
};

/// Reads the command line. Ends the program for --help and for errors.
options parse_options(int count, char* words[], std::string_view purpose);

/// Whether one of `parts` is in `name`, capitals or not, or there are none.
bool is_wanted(std::string_view name, const std::vector<std::string>& parts);

/// One measurement of one run.
struct measurement {
    std::string op;
    double seconds;
    /// More keys of the row; the median is taken of them too.
    std::vector<std::pair<std::string, double>> more{};
};

class stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }
    /// The processor's time, of all threads: on a busy machine it tells what waiting adds to the other.
    [[nodiscard]] double cpu_seconds() const { return process_cpu_seconds() - cpu_begin_; }

private:
    static double process_cpu_seconds();

    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    double cpu_begin_ = process_cpu_seconds();
};

struct work_done {
    std::uint64_t times;
    double seconds; ///< of the whole
    double cpu_seconds;
};
/// Each of so many threads calls what `begin(thread)` returns in it, again and again, until the time is over. Throws what the first one that
/// failed threw.
work_done repeat_in_threads(unsigned threads, std::chrono::milliseconds time,
                            const std::function<std::function<void()>(unsigned thread)>& begin);

/// In a child: hands a measurement to the parent.
void hand_over(const measurement& result);

/// What ends a parent that was asked to stop. No std::runtime_error, which some benchmarks take for a child that failed.
class stopped : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// From now on signals that ask the program to stop make run_child() throw `stopped`.
void stop_when_asked();
void throw_if_asked_to_stop();
/// Ends the program by the signal that asked for it.
void end_as_asked();

/// In the parent: runs this program with `--child words…`, by another program if `by` names one and its arguments, and
/// returns what it hands over. Then a line on standard error has the last note and these times. Throws when the child fails.
std::vector<measurement> run_child(const std::vector<std::string>& words, const std::vector<std::string>& by = {});

/// A directory of its own below another, removed at the end.
class scratch_directory {
public:
    explicit scratch_directory(const std::filesystem::path& parent);
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;
    ~scratch_directory();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// A file of 64 MiB that was written before, for durable writes of 512 bytes: what the device takes for the least of them.
class raw_device {
public:
    /// Makes the file when there is none.
    explicit raw_device(const std::filesystem::path& file);
    raw_device(const raw_device&) = delete;
    raw_device& operator=(const raw_device&) = delete;
    ~raw_device();
    /// Writes behind the write before (O_DIRECT and O_DSYNC), and in the end from the beginning again.
    void write(std::uint64_t content);

private:
    void* block_ = nullptr;
    int descriptor_ = -1;
    std::uint64_t at_ = 0;
};

/// Reads all files of a directory: what was written with O_DIRECT is not in the page cache, what was written through it is.
void warm_page_cache(const std::filesystem::path& directory);

/// Syncs the file; the next to read it reads from the device, unless another process holds its pages.
void drop_from_page_cache(const std::filesystem::path& file);

/// "ext4 (/dev/vda)": what the directory lies on.
std::string file_system_of(const std::filesystem::path& directory);

/// Cores and memory, kernel, file system and compiler, each by its name.
std::vector<std::pair<std::string, std::string>> machine_facts(const std::filesystem::path& directory);

/// All measurements, by system, workload and operation, in the order of their first appearance.
class report {
public:
    /// `reference`: the system that others are compared with; empty: none.
    report(std::string benchmark, const options& chosen, std::string reference)
        : benchmark_(std::move(benchmark)),
          reference_(std::move(reference)),
          json_(chosen.json),
          directory_(chosen.dir) {}
    report(const report&) = delete;
    report& operator=(const report&) = delete;
    /// An unfinished one (the benchmark was stopped, or failed) prints and writes what it has.
    ~report();

    void add(const std::string& system, const std::string& workload, std::uint64_t entries, const measurement& result);
    /// A line below the tables.
    void remark(const std::string& line) { remarks_ += line + '\n'; }
    /// The median of the seconds; nothing when it was not measured (--only, --workload).
    [[nodiscard]] std::optional<double> seconds(const std::string& system, const std::string& workload,
                                                const std::string& op) const;
    /// A line at the very end.
    void compare(const aim& with) { aims_ += aim_line(with) + '\n'; }
    /// Prints a table per workload: medians, and below them how many times the reference's each is, where it has one. Writes
    /// the JSON that was asked for. Throws when nothing was measured.
    void finish();

private:
    struct row {
        std::string system;
        std::string workload;
        std::uint64_t entries;
        std::string op;
        std::vector<measurement> runs;
        [[nodiscard]] std::vector<double> seconds() const;
    };
    [[nodiscard]] const row* find(const std::string& system, const std::string& workload, const std::string& op) const;
    void print() const;
    void print_workload(const std::string& workload) const;
    /// {"benchmark": …, "rows": [{"system", "workload", "entries", "op", "seconds", …}]}
    void write_json() const;

    std::string benchmark_;
    std::string reference_;
    std::string json_;                ///< a file; empty: none
    std::filesystem::path directory_; ///< where the files are that it measures
    std::string remarks_;
    std::string aims_;
    bool is_finished_ = false;
    std::vector<row> rows_;
};

double median(std::vector<double> values);

/// "12.3 ms": three digits for people.
std::string duration_text(double seconds);

/// Says what is being measured, until the next note, on a terminal; an empty one removes it. Without a note, the lines that
/// tell what has finished have the words of the child.
void note(const std::string& text);

/// main() of a benchmark: reads the command line and calls `parent` with it, or `child` with a child's words. Reports what
/// they throw.
int run(int count, char* words[], std::string_view name, std::string_view purpose, void (*parent)(const options&),
        void (*child)(const std::vector<std::string>&));

} // namespace bench
