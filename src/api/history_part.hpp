// What heap_options::history brings into a program.
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

/// That of the program, for heaps that record a history though the options that open them name none. Null: it has none, or its statics are
/// not initialized yet; then such heaps are refused for writing.
inline constinit const history_part* known_history_part = nullptr;

/// Null, as above.
inline const history_part* part_for(const history_options& options) {
    return options.part != nullptr ? options.part : known_history_part;
}

} // namespace remanence::detail
