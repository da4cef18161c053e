// The history of a heap, as it is kept: events in the records of the redo log, and in entries of the file NAME-history. On-disk
// structs and constants only.
#pragma once

#include "base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::array<char, 8> k_history_magic = {'\x89', 'R', 'E', 'M', 'Y', '\r', '\n', '\x1a'};
inline constexpr std::uint32_t k_history_version = 1;
inline constexpr std::uint64_t k_entry_magic = 0x5952544e45594d52;   // "RMYENTRY"
inline constexpr std::uint64_t k_summary_magic = 0x594d4d5553594d52; // "RMYSUMMY"
inline constexpr std::uint64_t k_history_header_bytes = k_sector_bytes;

/// The first sector of the history file, the rest of which is zeros; entries begin behind it.
struct history_header {
    std::array<char, 8> magic;    // k_history_magic
    std::uint32_t format_version; // k_history_version
    std::uint32_t zero;
    std::array<std::uint8_t, 16> uuid; // of the heap
    std::uint64_t checksum;            // of everything before it
};
static_assert(sizeof(history_header) == 40 && offsetof(history_header, uuid) == 16);
static_assert(offsetof(history_header, checksum) == 32 && std::is_trivially_copyable_v<history_header>);

/// The events of one commit; the first ones have the version of the commit after which the file was begun, and together all steps
/// that there were then. After it: `bytes` of events, and zeros up to the next multiple of 8.
struct history_entry {
    std::uint64_t magic;    // k_entry_magic
    std::uint64_t version;  // of the commit
    std::uint64_t chain;    // checksum of its record in the log
    std::uint64_t bytes;    // of the events behind it
    std::uint64_t checksum; // of the events; seed: the checksum of this with 0 here, seeded with the one before
};
static_assert(sizeof(history_entry) == 40 && offsetof(history_entry, checksum) == 32);
static_assert(std::is_trivially_copyable_v<history_entry>);

/// The end of the file that a clean close leaves behind the last entry: what the steps are in all, so that they need not be read when
/// the heap is opened. It counts if it ends the file and is of the heap's last commit. The next entry takes its place.
struct history_summary {
    std::uint64_t magic;          // k_summary_magic
    std::uint64_t offset;         // of this: where the entries end
    std::uint64_t entry_checksum; // of the last one
    std::uint64_t version;        // of the commit that it is of
    std::uint64_t chain;          // likewise
    std::uint64_t present;        // the state that memory is in
    std::uint64_t undo_depth;     // steps that can be undone
    std::uint64_t redo_depth;     // steps that can be redone
    std::uint64_t steps;          // that count for the limits
    std::uint64_t bytes;          // of these
    std::uint64_t kept;           // states that are kept by a name
    std::uint64_t rewritten_at;   // file size at which it is made anew
    std::uint64_t checksum;       // of everything before it, seeded with that of the header
};
static_assert(sizeof(history_summary) == 104 && offsetof(history_summary, present) == 40);
static_assert(offsetof(history_summary, checksum) == 96 && std::is_trivially_copyable_v<history_summary>);

/// What an event says, of which the struct or text named here follows. A release refuses those that it does not know.
enum class history_event_kind : std::uint8_t {
    session = 1,     // one begins: history_limits
    made = 2,        // a step, from the present state: step_event, a delta of the bytes before, the name
    joined = 3,      // more of the step to the present state, which gets the commit's version: the same, without a name
    lost = 4,        // a commit was too large to be kept, and all steps before it went: step_event
    checked_out = 5, // memory is in another state: checkout_event, and the other side of each delta on the way there
    forgot = 6,      // all steps went, but the present state and those that are kept: nothing
    state = 7,       // one that was there when the file was begun, by version: state_event, its deltas, both names
    present = 8,     // comes after these: present_event
    kept = 9,        // the present state is, by this name: the name
    dropped = 10,    // a state is not kept any longer: number_event, its version
    squashed = 11,   // the last steps became one: number_event, how many
};

/// Before each event.
struct history_event {
    history_event_kind kind; // unknown ones: refuse
    std::array<std::uint8_t, 7> zero;
    std::uint64_t bytes; // of what follows
};
static_assert(sizeof(history_event) == 16 && offsetof(history_event, bytes) == 8);

/// The limits that hold from here on; 0: none. Also what superblock::history refers to, then zeros to the end of the page.
struct history_limits {
    std::uint64_t bytes_max; // of all steps
    std::uint64_t steps_max; // of all steps
    std::uint64_t when_full; // 0: the oldest steps go, 1: commits are refused, 2: reserved
};
// Earlier builds let all steps go then, but kept states, and kept no more. It is read as 0.
inline constexpr std::uint64_t k_when_full_ended = 2;
inline constexpr std::uint64_t k_when_full_last = k_when_full_ended;
static_assert(sizeof(history_limits) == 24 && std::is_trivially_copyable_v<history_limits>);

struct step_event {
    std::int64_t time;        // nanoseconds since 1970
    std::uint64_t name_bytes; // of the step
    std::uint64_t flags;      // k_step_forgets, k_step_migrates, k_step_is_hidden
};
static_assert(sizeof(step_event) == 24 && offsetof(step_event, flags) == 16);
inline constexpr std::uint64_t k_step_forgets = 1;  // all steps before it go
inline constexpr std::uint64_t k_step_migrates = 2; // and objects before it are of other types: no step leads across it
inline constexpr std::uint64_t k_step_is_hidden =
    4; // it is none of the user's: undo and redo pass it with the next one

struct checkout_event {
    std::uint64_t state;       // its version
    std::uint64_t delta_count; // on the way there
};
static_assert(sizeof(checkout_event) == 16);

struct number_event {
    std::uint64_t number; // as the kind says
};

struct state_event {
    std::uint64_t version;      // of the last commit of its step
    std::uint64_t parent;       // 0: the oldest one
    std::uint64_t next;         // where redo() leads; 0: nowhere
    std::uint64_t left;         // where redo() of the parent led before, or 0; it may have gone since
    std::uint64_t last_version; // of the last commit that led here
    std::uint64_t bytes;        // of its step, against the limit
    std::int64_t time;          // nanoseconds since 1970
    std::uint64_t delta_count;  // of its step; 0 of the oldest one
    std::uint64_t name_bytes;   // of the step
    std::uint64_t kept_bytes;   // of the name that it is kept by; 0: it is not
    std::uint64_t flags;        // k_state_is_passed, k_state_is_migrated, k_state_is_hidden
};
static_assert(sizeof(state_event) == 88 && offsetof(state_event, delta_count) == 56);
inline constexpr std::uint64_t k_state_is_passed = 1;   // limits have passed it
inline constexpr std::uint64_t k_state_is_migrated = 2; // its step has a migration, across which no step leads
inline constexpr std::uint64_t k_state_is_hidden = 4;   // its step is none of the user's

struct present_event {
    std::uint64_t state;     // its version
    std::uint64_t has_ended; // 0; 1 in earlier builds: see k_when_full_ended
    history_limits limits;   // that hold from here on
};
static_assert(sizeof(present_event) == 40 && offsetof(present_event, limits) == 16);

/// Bytes of memory on one side of a commit. After it: `piece_count` pieces as u64: offset << 16 | k_piece_is_zeros or 0 | bytes,
/// each within one page; then `content_bytes`, of those that are no zeros, in their order. Or, with k_is_call in `piece_count`, a procedure
/// that was called: after it as many bytes of its name as `piece_count` says besides, and `content_bytes` of parameters.
struct history_delta {
    std::uint64_t piece_count;   // pieces, or k_is_call and the length of a name
    std::uint64_t content_bytes; // of pieces that are no zeros, or of parameters
};
static_assert(sizeof(history_delta) == 16);
inline constexpr std::uint64_t k_is_call = std::uint64_t{1} << 63;
inline constexpr int k_piece_offset_shift = 16;
inline constexpr std::uint64_t k_piece_is_zeros = 0x8000;

} // namespace remanence::format
