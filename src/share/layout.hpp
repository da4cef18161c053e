// What processes share: the coordination file NAME-shm, and which bytes of the heap's file mean what when they are locked.
// Both are the protocol's, of one release beside another: a change of either is another k_protocol.
#pragma once

#include "os/lock_holders.hpp"
#include "share/doubled.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace remanence::share {

/// Bytes of the heap's file. The first is what an exclusive heap locks, too.
namespace lock_byte {
inline constexpr std::uint64_t k_attach = os::k_lock_offset; // shared by all; exclusive: nobody else
inline constexpr std::uint64_t k_door = k_attach + 1;        // whoever is about to open or to close
inline constexpr std::uint64_t k_writer = k_attach + 2;
inline constexpr std::uint64_t k_checkpoint = k_attach + 3;
inline constexpr std::uint64_t k_first_slot = k_attach + 64; // one for each process, as long as it lives
// Of those that may not write the coordination file, shared: a pin is the byte of its version, a hold that of its sequence.
inline constexpr std::uint64_t k_first_pin = os::k_first_reader_lock;
inline constexpr std::uint64_t k_first_hold = k_first_pin + (std::uint64_t{1} << 60);
inline constexpr std::uint64_t k_guest_bytes = k_attach - k_first_pin; // all of them
} // namespace lock_byte

inline constexpr std::size_t k_slots = 4096;

inline constexpr std::uint64_t k_none = ~std::uint64_t{0}; // no pin, no hold

/// What one process reads, and who it is.
template <class Policy>
struct alignas(Policy::k_slot) slot {
    typename Policy::word pin;        // a version, or k_none
    typename Policy::word hold;       // a superblock's sequence, or k_none
    typename Policy::note process;    // 0: free, unless its lock says otherwise
    typename Policy::note thread;     // whose section began last
    typename Policy::note since;      // when it began; nanoseconds of the system clock
    typename Policy::note version;    // that it sees; the pin may be raised
    typename Policy::bell calls;      // so many times a checkpoint has found this process in its way
    typename Policy::note program[2]; // 16 characters
};

/// Cache lines are apart by who writes them.
template <class Policy>
struct control {
    using commit = doubled<Policy, 3>;     // by version: chain, log_end, image_bytes
    using checkpoint = doubled<Policy, 2>; // by sequence: version, log_begin

    alignas(Policy::k_line) commit visible;
    alignas(Policy::k_line) typename Policy::word apply_target; // a version
    alignas(Policy::k_line) checkpoint current;
    alignas(Policy::k_line) checkpoint released;
    alignas(Policy::k_line) typename Policy::word is_writing; // by whoever holds the lock, or held it when he died
    typename Policy::word durable_through;
    typename Policy::word poison;
    alignas(Policy::k_line) typename Policy::word slots_used;  // slots behind these were never taken
    alignas(Policy::k_line) typename Policy::note writer_slot; // + 1; 0: none
    typename Policy::note writer_thread;
    typename Policy::note writer_since;
    typename Policy::note checkpoint_slot; // + 1; 0: none
};

} // namespace remanence::share
