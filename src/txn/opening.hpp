// How an open heap comes to be: decided once, then one function for each way (of a heap that several processes share in
// shared_opening.cpp). Functions that make the parts, no state.
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

/// What a process has of a shared heap besides: its part in the protocol, and the open file whose locks tell others so.
struct shared_access {
    std::unique_ptr<os::file> file;
    std::unique_ptr<share::coordination> others;
    share::coordination::role role;
    std::optional<share::current_checkpoint> current{}; // joined: held, until the heap has followed
};

struct opened_heap {
    /// Of a heap that is open read-only and was not closed: what recovering it changed.
    std::unique_ptr<os::file_system> in_memory{};
    std::unique_ptr<store::heap_file> store;
    std::optional<os::reservation> place{}; // until it is mapped there
    std::unique_ptr<view::memory_view> view{};
    recover::recovery_outcome recovered{};
    std::optional<failure> why_elsewhere{};   // with when_base_taken::look_elsewhere
    std::optional<shared_access> shared{};    // with engine_options::is_shared
    std::optional<history::limits> history{}; // that is kept over sessions, of a heap that is open for writing
};

struct open_request {
    os::file_system& files;
    const std::string& path;
    open_mode mode;
    const engine_options& options;
    std::string_view abi; // the caller's fingerprint
};

using opener = result<opened_heap> (*)(const open_request& request);

/// Opens or creates; recovers when the heap was not closed cleanly, read-only in memory alone. A shared heap that others have open is not
/// recovered: it is as of the current superblock, which is held and pinned. What memory holds is yet to be validated:
/// heap_memory::begin().
result<opened_heap> open_heap(const open_request& request);

/// As the coordination file names it.
share::heap_identity identity_of(const store::heap_file& store);

} // namespace remanence::txn
