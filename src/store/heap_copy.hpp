// The bytes of a heap file, in order, as a copy of it is to hold them.
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

/// Takes the next bytes: at most 1 MiB, each piece behind the one before.
using byte_sink = std::function<result<void>(std::span<const std::byte>)>;
/// Told of 0 bytes, too, before the first of them is written.
using copy_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Hands over the whole file. Each page of the image is checked (errc::corrupt, with its place), and what was never
/// committed comes as zeros. Precondition: the heap is clean, and its superblocks, tables and map do not change; pages
/// may: one that is not as its checksum says is an error. O(file).
result<void> copy_bytes(heap_file& heap, const byte_sink& sink, const copy_progress& progress);

/// A file that is at the name of a copy already.
enum class existing { refused, replaced };

/// A copy in a file that holds nothing yet.
class file_copy {
public:
    /// `file` must outlive this.
    explicit file_copy(os::file& file) : file_(file) {}
    /// Makes the file hold what copy_bytes() hands over, zeros as holes. It may be called again, after a failure or with
    /// a later commit of the heap: pages that it holds already, by their checksums, are not read again. Until finish()
    /// it has no superblocks, so that nobody takes it for a heap.
    result<void> update(heap_file& heap, const copy_progress& progress);
    /// Writes the superblocks. Precondition: the last update() succeeded.
    result<void> finish();
    [[nodiscard]] bool has_begun() const { return !superblocks_.empty(); }

private:
    os::file& file_;
    std::vector<std::uint32_t> held_; // checksum of each page of the file; 0: it is zeros
    std::vector<std::byte> superblocks_;
};

/// A copy on its way: the new file NAME-new. Locked until it has its name; removed with this, unless it got it.
class copy_in_progress {
public:
    /// Errors: those of begin_new().
    static result<std::unique_ptr<copy_in_progress>> begin(os::file_system& files, const std::string& path,
                                                           unsigned mode);
    copy_in_progress(const copy_in_progress&) = delete;
    copy_in_progress& operator=(const copy_in_progress&) = delete;
    ~copy_in_progress();

    /// As file_copy::update().
    result<void> update(heap_file& heap, const copy_progress& progress);
    /// Writes the superblocks, syncs, and gives the file its name: the copy is there as a whole, durable once this returns,
    /// or what was there before. errc::exists when that is refused. After a failure it may be there, durable or not, if
    /// what failed is the sync of the directory.
    result<void> finish(existing there);

private:
    copy_in_progress(os::file_system& files, std::string path, std::unique_ptr<os::file> file)
        : files_(files), path_(std::move(path)), building_(new_path(path_)), file_(std::move(file)), content_(*file_) {}
    result<void> write_mark();

    os::file_system& files_;
    std::string path_;               // that it will have
    std::string building_;           // that it has so far
    std::unique_ptr<os::file> file_; // null: it got the other
    file_copy content_;
};

/// All of it at one go. errc::no_space and every other failure but that of the last sync leave no file behind, but for an
/// empty one that could not be locked.
result<void> copy_to_new(heap_file& heap, os::file_system& files, const std::string& path,
                         const copy_progress& progress);

} // namespace remanence::store
