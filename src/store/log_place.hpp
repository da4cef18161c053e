// Where the redo log of a heap lies: beside the heap, or in another directory, which the superblock names.
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/recorded_page.hpp"

#include <string>

namespace remanence::store {

class log_place {
public:
    log_place() = default; // the log lies beside the heap
    log_place(std::string directory, const format::superblock& super);

    /// Returns the absolute path of the directory; empty if the log lies beside the heap.
    [[nodiscard]] const std::string& directory() const { return directory_; }
    /// Returns the path of the log. Beside the heap NAME it is NAME-log. In another directory a part of the heap's UUID
    /// is appended, since heaps of equal names may have their logs there.
    [[nodiscard]] std::string path_for(const std::string& heap_path) const;

private:
    std::string directory_;
    std::string tag_;
};

/// Reads the place that the superblock names. errc::corrupt; errc::truncated.
result<log_place> read_log_place(os::file& file, const format::superblock& super);

/// Returns the page for superblock::log_directory: the path, followed by zeros. Precondition: may_be_log_directory().
recorded_page to_page(const std::string& directory);
/// True if the path is absolute, and short enough.
bool may_be_log_directory(const std::string& directory);

} // namespace remanence::store
