// Makes the end of a step tree from the last entries of a history file, so that a recent version can be found without
// reading all steps before it (H11, README.md).
#pragma once

#include "history/history_entries.hpp"
#include "history/step_loader.hpp"
#include "history/step_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace remanence::history {

/// A state, by its version or by the name that it is kept by.
using version_or_name = std::variant<std::uint64_t, std::string>;

class recent_steps {
public:
    /// `entries`, from read_last_entries(), must outlive this. `most` are the limits that the heap records.
    recent_steps(std::span<const last_entries::entry> entries, const limits& most, std::uint64_t heap_bytes)
        : entries_(entries), most_(most), heap_bytes_(heap_bytes) {}

    /// Returns the last entry behind which the states may be found: the events after it make or keep each of them, or
    /// its own commit made it. Nothing if there is none.
    [[nodiscard]] std::optional<std::size_t> nearest(std::span<const version_or_name> wanted) const;
    /// Returns the first entry from which steps_from() can go on; nothing if there is none.
    [[nodiscard]] std::optional<std::size_t> first() const;
    /// Adds the events of all entries after this one to a tree that has the entry's state alone. Nothing if these
    /// events refer to a state before that one. Throws std::bad_alloc.
    ///
    /// The tree may have states that limits have removed from the whole tree: after an undo, that depends on older
    /// branches, too. It has no others.
    [[nodiscard]] std::optional<step_loader> steps_from(std::size_t entry) const;

private:
    std::span<const last_entries::entry> entries_;
    const limits most_;
    const std::uint64_t heap_bytes_;
};

/// True if the tree has each of these states.
[[nodiscard]] bool has_all(const step_tree& steps, std::span<const version_or_name> wanted);

} // namespace remanence::history
