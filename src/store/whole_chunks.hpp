// Writes whole chunks for a commit, or for a spill before it: a fresh chunk to its copy A, a rewritten one to its other
// copy. Also notes the chunks that a commit gives back.
//
// The order: commit_room reserves room, these functions write, sync() makes the chunks durable, the record that names
// them is appended to the log (I2), and they are accepted. Nothing that a durable superblock, or a record after it,
// names is overwritten (R3). Protected by the lock of the store, except for sync().
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
    /// Writes pages to the other copies of their chunks, where the pages must be contiguous, too.
    result<void> write_relocated(std::uint64_t first_page, std::span<const std::byte> pages);
    /// Makes the writes of both functions durable. Thread-safe.
    result<void> sync() { return file_.syncs().sync("store: sync fresh pages"); }

    /// Notes that the log has the record that names this chunk, which held nothing before. `checksums`: one per page; 0
    /// for pages of zeros that were not written, and for pages whose contents are in the log.
    void accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version);
    /// Notes that the log has the record that names this chunk, which moved. `maps_former_copy`: its former copy is
    /// mapped, so its space is not given back until chunk_copies::retired() is told that it is unmapped.
    void accept_relocated(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                          bool maps_former_copy);

    /// Notes that the log has the record that gives back these runs. Precondition: chunk_copies::image_bytes_without()
    /// returned a value for them. After the checkpoint that covers the record, unused_space returns their space to the
    /// file system.
    void accept_given_back(std::span<const chunk_range> chunks, std::uint64_t version);

private:
    result<void> write_pages(os::call_site where, std::uint64_t offset, std::span<const std::byte> pages);

    sized_file& file_;
    chunk_copies& copies_;
    page_checksums& checksums_;
};

} // namespace remanence::store
