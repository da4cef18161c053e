// Finds open heaps by address: the one process-wide table besides the fault handler, since an allocator in the heap can only tell
// where it lies (I6).
#pragma once

#include "os/address_table.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace remanence::detail {

class heap_impl;

namespace registry {

extern os::address_table<heap_impl> heaps; // NOLINT: process-wide; heaps never share a GiB

/// From now on a SIGBUS in a heap names it, and so does a SIGSEGV in one that is read-only or closed. Before add().
void watch_faults();
void add(heap_impl& impl);
/// The reservation has grown.
void extend(heap_impl& impl);
void remove(heap_impl& impl) noexcept;
/// Where a heap was mapped.
struct closed_range {
    std::atomic<std::uint64_t> begin; // addresses
    std::atomic<std::uint64_t> end;   // 0: nothing is known, or not yet
    std::array<char, 512> path;       // its end, if it is longer
};
/// Of the last heaps that were closed; null when none of these was there. For a handler of a signal.
[[nodiscard]] const closed_range* closed_at(const void* address) noexcept;
/// Null when there is none. O(1).
[[nodiscard]] inline heap_impl* find(const void* address) noexcept { return heaps.find(address); }
/// The path of the open heap whose addresses these are; empty when there is none. Safe while heaps open and close.
[[nodiscard]] std::string path_at(const void* address);
/// True if this process has the file open as a heap. Walks the whole table: for error paths.
[[nodiscard]] bool holds(const std::filesystem::path& path);

} // namespace registry

} // namespace remanence::detail
