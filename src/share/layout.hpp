// The layout that processes share: the coordination file NAME-shm, and the meaning of each byte of the heap's file
// that is locked. Processes of different releases may open the same heap, so any change here needs a new k_protocol.
#pragma once

#include "os/lock_holders.hpp"
#include "share/doubled.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace remanence::share {

/// Bytes of the heap's file that processes lock. A process that has the heap open exclusively locks k_attach, too.
namespace lock_byte {
inline constexpr std::uint64_t k_attach = os::k_lock_offset; // shared: attached; exclusive: no other is attached
inline constexpr std::uint64_t k_door = k_attach + 1;        // held by a process that is about to open or close
inline constexpr std::uint64_t k_writer = k_attach + 2;
inline constexpr std::uint64_t k_checkpoint = k_attach + 3;
inline constexpr std::uint64_t k_first_slot = k_attach + 64; // each process locks one as long as it is attached
// Guests may not write the coordination file, so their pins and holds are shared locks. A pin locks the byte
// k_first_pin + version, a hold the byte k_first_hold + sequence.
inline constexpr std::uint64_t k_first_pin = os::k_first_reader_lock;
inline constexpr std::uint64_t k_first_hold = k_first_pin + (std::uint64_t{1} << 60);
inline constexpr std::uint64_t k_guest_bytes = k_attach - k_first_pin; // covers all pins and holds
} // namespace lock_byte

inline constexpr std::size_t k_slots = 4096;

inline constexpr std::uint64_t k_none = ~std::uint64_t{0}; // no pin, no hold

/// One process: its pin (the version that it reads), its hold (the superblock that it follows), and its description.
template <class Policy>
struct alignas(Policy::k_slot) slot {
    typename Policy::word pin;        // a version, or k_none
    typename Policy::word hold;       // a superblock's sequence, or k_none
    typename Policy::note process;    // 0: the slot is free, unless its byte is locked
    typename Policy::note thread;     // the thread whose section began last
    typename Policy::note since;      // when that section began; nanoseconds of the system clock
    typename Policy::note version;    // the version that its memory shows; the pin may be higher
    typename Policy::bell calls;      // counts how often a checkpoint had to wait for this process
    typename Policy::note program[2]; // 16 characters
};

/// Words that may be written by different processes at the same time are on different cache lines.
template <class Policy>
struct control {
    using commit = doubled<Policy, 3>;     // the number is the version; fields: chain, log_end, image_bytes
    using checkpoint = doubled<Policy, 2>; // the number is the sequence; fields: version, log_begin

    alignas(Policy::k_line) commit visible;
    alignas(Policy::k_line) typename Policy::word apply_target; // a version
    alignas(Policy::k_line) checkpoint current;
    alignas(Policy::k_line) checkpoint released;
    alignas(Policy::k_line) typename Policy::word is_writing; // written under the writer lock; stays if its holder dies
    typename Policy::word durable_through;
    typename Policy::word poison;
    alignas(Policy::k_line) typename Policy::word slots_used;  // slots with this index or a higher one were never used
    alignas(Policy::k_line) typename Policy::note writer_slot; // slot + 1; 0: none
    typename Policy::note writer_thread;
    typename Policy::note writer_since;
    typename Policy::note checkpoint_slot; // slot + 1; 0: none
};

} // namespace remanence::share
