// How an open heap comes to be: its file created or found and recovered, its memory mapped. Functions that make the
// parts, no state.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "txn/engine_options.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::txn {

struct opened_heap {
    std::unique_ptr<store::heap_file> store;
    std::unique_ptr<view::memory_view> view;
    std::uint64_t recovered_commits = 0;
    std::uint64_t recovered_bytes = 0;
    std::optional<failure> why_elsewhere{}; // with when_base_taken::look_elsewhere
};

/// Opens or creates; recovers when the heap was not closed cleanly. `abi` is the caller's ABI fingerprint. What memory holds is yet
/// to be validated: heap_memory::begin().
result<opened_heap> open_heap(os::file_system& files, const std::string& path, open_mode mode,
                              const engine_options& options, std::string_view abi);

} // namespace remanence::txn
