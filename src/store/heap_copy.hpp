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
/// Is first called with 0 bytes done, before anything is written.
using copy_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Passes the whole file to `sink`. Checks each page of the image (errc::corrupt, with its place). Passes zeros for
/// what was never committed. Precondition: the heap is clean, and its superblocks, tables and map do not change. Pages
/// may change; a page that no longer fits its checksum is an error. O(file).
result<void> copy_bytes(heap_file& heap, const byte_sink& sink, const copy_progress& progress);

/// What to do with a file that has the copy's name already.
enum class existing { refused, replaced };

/// A copy of a heap in a file that is empty at first.
class file_copy {
public:
    /// `file` must outlive this.
    explicit file_copy(os::file& file) : file_(file) {}
    /// Makes the file hold what copy_bytes() passes on, with holes for zeros. May be called again, after a failure or
    /// with a later commit of the heap: pages that the file has already, by their checksums, are not read again. Until
    /// finish() the file has no superblocks, so that nobody takes it for a heap.
    result<void> update(heap_file& heap, const copy_progress& progress);
    /// Writes the superblocks. Precondition: the last update() succeeded.
    result<void> finish();
    [[nodiscard]] bool has_begun() const { return !superblocks_.empty(); }

private:
    os::file& file_;
    std::vector<std::uint32_t> held_; // checksum of each page of the file; 0: zeros
    std::vector<std::byte> superblocks_;
};

/// A copy that is being made, as the new file NAME-new. The file is locked until it has its final name. The destructor
/// removes it unless it got that name.
class copy_in_progress {
public:
    /// Returns the errors of begin_new().
    static result<std::unique_ptr<copy_in_progress>> begin(os::file_system& files, const std::string& path,
                                                           unsigned mode);
    copy_in_progress(const copy_in_progress&) = delete;
    copy_in_progress& operator=(const copy_in_progress&) = delete;
    ~copy_in_progress();

    /// As file_copy::update().
    result<void> update(heap_file& heap, const copy_progress& progress);
    /// Writes the superblocks, syncs, and gives the file its name. Atomic: afterwards the name has the whole copy, or
    /// what it had before. Durable once this returns. errc::exists if the name is taken and `there` refuses that. If
    /// the sync of the directory fails, the copy may be there, durable or not.
    result<void> finish(existing there);

private:
    copy_in_progress(os::file_system& files, std::string path, std::unique_ptr<os::file> file)
        : files_(files), path_(std::move(path)), building_(new_path(path_)), file_(std::move(file)), content_(*file_) {}
    result<void> write_mark();

    os::file_system& files_;
    std::string path_;               // final name
    std::string building_;           // name until then
    std::unique_ptr<os::file> file_; // null once it has its final name
    file_copy content_;
};

/// Makes a whole copy. After any failure but that of the last sync no file is left behind, except an empty one that
/// could not be locked.
result<void> copy_to_new(heap_file& heap, os::file_system& files, const std::string& path,
                         const copy_progress& progress);

} // namespace remanence::store
