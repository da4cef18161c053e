// Finds open heaps by address: the only process-wide table besides the fault handler. It is needed because an allocator
// in the heap knows only its own address (I6).
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

/// From now on, the message for a SIGBUS in a heap names the heap, and so does that for a SIGSEGV in a heap that is
/// read-only or closed. To be called before add().
void watch_faults();
void add(heap_impl& impl);
/// To be called when the reservation has grown.
void extend(heap_impl& impl);
void remove(heap_impl& impl) noexcept;
/// The addresses of a closed heap.
struct closed_range {
    std::atomic<std::uint64_t> begin; // addresses
    std::atomic<std::uint64_t> end;   // 0: nothing is known, or not yet
    std::array<char, 512> path;       // the end of the path, if it is longer
};
/// Searches the heaps that were closed last; returns null if the address lies in none of them. May be called in a
/// signal handler.
[[nodiscard]] const closed_range* closed_at(const void* address) noexcept;
/// Returns the heap that contains an address; null if there is none. O(1).
[[nodiscard]] inline heap_impl* find(const void* address) noexcept { return heaps.find(address); }
/// Returns the path of the open heap that contains an address; empty if there is none. Safe while heaps open and close.
[[nodiscard]] std::string path_at(const void* address);
/// True if this process has the file open as a heap. Walks through the whole table: for error paths.
[[nodiscard]] bool holds(const std::filesystem::path& path);

} // namespace registry

} // namespace remanence::detail
