// The file NAME-history is a header and entries: the steps that there were when it was begun, then the events of each commit since. What is
// read is input (I7): each entry has a checksum, seeded with that of the one before, and that of the first one with the header's.
//
// H5: README.md.
#pragma once

#include "base/result.hpp"
#include "format/history_event.hpp"
#include "os/file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace remanence::history {

using heap_uuid = std::array<std::uint8_t, 16>;

/// A commit, by its version and the checksum of its record.
struct commit_name {
    std::uint64_t version;
    std::uint64_t chain;
    friend bool operator==(const commit_name&, const commit_name&) = default;
};

/// Where in the file an entry ends, and what the next one builds on.
struct entry_end {
    commit_name commit{};
    std::uint64_t offset = 0;
    std::uint64_t checksum = 0;
};

enum class reading { goes_on, is_done };
/// Calls `f` with each sound entry, in order, while it says so. Returns whether this is a history file of the heap, and all that is read
/// until it ends, or is not sound any more, is told. errc::io; throws std::bad_alloc.
using entry_visitor = std::function<reading(const entry_end&, std::span<const std::byte> events)>;
result<bool> for_each_entry(os::file& file, const heap_uuid& heap, const entry_visitor& f);
/// The same of those behind a sound entry, which ends there.
result<void> for_each_entry_behind(os::file& file, const entry_end& from, const entry_visitor& f);

// For whoever writes.

/// What begins the file of a heap.
format::history_header header_of(const heap_uuid& heap);
/// What an entry takes in the file.
std::uint64_t entry_bytes(std::uint64_t bytes_of_events);
/// Appends an entry, and moves `end` behind it.
void append_entry(std::vector<std::byte>& into, const commit_name& commit, std::span<const std::byte> events,
                  entry_end& end);

} // namespace remanence::history
