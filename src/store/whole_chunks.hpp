// The chunks that a commit, or a spill before it, writes whole: a fresh one to its copy A, one that was
// rewritten to the copy where it is not; and the chunks that a commit gives back as a whole.
//
// In order: commit_room makes room, these write, sync() makes it durable, the log gets the record that names the chunks (I2),
// and they are accepted. Nothing that a durable superblock names, or a record after it, is where they are written (R3). Under
// the lock of the store, but for sync().
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "store/chunk_copies.hpp"
#include "store/page_checksums.hpp"
#include "store/sized_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::store {

class whole_chunks {
public:
    whole_chunks(sized_file& file, chunk_copies& copies, page_checksums& checksums)
        : file_(file), copies_(copies), checksums_(checksums) {}

    /// Writes pages of a chunk that is not stored to its copy.
    result<void> write_fresh(std::uint64_t first_page, std::span<const std::byte> pages);
    /// Writes pages, which follow each other there too, to the other copies of their chunks.
    result<void> write_relocated(std::uint64_t first_page, std::span<const std::byte> pages);
    /// Makes durable what was written so. From any thread.
    result<void> sync() { return file_.syncs().sync("store: sync fresh pages"); }

    /// The log has the record that names this chunk, which had no contents yet. `checksums`: one for each page, 0 for zeros
    /// that were not written, and for what the log has.
    void accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version);
    /// The log has the record that names this chunk, which moved. `maps_former_copy`: somebody maps the copy that it leaves, so
    /// that its space is not to be given back before chunk_copies::retired() hears otherwise.
    void accept_relocated(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                          bool maps_former_copy);

    /// The log has the record that says so: these runs, for which chunk_copies::image_bytes_without() has an answer, hold nothing
    /// any more. unused_space gives their space back after the checkpoint that covers the record.
    void accept_given_back(std::span<const chunk_range> chunks, std::uint64_t version);

private:
    result<void> write_pages(os::call_site where, std::uint64_t offset, std::span<const std::byte> pages);

    sized_file& file_;
    chunk_copies& copies_;
    page_checksums& checksums_;
};

} // namespace remanence::store
