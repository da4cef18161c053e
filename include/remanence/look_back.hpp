// The history of a heap that is kept over sessions (history_options::kept_over_sessions), without the program that has its types: the steps
// and versions, what differs between two, and changes of the history itself. `rem log`, `rem diff`, `rem undo` and their like print
// what these functions return.
//
// Each throws `error`: as inspect::look(); errc::no_step when there is no such step or version, also when the heap has no history. One
// thread. Those that look take no lock, change nothing, and nobody is kept from the heap meanwhile.
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

/// A step of the history, and the roots that lead to what it changed, as far as they lead there in the last commit.
struct seen_step {
    history_step step;
    std::vector<std::string> roots; ///< by name
};

/// A version by its number, as history() has it, or by the name that it is kept by.
using version_or_name = std::variant<std::uint64_t, std::string>;

struct seen_history {
    std::vector<seen_step> steps; ///< all states that can be reached, by version
    std::string why_none;         ///< a sentence; empty: there are some
    bool is_damaged = false;      ///< there are none, though something lies in the place of a history
};

/// Reads the history of the heap. O(history, and what roots lead to).
[[nodiscard]] seen_history history(const std::string& path, const progress_callback& on_progress = {});

/// As heap::diff(). O(bytes that differ, blocks, and what the roots lead to).
[[nodiscard]] version_difference diff(const std::string& path, const version_or_name& before,
                                      const version_or_name& after, const progress_callback& on_progress = {});

/// As schema(), get() and dump() of look_inside.hpp, of a version. O(history, bytes that changed since, and what they say).
[[nodiscard]] std::string schema_of(const std::string& path, const version_or_name& version,
                                    schema_form form = schema_form::text, const progress_callback& on_progress = {});
[[nodiscard]] std::string get_of(const std::string& path, const version_or_name& version, std::string_view object_path,
                                 const progress_callback& on_progress = {});
void dump_of(const std::string& path, const version_or_name& version, const std::string& root,
             const std::function<void(std::string_view)>& sink, const progress_callback& on_progress = {});

/// Writes the portable form of all roots of a version to a new file (docs/reference/dump.md), from which load() makes a heap. The file is built as
/// TO-unfinished, and there as a whole, durable, once this returns, or not at all. errc::exists: there is such a file already.
void export_dump(const std::string& path, const version_or_name& version, const std::string& to,
                 const progress_callback& on_progress = {});

/// As heap::branch(), of a heap that may be open elsewhere. O(file).
void branch(const std::string& path, const version_or_name& version, const std::string& to,
            const progress_callback& on_progress = {});

// The others open the heap for writing, and close it: beside those that share it, if any do, else alone (errc::in_use). They wait some
// seconds for another process's section, errc::in_use then, which names it. What they do is durable once they return the number of the
// heap's last commit. They wait for no program to agree, and keep to the limits that the heap records.

/// As heap::undo().
std::uint64_t undo(const std::string& path, std::uint64_t steps = 1);
/// As heap::go_to(), and heap::restore().
std::uint64_t restore(const std::string& path, const version_or_name& version);
/// As heap::keep(), of the last commit. Returns the number of the version.
std::uint64_t keep(const std::string& path, std::string_view name);
/// As heap::drop().
void drop(const std::string& path, const version_or_name& version);

// The history that the heap records (report::recorded_history). Nobody else may have the heap open (errc::in_use). errc::no_step: it has none.

/// Gives it other limits, of which one must be set (errc::invalid_argument), from the next open on. Durable once this returns. O(log).
void set_history_limits(const std::string& path, const history_options& limits);
/// Ends it: its steps and kept versions are gone, and NAME-history with them. Programs that name no history write to the heap from now on; one
/// that does begins a new one. A record that is damaged, which keeps the heap from being opened for writing, can be ended, too. Durable once
/// this returns; a crash in between leaves a history, perhaps without steps. O(log).
void end_history(const std::string& path);

} // namespace remanence::inspect
