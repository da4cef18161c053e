// The options with which the engine opens a heap.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "change/change_set.hpp"
#include "history/delta.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "track/page_scan.hpp"
#include "txn/parts.hpp"
#include "view/memory_view.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace remanence::txn {

class heap_memory;

enum class open_mode { open_or_create, create, open_existing };

/// Called with uncommitted changes in memory. The allocation lock is held, so a listener must use the allocator passed
/// to it, and may call only those functions of heap_memory that tell addresses, sizes and the path.
using change_listener = std::function<void(heap_memory&, const change::change_set&, const alloc::block_allocator&)>;
/// As change_listener, but may refuse the changes by returning an error.
using change_check =
    std::function<result<void>(heap_memory&, const change::change_set&, const alloc::block_allocator&)>;

/// What to do if a heap's own addresses are in use. The heap may be mapped elsewhere if its objects hold no addresses,
/// but only the caller can know that.
enum class when_base_taken {
    fail,
    look_elsewhere, // maps elsewhere, for callers who check later: engine::why_elsewhere() returns the error of `fail`
    elsewhere,      // for callers who know; skips the slow search for the mapping that uses the addresses
};

/// An old version of a heap that others may write to: files with a copy of its last commit, and the delta that leads
/// from that commit to the version.
struct detached_version {
    std::unique_ptr<os::file_system> files;
    std::uint64_t version = 0;
    history::delta way{};
};

struct engine_options {
    parts has{};
    std::uint64_t reserve_bytes = 16 * GiB;
    std::uint64_t chunk_bytes = 256 * KiB;
    std::uint64_t base = 0; // 0 means random
    when_base_taken when_taken = when_base_taken::fail;
    /// The log length at which a checkpoint is due. 0 means that memory_budget::log_limit_bytes() decides.
    std::uint64_t log_limit_bytes = 0;
    /// For a shared heap: the greatest length of the log while other processes prevent its reuse. 0 means 16 times the
    /// log length at which a checkpoint is due.
    std::uint64_t log_bytes_max = 0;
    /// The bytes of before-images at which a checkpoint is due. 0 means an eighth of memory, which is also the maximum.
    std::uint64_t before_image_limit_bytes = 0;
    /// Bytes that may be written and neither committed nor spilled. 0 means a quarter of the memory that the process
    /// may use. The maximum is half of that memory, the minimum eight chunks.
    std::uint64_t dirty_limit_bytes = 0;
    /// How many bytes may be resident after a section. 0: no limit. Needs parts::memory_limiter.
    std::uint64_t resident_limit_bytes = 0;
    /// The memory that the process may use. 0 means what /proc and /sys report.
    std::uint64_t memory_bytes = 0;
    std::size_t scattered_max = view::view_options{}.scattered_max;
    std::size_t stretches_max = view::view_options{}.stretches_max;
    unsigned mode = 0666;
    bool read_only = false;
    bool is_shared = false;        // several processes may have the heap open
    bool share_on_network = false; // as in heap_options
    std::chrono::milliseconds open_timeout{10'000};
    std::string application;                  // as in heap_options
    bool red_zones = false;                   // as in heap_options
    unsigned leak_frames = 0;                 // as in heap_options; used by parts::block_notes
    std::optional<std::string> log_directory; // as in heap_options
    bool aligned_blocks = false;
    /// Keeps a history, with these limits. If the heap records limits, uses those instead. Needs parts::history. Not
    /// for heaps opened read-only.
    std::optional<history::limits> history;
    /// The history is kept over sessions: it continues that of the last session. The heap records this. In a shared
    /// heap a history is always kept over sessions.
    bool history_kept = false;
    /// The file of a history that is kept over sessions is not rewritten while it is smaller than this.
    std::uint64_t history_rewritten_from = 1 * MiB;
    /// Opens this version instead of the last commit: one of the heap's history, by its number or its name, or the one
    /// that a detached_version describes. Needs parts::map_version. Only for heaps that are opened read-only and not
    /// shared.
    std::optional<std::variant<std::uint64_t, std::string, std::shared_ptr<const detached_version>>> version;
    bool core_dump = false;
    bool read_ahead = view::view_options{}.read_ahead;
    track::tracker_choice tracker = track::tracker_choice::automatic;
    /// Called for writes while they are not allowed: see heap_memory::allow_writes(). Trap tracker only.
    track::stray_write_reporter report_stray_write = nullptr;

    enum class work { recovery, checkpoint, verify };
    /// Called by the thread that does the work.
    std::function<void(work, std::uint64_t done, std::uint64_t total)> on_progress;
    /// Called with the changes that a commit will make durable, before anything is written. If it refuses, memory keeps
    /// its changes. While this is set, freed blocks are zeroed, so that a live block has no bytes of an earlier one.
    change_check inspect;
    /// Called, before a commit of a declared section, with the changes that were not declared. May refuse the commit,
    /// as `inspect`. While this is set, such a commit first looks for changes in all of memory.
    change_check inspect_undeclared;
};

} // namespace remanence::txn
