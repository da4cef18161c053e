// Makes copies of a heap file.
#pragma once

#include "base/result.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace remanence::store {

/// Receives the next bytes: at most 1 MiB per call, in the order of the file.
using byte_sink = std::function<result<void>(std::span<const std::byte>)>;
/// Reports progress. Called with `done` = 0 before anything is written.
using copy_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Passes the whole file to `sink`, with zeros for pages that were never committed. Checks each page of the image; if a
/// page does not match its checksum, returns errc::corrupt with the page's place. Precondition: the heap is clean, and
/// its superblocks, tables and map do not change meanwhile. If pages change meanwhile, errc::corrupt may result.
/// O(file).
result<void> copy_bytes(heap_file& heap, const byte_sink& sink, const copy_progress& progress);

/// What to do if a file with the copy's name exists.
enum class existing { refused, replaced };

/// A copy of a heap in a file that is empty at the beginning.
class file_copy {
public:
    /// `file` must outlive this.
    explicit file_copy(os::file& file) : file_(file) {}
    /// Makes the file hold what copy_bytes() passes to its sink, with holes in place of zeros. May be called again
    /// after a failure, or after later commits of the heap: it does not read pages that the file already holds,
    /// according to their checksums. Until finish() the file has no superblocks, so nobody mistakes it for a heap.
    result<void> update(heap_file& heap, const copy_progress& progress);
    /// Writes the superblocks. Precondition: the last update() succeeded.
    result<void> finish();
    [[nodiscard]] bool has_begun() const { return !superblocks_.empty(); }

private:
    os::file& file_;
    std::vector<std::uint32_t> held_; // checksum of each page in the file; 0 means zeros
    std::vector<std::byte> superblocks_;
};

/// A copy that is being made in the new file NAME-new. The file stays locked until it has its final name. If it never
/// gets that name, the destructor removes it.
class copy_in_progress {
public:
    /// Fails as begin_new() does.
    static result<std::unique_ptr<copy_in_progress>> begin(os::file_system& files, const std::string& path,
                                                           unsigned mode);
    copy_in_progress(const copy_in_progress&) = delete;
    copy_in_progress& operator=(const copy_in_progress&) = delete;
    ~copy_in_progress();

    /// As file_copy::update().
    result<void> update(heap_file& heap, const copy_progress& progress);
    /// Writes the superblocks, syncs, and renames the file. Atomic: even after a crash, `path` names either the whole
    /// copy or what it named before. Durable once this returns. errc::exists if the name is in use and `there` is
    /// existing::refused. If the sync of the directory fails, the copy may have its name, durably or not.
    result<void> finish(existing there);

private:
    copy_in_progress(os::file_system& files, std::string path, std::unique_ptr<os::file> file)
        : files_(files), path_(std::move(path)), building_(new_path(path_)), file_(std::move(file)), content_(*file_) {}
    result<void> write_mark();

    os::file_system& files_;
    std::string path_;               // final name
    std::string building_;           // name while the copy is made
    std::unique_ptr<os::file> file_; // null once it has its final name
    file_copy content_;
};

/// Begins `copy`, for the name `path` and with the permissions of the heap, unless it is begun; then updates it.
result<void> update_copy(std::unique_ptr<copy_in_progress>& copy, heap_file& heap, os::file_system& files,
                         const std::string& path);

/// Makes a whole copy. A failure leaves no file behind, with two exceptions: if the last sync fails, the copy may
/// remain; if the new file cannot be locked, it remains empty.
result<void> copy_to_new(heap_file& heap, os::file_system& files, const std::string& path,
                         const copy_progress& progress);

} // namespace remanence::store
