// Opens a heap: decides which way to open it, then calls the function for that way (for shared heaps, in
// shared_opening.cpp).
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "os/memory.hpp"
#include "recover/recovery.hpp"
#include "share/coordination.hpp"
#include "store/heap_file.hpp"
#include "txn/engine_options.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::txn {

/// What an opened heap has in addition if it is shared: the coordination with other processes, and the open file that
/// holds this process's locks.
struct shared_access {
    std::unique_ptr<os::file> file;
    std::unique_ptr<share::coordination> others;
    share::coordination::role role;
    std::optional<share::current_checkpoint> current{}; // if joined: held until memory has reached the visible commit
};

struct opened_heap {
    /// For a heap that is open read-only and was not closed cleanly: the files as recovery changed them, in memory.
    std::unique_ptr<os::file_system> in_memory{};
    std::unique_ptr<store::heap_file> store;
    std::optional<os::reservation> place{}; // set until the heap is mapped there
    std::unique_ptr<view::memory_view> view{};
    recover::recovery_outcome recovered{};
    std::optional<failure> why_elsewhere{};   // with when_base_taken::look_elsewhere
    std::optional<shared_access> shared{};    // with engine_options::is_shared
    std::optional<history::limits> history{}; // of a history that is kept over sessions, unless open read-only
};

struct open_request {
    os::file_system& files;
    const std::string& path;
    open_mode mode;
    const engine_options& options;
    std::string_view abi; // the caller's fingerprint
};

using opener = result<opened_heap> (*)(const open_request& request);

/// Opens or creates a heap. Recovers it if it was not closed cleanly; a read-only heap is recovered only in memory. A
/// shared heap that others have open is not recovered: it is as its current superblock says; that superblock is held
/// and its version pinned. The caller must then validate the contents of memory by heap_memory::begin().
result<opened_heap> open_heap(const open_request& request);

/// Returns the identity that the coordination file must contain for this heap.
share::heap_identity identity_of(const store::heap_file& store);

} // namespace remanence::txn
