// A heap and a log so small that all of it can be looked at in each state, for the exploration of sections.hpp; and what its
// participants remember.
//
// The heap: one page of two cells (a checkpoint that is torn leaves one of them), and one chunk of one cell that has two copies. A record
// changes a cell (kinds 0 and 1), moves the chunk (2) or changes it where it is (3). A cell holds who changed it last: version and writer.
#pragma once

#include "share/sections.hpp"
#include "unit/share/explored_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace remanence::share::tiny {

using u8 = std::uint8_t;

constexpr std::size_t k_readers_max = 2;
constexpr std::size_t k_writers_max = 2;
constexpr std::size_t k_versions_max = 5;
constexpr std::size_t k_log_slots_max = 4;
constexpr u8 k_absent = 255;  // no private copy
constexpr u8 k_garbage = 254; // in a copy that was written in part
constexpr u8 k_damaged = 255; // a superblock or a map

/// What is left undone, or done wrongly.
enum class fault {
    none,
    // of the protocol's steps: what they ask for is not done
    no_recheck_after_pin,
    pin_without_fence,
    apply_past_pins,
    release_below_holds,
    no_hold,
    no_reread_after_hold,
    next_checkpoint_below_holds,
    pins_of_dead_count,
    // of an engine that uses them
    room_by_current_checkpoint,
    published_before_written,
    copy_reused_early,
    apply_before_durable,
    superblock_before_pages,
    release_before_superblock,
    checkpointer_trusts_memory,
    checkpointer_does_not_confirm,
    copies_dropped_by_target,
    no_return_to_the_image,
    pin_raised_without_copies,
};

struct bounds {
    fault wrong = fault::none;
    unsigned versions = 3;
    unsigned log_slots = 2;
    unsigned readers = 1;
    unsigned writers = 1;
    unsigned deaths = 1;
    unsigned restarts = 1;
    bool has_checkpointer = true;
    bool lazy = false;                          // commits are visible before they are durable
    bool batches = false;                       // two commits may become visible in one step
    bool copies_for_checkpoints = false;        // readers make their own copies of what a checkpoint is going to change
    bool superblocks_of_regions = false;        // that checkpoint nothing
    bool guests = false;                        // readers have locks instead of slots
    std::vector<unsigned> kinds = {0, 1, 2, 3}; // of the records, by version
};

struct explored_locks;
struct policy {
    using word = exploration::explored_word;
    using field = exploration::explored_field;
    using note = u8;
    using bell = u8;
    using locks = explored_locks;
    static constexpr std::size_t k_line = 1;
    static constexpr std::size_t k_slot = 1;
};

// A record in a byte: version 3 bits, writer 1, kind 2, torn 1, writer of the record before 1.
inline u8 record(unsigned version, unsigned writer, unsigned kind, bool torn, unsigned writer_before) {
    return static_cast<u8>(version | writer << 3 | kind << 4 | unsigned{torn} << 6 | writer_before << 7);
}
inline unsigned version_of(u8 record) { return record & 7U; }
inline unsigned writer_of(u8 record) { return record >> 3 & 1U; }
inline unsigned kind_of(u8 record) { return record >> 4 & 3U; }
inline bool is_torn(u8 record) { return (record >> 6 & 1) != 0; }
inline unsigned writer_before(u8 record) { return record >> 7; }
inline u8 change_of(u8 record) { return record & 15; }
inline u8 whole(u8 record) { return static_cast<u8>(record & ~(1U << 6)); }

inline u8 map_of(unsigned sequence, unsigned copy) { return static_cast<u8>(sequence << 1 | copy); }
inline u8 superblock_of(unsigned sequence, unsigned version) { return static_cast<u8>(sequence << 4 | version); }

/// By version; 0: none.
using history = std::array<u8, k_versions_max + 1>;

struct content {
    u8 first = 0;
    u8 second = 0;
    u8 chunk = 0;
    u8 copy = 0;
};
inline content content_as_of(const history& records, unsigned version) {
    content made;
    for (unsigned v = 1; v <= version; ++v)
        switch (kind_of(records[v])) {
        case 0:
            made.first = change_of(records[v]);
            break;
        case 1:
            made.second = change_of(records[v]);
            break;
        case 2:
            made.copy ^= 1;
            [[fallthrough]];
        default:
            made.chunk = change_of(records[v]);
        }
    return made;
}
/// The last version up to `version` that a record of one of these kinds made; 0: none.
inline unsigned last_of(const history& records, unsigned version, std::initializer_list<unsigned> kinds) {
    for (unsigned v = version; v >= 1; --v)
        if (std::ranges::find(kinds, kind_of(records[v])) != kinds.end())
            return v;
    return 0;
}

struct medium {
    std::array<u8, 2> cells{};
    std::array<u8, 2> copies{0, k_garbage};
    std::array<u8, 2> maps{map_of(0, 0), k_damaged};
    std::array<u8, 2> superblocks{superblock_of(0, 0), k_damaged};
    std::array<u8, k_log_slots_max> log{};
    bool operator==(const medium&) const = default;
};

struct reader_state {
    u8 phase = 0;
    u8 restarts = 0;
    u8 version = 0;      // pinned, or entered
    u8 view = k_absent;  // version of what it has; absent: nothing mapped yet
    u8 sequence = 0;     // of the superblock it holds
    u8 checkpoint = 0;   // its version
    u8 copied = 0;       // records up to this version
    u8 first = k_absent; // private copies
    u8 second = k_absent;
    u8 chunk = k_absent;
    u8 copy = 0;
    u8 acknowledged = 0; // when its section began
    u8 delayed_pin = 0;  // + 1: not visible yet (pin_without_fence)
    exploration::answers given{};
};
struct writer_state {
    u8 phase = 0;
    u8 restarts = 0;
    u8 last = 0;  // version of the last record in the log
    u8 moves = 0; // whether the chunk's other copy is written
    exploration::answers given{};
};
struct checkpointer_state {
    u8 phase = 1;
    u8 restarts = 0;
    u8 mark = 0;     // applies up to this version
    u8 sequence = 0; // of the current superblock
    exploration::answers given{};
};

struct state {
    medium cached;
    medium durable;
    history records{};
    control<policy> shared{};
    std::array<slot<policy>, k_readers_max> slots{};
    u8 writer_lock = 0; // + 1
    u8 checkpoint_lock = 0;
    std::array<u8, k_readers_max> slot_locks{}; // held by who clears the slot of a dead one
    std::array<u8, k_readers_max> guest_pins{}; // + 1; the kernel's
    std::array<u8, k_readers_max> guest_holds{};
    u8 acknowledged = 0; // version
    u8 seen = 0;
    u8 deaths = 0;
    std::array<reader_state, k_readers_max> readers{};
    std::array<writer_state, k_writers_max> writers{};
    checkpointer_state checkpointer{};
};

} // namespace remanence::share::tiny
