// The image: the bytes of every page as of the newest version. The superblock and the commits accepted since then
// define it.
//
// Code that reads or maps committed content (the view, recovery, tools that only read) uses this class and nothing else
// of the heap file. Protected by the lock of the store.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/chunk_copies.hpp"
#include "store/page_checksums.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace remanence::store {

/// A state that must stay readable: the image as of a version, and the log records after that version. At present there
/// is one pin. Only the checkpoint that moves the pin to a newer version overwrites what it protects (I4).
struct pin {
    std::uint64_t version;
    std::uint64_t log_begin; // position in the log of the first record after `version`
};

class image {
public:
    /// All arguments must outlive this.
    image(os::file& file, const format::superblock& current, const chunk_copies& copies, page_checksums& checksums)
        : file_(file), current_(current), copies_(copies), checksums_(checksums) {}

    /// Returns the pin of the last checkpoint.
    [[nodiscard]] pin pinned() const { return {current_.checkpoint_version, current_.log_begin}; }
    [[nodiscard]] const std::string& path() const { return file_.path(); }
    [[nodiscard]] std::uint64_t chunk_bytes() const { return copies_.where().chunk_bytes(); }
    [[nodiscard]] std::uint64_t chunk_pages() const { return copies_.where().chunk_pages(); }
    /// Returns the end of the committed part of the heap. Beyond it, and in chunks that are not stored, everything
    /// reads as zeros.
    [[nodiscard]] std::uint64_t bytes() const { return copies_.image_bytes(); }
    [[nodiscard]] bool is_stored(std::uint64_t chunk) const { return copies_.is_stored(chunk); }

    /// Reads whole pages and verifies each against its checksum. Pages that were never written read as zeros.
    /// errc::corrupt, with the file offset, if one fails.
    result<void> read_pages(std::uint64_t first_page, std::span<std::byte> into);
    /// Starts to read these pages, which lie in one stored chunk, so that read_pages() takes less time. A hint.
    void will_read(heap_range pages) { file_.will_read(copy_of(pages.offset), pages.bytes); }
    /// Reads a page from the file without verifying it, for callers that know which bytes of it the log records
    /// replace.
    result<void> read_unverified(std::uint64_t page, std::span<std::byte> into) {
        return file_.read(copy_of(page * k_page_bytes), into);
    }
    /// Returns the checksum of a page; 0 means that the page is all zeros and occupies no space.
    result<std::uint32_t> checksum_of(std::uint64_t page) { return checksums_.of(page); }
    /// True if a page of the chunk was ever written. A chunk that counts as stored only because the chunk map had no
    /// room has no contents, and a commit may still place it as a fresh one.
    result<bool> has_contents(std::uint64_t chunk) { return checksums_.has_contents(chunk); }

    // For code that maps the image.

    /// Returns all parts of the image, in order.
    [[nodiscard]] std::vector<extent> extents() const { return copies_.extents(); }
    /// Returns the file offset of a heap offset, as chunk_copies::copy_of(). Precondition: covered by a region.
    [[nodiscard]] std::uint64_t copy_of(std::uint64_t heap_offset) const { return copies_.copy_of(heap_offset); }
    [[nodiscard]] os::file& file() { return file_; }

private:
    os::file& file_;
    const format::superblock& current_;
    const chunk_copies& copies_;
    page_checksums& checksums_;
};

} // namespace remanence::store
