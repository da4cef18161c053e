// The stored history of a heap: events, in records of the redo log and in entries of the file NAME-history. On-disk
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

/// The first sector of the history file. The rest of the sector is zeros; entries follow it.
struct history_header {
    std::array<char, 8> magic;    // k_history_magic
    std::uint32_t format_version; // k_history_version
    std::uint32_t zero;
    std::array<std::uint8_t, 16> uuid; // of the heap
    std::uint64_t checksum;            // of everything before it
};
static_assert(sizeof(history_header) == 40 && offsetof(history_header, uuid) == 16);
static_assert(offsetof(history_header, checksum) == 32 && std::is_trivially_copyable_v<history_header>);

/// The header of one commit's events. After it: `bytes` of events, then zeros up to a multiple of 8. The first entries
/// of a new file describe all existing steps; they have the version of the last commit before the file was made.
struct history_entry {
    std::uint64_t magic;    // k_entry_magic
    std::uint64_t version;  // of the commit
    std::uint64_t chain;    // checksum of the commit's record in the log
    std::uint64_t bytes;    // length of the events that follow
    std::uint64_t checksum; // of the events; seed: checksum of this header (0 here), whose seed is the previous entry's
};
static_assert(sizeof(history_entry) == 40 && offsetof(history_entry, checksum) == 32);
static_assert(std::is_trivially_copyable_v<history_entry>);

/// Written by a clean close behind the last entry: totals of the history, so that an open need not read the entries.
/// Valid only at the end of the file, and only if it belongs to the heap's last commit. The next entry overwrites it.
struct history_summary {
    std::uint64_t magic;          // k_summary_magic
    std::uint64_t offset;         // of this struct, where the entries end
    std::uint64_t entry_checksum; // of the last entry
    std::uint64_t version;        // of the last commit
    std::uint64_t chain;          // of the last commit
    std::uint64_t present;        // version of the state that memory is in
    std::uint64_t undo_depth;     // steps that can be undone
    std::uint64_t redo_depth;     // steps that can be redone
    std::uint64_t steps;          // steps that count against the limits
    std::uint64_t bytes;          // bytes of these steps
    std::uint64_t kept;           // states kept by a name
    std::uint64_t rewritten_at;   // file size at which the file is rewritten
    std::uint64_t checksum;       // of everything before it, seeded with the header's
};
static_assert(sizeof(history_summary) == 104 && offsetof(history_summary, present) == 40);
static_assert(offsetof(history_summary, checksum) == 96 && std::is_trivially_copyable_v<history_summary>);

/// The kinds of events. Each comment gives after its colon what follows the event's header. A release refuses kinds
/// that it does not know.
enum class history_event_kind : std::uint8_t {
    session = 1,     // a session begins: history_limits
    made = 2,        // a new step from the present state: step_event, a delta of the bytes before, the name
    joined = 3,      // more of the present state's step, which gets this version: as `made`, without a name
    lost = 4,        // a commit was too large for the history, and all steps before it are dropped: step_event
    checked_out = 5, // memory went to another state: checkout_event, and for each delta on the way its opposite side
    forgot = 6,      // all steps are dropped, except the present state and kept ones: nothing
    state = 7,       // an existing state, in a new file, sorted by version: state_event, its deltas, both names
    present = 8,     // the end of these states: present_event
    kept = 9,        // the present state is kept by this name: the name
    dropped = 10,    // a state is no longer kept: number_event, its version
    squashed = 11,   // the last steps became one: number_event, how many
};

/// The header of each event.
struct history_event {
    history_event_kind kind; // unknown kinds: refuse
    std::array<std::uint8_t, 7> zero;
    std::uint64_t bytes; // of what follows
};
static_assert(sizeof(history_event) == 16 && offsetof(history_event, bytes) == 8);

/// The limits that apply from here on; 0 means none. superblock::history refers to a page with these limits, followed
/// by zeros.
struct history_limits {
    std::uint64_t bytes_max; // of all steps
    std::uint64_t steps_max; // of all steps
    std::uint64_t when_full; // 0: drop the oldest steps, 1: refuse commits, 2: reserved
};
// Earlier builds used this value for a history that ended: it dropped all steps but kept states, and recorded no more.
// Read as 0.
inline constexpr std::uint64_t k_when_full_ended = 2;
inline constexpr std::uint64_t k_when_full_last = k_when_full_ended;
static_assert(sizeof(history_limits) == 24 && std::is_trivially_copyable_v<history_limits>);

struct step_event {
    std::int64_t time;        // nanoseconds since 1970
    std::uint64_t name_bytes; // of the step
    std::uint64_t flags;      // k_step_forgets, k_step_migrates, k_step_is_hidden
};
static_assert(sizeof(step_event) == 24 && offsetof(step_event, flags) == 16);
inline constexpr std::uint64_t k_step_forgets = 1;   // all steps before it are dropped
inline constexpr std::uint64_t k_step_migrates = 2;  // changes types of older objects: no undo or redo crosses it
inline constexpr std::uint64_t k_step_is_hidden = 4; // internal: undo and redo include it with the next step

struct checkout_event {
    std::uint64_t state;       // version of the state
    std::uint64_t delta_count; // number of deltas on the way
};
static_assert(sizeof(checkout_event) == 16);

struct number_event {
    std::uint64_t number; // its meaning depends on the kind
};

struct state_event {
    std::uint64_t version;      // of the last commit of the step that made the state
    std::uint64_t parent;       // version of the parent state; 0: this is the oldest state
    std::uint64_t next;         // version to which redo() goes; 0: none
    std::uint64_t left;         // the parent's `next` before this state was added; 0: none. Perhaps dropped since
    std::uint64_t last_version; // of the last commit that led to this state
    std::uint64_t bytes;        // of this state's step; counts against the limit
    std::int64_t time;          // nanoseconds since 1970
    std::uint64_t delta_count;  // of its step; 0 for the oldest state
    std::uint64_t name_bytes;   // of the step
    std::uint64_t kept_bytes;   // length of the name by which the state is kept; 0: not kept
    std::uint64_t flags;        // k_state_is_passed, k_state_is_migrated, k_state_is_hidden
};
static_assert(sizeof(state_event) == 88 && offsetof(state_event, delta_count) == 56);
inline constexpr std::uint64_t k_state_is_passed = 1;   // beyond the limits
inline constexpr std::uint64_t k_state_is_migrated = 2; // its step is a migration: no undo or redo crosses it
inline constexpr std::uint64_t k_state_is_hidden = 4;   // its step is internal

struct present_event {
    std::uint64_t state;     // version of the present state
    std::uint64_t has_ended; // 0; 1 in earlier builds (k_when_full_ended)
    history_limits limits;   // those that apply from here on
};
static_assert(sizeof(present_event) == 40 && offsetof(present_event, limits) == 16);

/// The bytes of memory on one side of a commit. After it: `piece_count` pieces as u64: offset << 16 | k_piece_is_zeros
/// or 0 | bytes, each within one page. Then `content_bytes`: the contents of the nonzero pieces, in order. If
/// `piece_count` contains k_is_call, this is a procedure call instead: the other bits are the length of its name, and
/// after it follow the name and `content_bytes` of parameters.
struct history_delta {
    std::uint64_t piece_count;   // pieces, or k_is_call and the length of a name
    std::uint64_t content_bytes; // of nonzero pieces, or of parameters
};
static_assert(sizeof(history_delta) == 16);
inline constexpr std::uint64_t k_is_call = std::uint64_t{1} << 63;
inline constexpr int k_piece_offset_shift = 16;
inline constexpr std::uint64_t k_piece_is_zeros = 0x8000;

} // namespace remanence::format
