// The sample heap under damage: some bytes of its files are replaced, and then a program opens it, reads it all, lets it
// be verified, commits, and opens it again. What came of it is an outcome; a wrong answer that nobody notices is a
// violation.
#pragma once

#include "base/range.hpp"
#include "support/sample_heap.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace remanence::damage {

enum class outcome {
    refused,        // by an open, which named the file
    reported,       // by verify(), which named the place
    recovered,      // the open wrote these bytes anew, and the contents are what was acknowledged
    harmless,       // nobody reads them: the contents are what was acknowledged
    taken_for_torn, // of the last records of a log, all of those that are lost: cannot be told from a power loss before
                    // they were written, so that the contents are those of the commit before
};
inline constexpr std::array k_outcome_names{"refused by the open", "found by verify", "recovered", "harmless",
                                            "taken for torn"};

/// Bytes of a file that are replaced.
struct damage {
    std::string path;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
};

struct verdict {
    outcome how;
    bool names_the_place;  // of those refused or reported: the file, and the very page or record
    std::string violation; // empty: none
};

class subject {
public:
    explicit subject(sample::ending how);

    /// Leaves the files as they were. Opens them with the damage, compares, verifies; then a program goes on with them
    /// and the next one compares, unless an earlier try left the very same files (by their fingerprints) and memory, or
    /// the damage was reported and `goes_on` is false.
    verdict try_with(const damage& done, bool goes_on = true);

    /// The files' contents; that of the log is empty when there is none.
    [[nodiscard]] const std::vector<std::byte>& heap_bytes() const { return heap_bytes_; }
    [[nodiscard]] const std::vector<std::byte>& log_bytes() const { return log_bytes_; }
    /// End of what was ever written into the log.
    [[nodiscard]] std::uint64_t log_written_end() const { return log_written_end_; }

    /// Earlier contents of the `unit` bytes at a multiple of it, each once, without the present ones.
    [[nodiscard]] std::vector<damage> older_versions(std::uint64_t unit) const;

private:
    /// What is in the live blocks of the heap as of a commit.
    struct block {
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };
    struct contents {
        std::uint64_t version = 0;
        std::vector<block> blocks;
    };

    static contents contents_of(heap& opened);
    static std::string difference(const contents& expected, const txn::engine& found);
    result<std::unique_ptr<txn::engine>> open();
    std::vector<std::byte> read_file(const char* path);
    void write_file(const damage& done);
    void find_records();
    [[nodiscard]] bool meets_all_records_after(std::uint64_t version, const damage& done) const;

    verdict refused(const failure& why, const damage& done);
    /// What is wrong; empty: nothing.
    std::string use(txn::engine& opened, const contents& holds, contents& added);
    /// Of the heap, opened anew: how it differs from what is expected (empty: not at all), and whether it opens and
    /// verify() finds nothing.
    struct comparison {
        std::string different;
        bool looks_whole;
    };
    comparison compare(const contents& expected, const contents& added);
    [[nodiscard]] std::vector<std::byte> original(const damage& done) const;

    simulation::simulated_disk disk_;
    std::vector<contents> acknowledged_; // by version, from 1 on
    std::vector<std::byte> heap_bytes_;
    std::vector<std::byte> log_bytes_;
    std::map<std::uint64_t, file_range> records_; // of the log, by version
    std::uint64_t log_written_end_ = 0;
    std::vector<simulation::disk_operation> history_;
    simulation::simulated_disk::savepoint intact_{};
    std::uint64_t intact_print_ = 0;
    std::set<std::pair<std::uint64_t, std::uint64_t>> sound_; // versions and disks of which all was tried
};

} // namespace remanence::damage
