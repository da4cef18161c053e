// The engine as a store of the crash tests.
#pragma once

#include "store.hpp"
#include "txn/engine.hpp"
#include "txn/undo_manager.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace remanence::crash {

/// Small chunks and a fixed base, so that heaps are small and the same each time.
txn::engine_options small_heap_options();

/// With `declaring`, changes are declared; with `declared`, they are, too, all is done in declared sections, and commits look for
/// no others. With `watched` nobody is told of changes, but memory is looked at before each. With `among_threads`, three threads allocate
/// and free in turn, as if they waited for each other: each borrows slabs.
enum class sections { ordinary, declaring, declared, watched, among_threads };
/// With `in_background`, the threads that a heap has beside the program's own go on between and inside of what is done next,
/// and of what each other does, at moments that are drawn. One carries out checkpoints that are due, by steps that are drawn: at
/// one go, dragged out, or not until somebody has to wait for it. One makes durable what was committed lazily or
/// asynchronously. With `watched` one spills, and nobody else looks at memory.
enum class checkpointing { at_one_go, in_background };
/// What undoes its commits. Precondition: it has a history.
inline txn::undo_manager& past_of(const txn::engine& of) { return txn::undo_manager::of(*of.history()); }
/// All steps of its history.
std::string steps_in_words(const txn::engine& of);
/// As store::way() has it.
std::vector<std::uint64_t> way_through(const txn::engine& of);
/// What these moments are drawn by, with the heap's version: 1, unless it is set.
std::uint64_t& schedule_seed();
open_function engine(txn::engine_options options = small_heap_options(), sections kind = sections::ordinary,
                     checkpointing how = checkpointing::at_one_go);
/// With a history that is kept over sessions, whose steps() are those in the files: so the engine's own are not read before an undo, or
/// something like it, needs them.
open_function engine_that_reads_late(txn::engine_options options);
/// The same heap, but once it is there its own addresses are taken whenever it is opened: it is mapped at others, each time.
open_function engine_elsewhere(txn::engine_options options, sections kind = sections::ordinary,
                               checkpointing how = checkpointing::at_one_go);

/// Opens the heap read-only, as of its last commit or of a version, and calls `see` with its memory and the number of what it shows.
result<void> look_at(os::file_system& files, const std::string& path,
                     const std::optional<std::variant<std::uint64_t, std::string>>& version,
                     const std::function<void(const std::byte* base, std::uint64_t version)>& see);

} // namespace remanence::crash
