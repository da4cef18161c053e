// The code that heap_options::history links into a program.
#pragma once

#include "api/held_roots.hpp"
#include "txn/undo_manager.hpp"

#include <remanence/heap.hpp>

#include <memory>

namespace remanence::detail {

struct history_part {
    const txn::history_part& of_engine;
    std::unique_ptr<held_roots> (*hold)(heap_impl& of);
};

/// The program's history part, for heaps that record a history although the options do not ask for one. It is null if
/// the program has none, or before its statics are initialized; then such heaps cannot be opened for writing.
inline constinit const history_part* known_history_part = nullptr;

/// Returns the program's history part, or null in the cases above.
inline const history_part* part_for(const history_options& options) {
    return options.part != nullptr ? options.part : known_history_part;
}

} // namespace remanence::detail
