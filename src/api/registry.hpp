// Finds open heaps by address. Apart from the fault handlers, this is the only process-wide table. It is needed because
// an allocator in the heap knows only its own address (I6).
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

/// Makes the messages of fatal signals name the heap in which they happened: of every SIGBUS in a heap, and of a
/// SIGSEGV in a heap that is read-only or closed. Must be called before add().
void watch_faults();
void add(heap_impl& impl);
/// Registers further addresses of a heap. Must be called when its reservation has grown.
void extend(heap_impl& impl);
void remove(heap_impl& impl) noexcept;
/// The addresses and the path of a closed heap.
struct closed_range {
    std::atomic<std::uint64_t> begin; // addresses
    std::atomic<std::uint64_t> end;   // 0 means that nothing is known yet
    std::array<char, 512> path;       // holds only the end of a longer path
};
/// Searches the heaps that were closed last. Returns null if none of them contained the address. May be called in a
/// signal handler.
[[nodiscard]] const closed_range* closed_at(const void* address) noexcept;
/// Returns the heap that contains an address; null if there is none. O(1).
[[nodiscard]] inline heap_impl* find(const void* address) noexcept { return heaps.find(address); }
/// Returns the path of the open heap that contains an address; empty if there is none. Safe while heaps open and close.
[[nodiscard]] std::string path_at(const void* address);
/// True if this process has the file open as a heap. Searches the whole table, so it is meant for error paths.
[[nodiscard]] bool holds(const std::filesystem::path& path);

} // namespace registry

} // namespace remanence::detail
