// The chunks that a commit, or a spill before it, writes whole: a fresh one to its copy A, a rewritten one to the copy
// that it is not in. Also the chunks that a commit gives back whole.
//
// The order: commit_room makes room, these functions write, sync() makes it durable, the log gets the record that names
// the chunks (I2), and they are accepted. They are never written over anything that a durable superblock, or a record
// after it, names (R3). Under the lock of the store, except for sync().
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
    /// Writes pages to the other copies of their chunks. The pages must be contiguous there, too.
    result<void> write_relocated(std::uint64_t first_page, std::span<const std::byte> pages);
    /// Makes those writes durable. Thread-safe.
    result<void> sync() { return file_.syncs().sync("store: sync fresh pages"); }

    /// Notes that the log has the record that names this chunk, which had no contents. `checksums`: one per page; 0 for
    /// zeros that were not written, and for contents in the log.
    void accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version);
    /// Notes that the log has the record that names this chunk, which moved. `maps_former_copy`: the copy that it left
    /// is mapped, so its space is kept until chunk_copies::retired() is told that it is unmapped.
    void accept_relocated(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                          bool maps_former_copy);

    /// Notes that the log has the record that gives back these runs. Precondition: chunk_copies::image_bytes_without()
    /// returned a value for them. unused_space gives their space back after the checkpoint that covers the record.
    void accept_given_back(std::span<const chunk_range> chunks, std::uint64_t version);

private:
    result<void> write_pages(os::call_site where, std::uint64_t offset, std::span<const std::byte> pages);

    sized_file& file_;
    chunk_copies& copies_;
    page_checksums& checksums_;
};

} // namespace remanence::store
