// The bytes of a simulated file: a memfd, so that private mappings of it are real ones, seen through a shared
// mapping, so that reading and writing them costs no system call. Private to the simulated disk.
//
// The host's own failures (no memory, no descriptors) end the test: they are not what it simulates.
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"
#include "testing/block_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::simulation {

/// Without an end: what was not written reads as zeros. A page that holds zeros only may count as a hole, which costs
/// neither time nor memory.
class simulated_contents {
public:
    simulated_contents();
    ~simulated_contents();
    simulated_contents(const simulated_contents&) = delete;
    simulated_contents& operator=(const simulated_contents&) = delete;

    void read(std::uint64_t offset, std::span<std::byte> into) const;
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    void zero(file_range range);
    /// Where the range holds anything but holes, by whole pages, cut to the range.
    [[nodiscard]] std::vector<file_range> data_within(file_range range) const;
    /// For mapping; whatever is mapped lies below `end` from now on.
    int descriptor(std::uint64_t end);
    /// Of all bytes: equal for equal contents, whatever are holes. Costs a hash of each page changed since the last call.
    [[nodiscard]] std::uint64_t fingerprint();

private:
    void make_room(std::uint64_t end);
    void note_changed(file_range range);

    int memfd_;
    std::byte* bytes_ = nullptr; // all of the memfd
    std::uint64_t capacity_ = 0; // its size
    block_set data_;             // the rest is holes, whose memory is zeros

    std::uint64_t fingerprint_ = 0;            // the sum of the pages' hashes
    std::vector<std::uint64_t> page_hashes_;   // 0 for a page of zeros
    std::vector<std::uint64_t> changed_pages_; // since the last fingerprint
    std::vector<bool> is_changed_;             // by page: it is in that list
};

} // namespace remanence::simulation
