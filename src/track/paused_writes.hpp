// Makes threads that write to a range of memory wait until it has been replaced by other memory. For trackers that
// leave all memory writable.
#pragma once

#include "os/memory.hpp"
#include "os/write_traps.hpp"
#include "track/page_scan.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remanence::track {

/// The paused range, as a signal handler sees it. Only one exists at a time.
class paused_range {
public:
    void begin(const std::byte* first, std::uint64_t bytes) noexcept {
        end_.store(first + bytes, std::memory_order_relaxed);
        first_.store(first, std::memory_order_release);
    }
    void end() noexcept { first_.store(nullptr, std::memory_order_release); }
    [[nodiscard]] bool contains(const std::byte* address) const noexcept {
        const std::byte* const first = first_.load(std::memory_order_acquire);
        return first != nullptr && first <= address && address < end_.load(std::memory_order_relaxed);
    }
    /// Async-signal-safe.
    void wait_while_it_contains(const std::byte* address) const noexcept;

private:
    std::atomic<const std::byte*> first_ = nullptr;
    std::atomic<const std::byte*> end_ = nullptr;
};

class paused_writes final : private os::write_trap {
public:
    paused_writes(std::byte* base, os::fork_guard process) : base_(base), process_(process) {}
    paused_writes(const paused_writes&) = delete;
    paused_writes& operator=(const paused_writes&) = delete;
    ~paused_writes();

    // These work like pause_writes(), replace_paused() and let_writes_go_on() of page_scanner.
    result<void> begin(page_run where);
    result<void> replace(os::moving_mapping& by, std::uint64_t offset);
    result<void> end();

private:
    bool on_write(std::byte* address) noexcept override;

    std::byte* base_;
    std::uint64_t trapped_bytes_ = 0; // length from base_ on for which the process's handler calls on_write()
    os::fork_guard process_;
    page_run where_{};
    paused_range range_;
    std::atomic<const std::byte*> last_address_ = nullptr;
    std::atomic<int> times_in_turn_ = 0;
};

} // namespace remanence::track
