// What a checkpoint or a recovery does to the image: it writes pages in place, and then a superblock for the new state.
//
// A checkpoint is composed, carried out and adopted; there is one at a time. Commits may continue between composing and
// adopting: their changes belong to the next checkpoint. I1: pages are overwritten only after the records that restore
// them are durable. publication and superblock_pair enforce I3. Protected by the lock of the store, except for the
// publication itself.
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "store/chunk_copies.hpp"
#include "store/page_checksums.hpp"
#include "store/publication.hpp"
#include "store/sized_file.hpp"
#include "store/superblock_pair.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace remanence::store {

/// A page to be written into the image.
struct applied_page {
    std::uint64_t page;
    const std::byte* bytes;
    std::uint32_t checksum;
};

/// Identifies the commits between an open and the close after it. Stored in the superblock and in the log.
struct session_identity {
    std::uint64_t epoch;
    format::session_number number;
};

/// The state of the heap that a superblock is to describe.
struct published_state {
    std::uint64_t version;
    std::uint64_t chain;
    session_identity session;
    bool clean;
    std::uint64_t log_begin; // position in the log of the first record after `version`; k_log_header_bytes if clean
};

class image_writer {
public:
    image_writer(sized_file& file, superblock_pair& supers, chunk_copies& copies, page_checksums& checksums)
        : file_(file), supers_(supers), copies_(copies), checksums_(checksums) {}

    /// Composes a checkpoint of the committed state, which writes `pages` (sorted) into the image; writes nothing yet.
    /// From now on the checksums are those of the new contents, so nobody may read these pages before they are written.
    /// Precondition: the records that restore the pages are durable (I1), and the superblock is confirmed. After a
    /// failure the caller must poison the heap.
    result<std::unique_ptr<publication>> compose(std::span<const applied_page> pages, const published_state& state);
    /// Makes the publication's superblock current. Precondition: it was composed last, and is_done().
    void adopt(const publication& done);
    /// True between compose() and adopt(), while the checksums in memory are those of the publication. After a failed
    /// compose() they may be those of neither old nor new contents.
    [[nodiscard]] bool is_ahead_of_file() const { return is_ahead_of_file_; }
    /// Confirms the current superblock, then composes, carries out and adopts a checkpoint without pages.
    result<void> publish(const published_state& state);

    // For heaps that several processes share.

    /// Returns the sequence of the current superblock as this process knows it.
    [[nodiscard]] std::uint64_t sequence() const { return supers_.current().sequence; }
    /// Makes the current superblock durable, unless it is known to be.
    result<void> confirm() { return supers_.confirm(); }
    /// Returns the newest superblock in the file, which another process may have written.
    [[nodiscard]] result<current_superblock> newest_superblock() {
        return read_superblocks(file_.file(), file_.bytes());
    }
    /// Makes this superblock durable, since its writer may have died before it was synced.
    result<void> confirm(const format::superblock& super) {
        return write_superblock(file_.file(), file_.syncs(), super);
    }

    /// Overwrites pages (sorted by page) in place. Precondition: the records that restore them are durable (I1). For
    /// callers with too many pages for compose(), while there are no commits.
    result<void> apply(std::span<const applied_page> pages);
    /// Reads all nodes of the checksum tables, and makes the next publication write all of them and the chunk map.
    /// After that publication, everything that the superblock names, except for pages, was written by this process.
    /// errc::corrupt. Takes O(tables) of time and memory.
    result<void> take_over_structure();

private:
    /// Sets the checksums of the pages, and returns the pages with their file offsets.
    result<std::vector<placed_page>> placed(std::span<const applied_page> pages);

    sized_file& file_;
    superblock_pair& supers_;
    chunk_copies& copies_;
    page_checksums& checksums_;
    bool is_ahead_of_file_ = false;
};

} // namespace remanence::store
