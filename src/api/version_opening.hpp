// Old versions of heaps that others have open for writing, or share.
//
// Whoever writes may overwrite each page at any time, and gives notice to nobody who does not share the heap. So the last commit is copied
// to memory, page by page, each checked, as rem copy does; then it is opened as a closed heap is. Nothing of it is the writer's: it stays
// whatever becomes of the heap, its history and the processes that have it.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "txn/engine.hpp"
#include "txn/engine_options.hpp"

#include <remanence/heap.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace remanence::detail {

/// What heap_options::version and kept_version bring into a program.
struct version_part {
    txn::version_mapper map;
    /// Opens the version that the options name. errc::in_use: the heap is written to faster than it can be read; errc::no_space: the copy
    /// would take more memory than the process may use; as engine::open() otherwise. Throws std::bad_alloc. O(log, history, and pages in
    /// use).
    result<std::unique_ptr<txn::engine>> (*open_detached)(os::file_system& files, const std::string& path,
                                                          txn::engine_options options, std::string_view abi);
    /// True if it would find the version that the options name: fails as it does, and opens nothing. errc::no_step: it is not there any more.
    result<void> (*find)(os::file_system& files, const std::string& path, const heap_options& options);
};

/// Null: the options name no old version.
inline const version_part* part_for_version(const heap_options& options) {
    return options.version.part() != nullptr ? options.version.part() : options.kept_version.part();
}

} // namespace remanence::detail
