// What a checkpoint, or a recovery, does to the image: pages in place, and a superblock that says so.
//
// A checkpoint is composed, carried out and adopted. Commits may go on between the first and the last: what they accept is
// part of the next one. One at a time. I1: pages are overwritten only when the records that restore them are durable. I3 is
// kept by the publication and by superblock_pair. Under the lock of the store, but for the publication itself.
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

/// A page on its way into the image.
struct applied_page {
    std::uint64_t page;
    const std::byte* bytes;
    std::uint32_t checksum;
};

/// Of the commits between one open and the close after it: what superblock and log have in common.
struct session_identity {
    std::uint64_t epoch;
    format::session_number number;
};

/// What a superblock is to say of the heap.
struct published_state {
    std::uint64_t version;
    std::uint64_t chain;
    session_identity session;
    bool clean;
    std::uint64_t log_begin; // where in the log the records behind `version` begin; k_log_header_bytes when it is clean
};

class image_writer {
public:
    image_writer(sized_file& file, superblock_pair& supers, chunk_copies& copies, page_checksums& checksums)
        : file_(file), supers_(supers), copies_(copies), checksums_(checksums) {}

    /// Takes what is committed, and `pages` (sorted) as the image is to have them; writes nothing. The checksums are theirs
    /// from now on, so that nobody may read these pages before they are written. The records that restore them must be
    /// durable (I1), and the superblock confirmed. After a failure the heap is to be poisoned.
    result<std::unique_ptr<publication>> compose(std::span<const applied_page> pages, const published_state& state);
    /// Its superblock rules. Precondition: it is the one composed last, and is_done().
    void adopt(const publication& done);
    /// Since compose(), until adopt(): then the checksums are those of the publication, or not even that, if compose() failed.
    [[nodiscard]] bool is_ahead_of_file() const { return is_ahead_of_file_; }
    /// All three, of no pages; confirms the superblock before.
    result<void> publish(const published_state& state);

    // For heaps that processes share.

    /// Of the current superblock here.
    [[nodiscard]] std::uint64_t sequence() const { return supers_.current().sequence; }
    /// Makes it durable, unless it is known to be.
    result<void> confirm() { return supers_.confirm(); }
    /// The newest in the file, which another process may have written.
    [[nodiscard]] result<current_superblock> newest_superblock() {
        return read_superblocks(file_.file(), file_.bytes());
    }
    /// Makes that one durable: whoever wrote it may have died before.
    result<void> confirm(const format::superblock& super) {
        return write_superblock(file_.file(), file_.syncs(), super);
    }

    /// Overwrites pages in place; sorted by page. The records that restore them must be durable (I1). For who has too many
    /// to compose(), and lets no commits go on.
    result<void> apply(std::span<const applied_page> pages);
    /// Reads all nodes of the checksum tables, and makes the next publication write them and the chunk map, changed or not:
    /// then all that the new superblock names, but for pages, was written here. errc::corrupt. O(tables), in memory too.
    result<void> take_over_structure();

private:
    /// Gives them their checksums.
    result<std::vector<placed_page>> placed(std::span<const applied_page> pages);

    sized_file& file_;
    superblock_pair& supers_;
    chunk_copies& copies_;
    page_checksums& checksums_;
    bool is_ahead_of_file_ = false;
};

} // namespace remanence::store
