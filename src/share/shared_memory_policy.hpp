// The policy of sections.hpp and attachment.hpp for real processes: atomics in shared memory, and file locks.
#pragma once

#include "os/byte_locks.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remanence::share {

class shared_word {
public:
    [[nodiscard]] std::uint64_t load(std::memory_order order) const { return value_.load(order); }
    void store(std::uint64_t value, std::memory_order order) { value_.store(value, order); }
    std::uint64_t exchange(std::uint64_t value, std::memory_order order) { return value_.exchange(value, order); }
    bool compare_exchange(std::uint64_t& expected, std::uint64_t value, std::memory_order order) {
        return value_.compare_exchange_strong(expected, value, order);
    }

private:
    std::atomic<std::uint64_t> value_;
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free); // a lock inside would be private to a process
};

class coordination_file;

struct shared_memory_policy {
    using word = shared_word;
    using field = shared_word;
    using note = shared_word;
    using bell = std::atomic<std::uint32_t>; // threads wait on it
    using locks = os::byte_locks;
    using place = coordination_file;
    static constexpr std::size_t k_line = 64;  // the processor's cache line
    static constexpr std::size_t k_slot = 128; // two lines: processors fetch them in pairs
};

} // namespace remanence::share
