/// \file
/// Reads and changes a history that is kept over sessions (history_options::kept_over_sessions), without the program
/// that has its types. `rem log`, `rem diff`, `rem undo` and the like print what these functions return.
///
/// Functions that only read acquire no lock, change nothing, and prevent no process from using the heap. Each call uses
/// one thread. Errors of all: those of inspect::look(); errc::no_step when there is no such step or version, or no
/// history.
#pragma once

#include <remanence/heap.hpp>
#include <remanence/inspect.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/versions.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace remanence::inspect {

/// A step of the history, and the roots that lead to what it changed.
struct seen_step {
    history_step step;              ///< the step
    std::vector<std::string> roots; ///< roots that lead to the changed memory in the last commit, by name
};

/// A version: its number in history(), or the name under which it is kept.
using version_or_name = std::variant<std::uint64_t, std::string>;

/// What history() returns.
struct seen_history {
    std::vector<seen_step> steps; ///< all states that can be reached, by version
    std::string why_none;         ///< a sentence that says why there are no steps; empty if there are some
    bool is_damaged = false;      ///< there are no steps, although a file lies where the history should be
};

/// Returns the history of the heap. O(history, and what roots lead to).
[[nodiscard]] seen_history history(const std::string& path, const progress_callback& on_progress = {});

/// Returns what differs between two versions, as heap::diff(). O(bytes that differ, blocks, and what the roots lead
/// to).
[[nodiscard]] version_difference diff(const std::string& path, const version_or_name& before,
                                      const version_or_name& after, const progress_callback& on_progress = {});

/// Returns the schema of a version, as schema() in look_inside.hpp. O(steps since the version, bytes that they
/// changed, and the result).
[[nodiscard]] std::string schema_of(const std::string& path, const version_or_name& version,
                                    schema_form form = schema_form::text, const progress_callback& on_progress = {});
/// Returns a part of a root of a version as JSON, as get() in look_inside.hpp. O(steps since the version, bytes
/// that they changed, and the result).
[[nodiscard]] std::string get_of(const std::string& path, const version_or_name& version, std::string_view object_path,
                                 const progress_callback& on_progress = {});
/// Writes objects of a version in the portable form, as dump() in look_inside.hpp. O(steps since the version,
/// bytes that they changed, and the result).
void dump_of(const std::string& path, const version_or_name& version, const std::string& root,
             const std::function<void(std::string_view)>& sink, const progress_callback& on_progress = {});

/// Writes all roots of a version in the portable form (docs/reference/dump.md) to a new file, from which load() makes a
/// heap. While it is written, the file is named TO-unfinished. It appears complete and durable when this returns, or
/// not at all. Errors: errc::exists when there is a file `to`.
void export_dump(const std::string& path, const version_or_name& version, const std::string& to,
                 const progress_callback& on_progress = {});

/// Makes a separate heap of a version, as heap::branch(); the heap may be open elsewhere. O(file).
void branch(const std::string& path, const version_or_name& version, const std::string& to,
            const progress_callback& on_progress = {});

// The following functions open the heap for writing and close it: together with the processes that share it, if any do,
// otherwise alone (errc::in_use). They wait some seconds for another process's section, then throw errc::in_use, with a
// message that names that process. They return the number of the heap's last commit, which is durable then. They apply
// the history limits that the heap records. They need no consent of programs that use the heap.

/// Undoes the last `steps` steps, as heap::undo(). Returns the number of the last commit, durable. Errors: errc::in_use
/// when a process has the heap open exclusively, or is in a section for some seconds.
std::uint64_t undo(const std::string& path, std::uint64_t steps = 1);
/// Restores a version, as heap::go_to() and heap::restore(). Otherwise as undo().
std::uint64_t restore(const std::string& path, const version_or_name& version);
/// Keeps the version of the last commit under the name `name`, as heap::keep(). Returns the number of the version.
/// Errors as undo().
std::uint64_t keep(const std::string& path, std::string_view name);
/// Ends the keeping of a version, as heap::drop(). Errors as undo().
void drop(const std::string& path, const version_or_name& version);

// The history that the heap records (report::recorded_history). No other process may have the heap open (errc::in_use).

/// Sets new limits for the recorded history, from the next open on. Durable once this returns. Errors:
/// errc::invalid_argument when no limit is set; errc::no_step when the heap records no history; errc::in_use when a
/// process has the heap open. O(log).
void set_history_limits(const std::string& path, const history_options& limits);
/// Ends the recorded history: its steps, kept versions and NAME-history are removed. From then on, programs without a
/// history can write to the heap; a program that opens the heap with a history begins a new one. If the heap's record
/// of its history is damaged, which prevents opening for writing, this call removes the record. Durable once this
/// returns; a crash during it leaves a history, perhaps without steps. Errors: errc::no_step, errc::in_use as above.
/// O(log).
void end_history(const std::string& path);

} // namespace remanence::inspect
