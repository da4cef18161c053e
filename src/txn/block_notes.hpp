// Notes of where blocks were allocated, for heaps opened with check_options::leak_frames. They are kept in memory of the
// process; nothing of them is in the heap. A part: only programs that set that option link the implementation. While a
// program collects in steps, past_memory.hpp stands in front of it, to learn what is freed and committed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

namespace remanence::change {
struct change_set;
}

namespace remanence::txn {

/// The caller of all functions holds the allocation lock. None calls malloc() for an allocation, since malloc() may
/// lead into the heap (remanence/new_in.hpp).
class block_notes {
public:
    struct note {
        std::uint64_t asked;        // bytes that the program asked for
        const std::type_info* type; // null: not known
        std::vector<void*> calls;   // the innermost first
    };

    block_notes() = default;
    block_notes(const block_notes&) = delete;
    block_notes& operator=(const block_notes&) = delete;
    virtual ~block_notes() = default;

    /// Notes the calls that led to this allocation. Replaces an earlier note of the same address. Without memory, only
    /// forgets that one.
    virtual void add(const void* block, std::uint64_t asked) noexcept = 0;
    /// Adds the type of the object in the block to its note, if there is one.
    virtual void add_type(const void* block, const std::type_info& type) noexcept = 0;
    /// Returns the note of the block that was allocated last at this address, even if it was freed since.
    [[nodiscard]] virtual std::optional<note> find(const void* block) const = 0;
    /// Adds the same to a message, as a sentence; does nothing if there is no note.
    virtual void add_to(std::string& message, const void* block) const = 0;
    /// A block is freed or resized. `there`: the size of the block that begins there. If it is not `bytes`, writes the
    /// note to standard error.
    virtual void freed(const void* block, std::uint64_t bytes, std::uint64_t there) = 0;
    /// All blocks that begin in this range are freed.
    virtual void freed_all(const void* /*first*/, std::uint64_t /*bytes*/) noexcept {}
    /// A commit is about to replace the committed content (R1) of what it changes. The caller holds at_store instead.
    virtual void before_commit(const change::change_set& /*changes*/) noexcept {}
    /// All allocations are committed, so that no rollback undoes them.
    virtual void all_is_committed() noexcept = 0;
    /// A moment to which go_back_to() can lead. All moments end with all_is_committed() and forget_all(), and those after
    /// a moment when notes go back to it.
    using moment = std::uint64_t;
    static constexpr moment k_last_commit = 0;
    [[nodiscard]] virtual moment now() noexcept = 0;
    /// Makes the notes those of that moment, because memory is. O(notes since then).
    virtual void go_back_to(moment earlier) noexcept = 0;
    /// Forgets all notes, because other blocks may now lie at these addresses. O(notes).
    virtual void forget_all() noexcept = 0;
};

/// A block_notes_maker.
block_notes* make_block_notes(unsigned frames);

} // namespace remanence::txn
