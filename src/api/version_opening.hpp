// Opens old versions of heaps that other processes have open for writing, or share.
//
// The writer may overwrite a page at any time, and does not notify processes that do not share the heap. So the last
// commit is copied to memory page by page, and each page is checked, as rem copy does. Then the copy is opened like a
// closed heap. From then on it depends neither on the heap and its history nor on the processes that use them.
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

/// The code that heap_options::version and kept_version link into a program.
struct version_part {
    txn::version_mapper map;
    /// Opens the version that the options name. errc::in_use: the heap is written to faster than it can be read;
    /// errc::no_space: the copy would need more memory than the process may use; otherwise the errors of
    /// engine::open(). Throws std::bad_alloc. O(log, steps since the version, and pages in use).
    result<std::unique_ptr<txn::engine>> (*open_detached)(os::file_system& files, const std::string& path,
                                                          txn::engine_options options, std::string_view abi);
    /// Checks that open_detached() would find the version that the options name. Returns the same errors, but opens
    /// nothing. errc::no_step: the version no longer exists.
    result<void> (*find)(os::file_system& files, const std::string& path, const heap_options& options);
};

/// Returns the code that opens old versions, or null if the options name none.
inline const version_part* part_for_version(const heap_options& options) {
    return options.version.part() != nullptr ? options.version.part() : options.kept_version.part();
}

} // namespace remanence::detail
