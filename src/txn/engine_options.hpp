// How a heap is opened, inside the library.
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

/// Sees changes that are in memory and in no commit. Called with the allocation lock held: it must ask the allocator handed
/// to it, and of the memory only where it lies.
using change_listener = std::function<void(heap_memory&, const change::change_set&, const alloc::block_allocator&)>;
/// The same; it may refuse them.
using change_check =
    std::function<result<void>(heap_memory&, const change::change_set&, const alloc::block_allocator&)>;

/// What becomes of a heap whose own addresses are taken. It may be mapped elsewhere if its objects hold none, which the engine
/// does not know.
enum class when_base_taken {
    fail,
    look_elsewhere, // for callers who have to look into it first: engine::why_elsewhere() has what `fail` would have said
    elsewhere,      // for callers who know; nobody finds out what is in its place, which takes long
};

/// An old version of a heap that others may write to: files that hold a copy of its last commit, and what leads from there.
struct detached_version {
    std::unique_ptr<os::file_system> files;
    std::uint64_t version = 0;
    history::delta way{};
};

struct engine_options {
    parts has{};
    std::uint64_t reserve_bytes = 16 * GiB;
    std::uint64_t chunk_bytes = 256 * KiB;
    std::uint64_t base = 0; // 0: random
    when_base_taken when_taken = when_base_taken::fail;
    /// At which a checkpoint is due; 0: memory_budget::log_limit_bytes() says when it is worth its cost.
    std::uint64_t log_limit_bytes = 0;
    /// Of a shared heap: it may become so long while other processes keep it from being reused. 0: 16 times its limit.
    std::uint64_t log_bytes_max = 0;
    /// Of before-images, likewise; never more than an eighth of memory, which is what 0 means.
    std::uint64_t before_image_limit_bytes = 0;
    /// Bytes that may be written and neither committed nor spilled. 0: a quarter of the memory that the process
    /// may use; more than half of that is half. Less than eight chunks are eight chunks.
    std::uint64_t dirty_limit_bytes = 0;
    /// That the process may use. 0: as much as /proc and /sys tell.
    std::uint64_t memory_bytes = 0;
    std::size_t scattered_max = view::view_options{}.scattered_max;
    std::size_t stretches_max = view::view_options{}.stretches_max;
    unsigned mode = 0666;
    bool read_only = false;
    bool is_shared = false;        // several processes may have the heap open
    bool share_on_network = false; // as in heap_options
    std::chrono::milliseconds open_timeout{10'000};
    std::string application;                  // as in heap_options
    bool red_zones = false;                   // likewise
    std::optional<std::string> log_directory; // likewise
    bool aligned_blocks = false;
    /// Keeps what undoes commits. Needs parts::history. Not of heaps opened read-only. What the heap records counts instead.
    std::optional<history::limits> history;
    /// It goes on where the last session left it, and is kept for the next one, which the heap records. Shared heaps have no other history.
    bool history_kept = false;
    /// The file of a history that is kept is not made anew while it is smaller.
    std::uint64_t history_rewritten_from = 1 * MiB;
    /// This version of the history, by number or by the name that it is kept by, instead of the last commit; or the one of a copy, which
    /// is what is opened. Needs parts::map_version. Of heaps that are opened read-only, and not shared.
    std::optional<std::variant<std::uint64_t, std::string, std::shared_ptr<const detached_version>>> version;
    bool core_dump = false;
    bool read_ahead = view::view_options{}.read_ahead;
    track::tracker_choice tracker = track::tracker_choice::automatic;
    /// Of writes while they are not allowed: see heap_memory::allow_writes(). Trap tracker only.
    track::stray_write_reporter report_stray_write = nullptr;

    enum class work { recovery, checkpoint, verify };
    /// Called by whoever does the work.
    std::function<void(work, std::uint64_t done, std::uint64_t total)> on_progress;
    /// Sees what a commit is about to make durable, before anything is written. When it refuses, memory keeps its changes.
    /// While one is set, freed blocks are zeroed, so that what is in a live block was not left there by an earlier one.
    change_check inspect;
    /// Sees, before a commit of a declared section, what was changed and not declared, and may refuse the commit as
    /// `inspect` does. While one is set, such a commit looks for changes everywhere first.
    change_check inspect_undeclared;
};

} // namespace remanence::txn
