// What a checkpoint writes, from the first page to the superblock.
//
// image_writer::compose() makes a publication in memory from the state that is committed at that moment. The
// publication owns everything but the pages. The thread that carries it out uses no other part of the heap file, so
// commits continue meanwhile. Afterwards image_writer::adopt() must be called.
//
// I3: pages, nodes and map are synced before the superblock that names them is written. Then the superblock is synced.
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/planned_write.hpp"
#include "store/sticky_sync.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace remanence::store {

/// A page and its file offset.
struct placed_page {
    std::uint64_t copy;
    const std::byte* bytes;
};

/// Writes, in one call, the first page and as many of the following ones as are contiguous with it in the file: up to
/// `bytes_max`, at least one page. Returns how many pages were written. `staging` is scratch space.
result<std::size_t> write_run(os::file& file, std::span<const placed_page> pages, std::uint64_t bytes_max,
                              std::vector<std::byte>& staging);

/// Writes a superblock to its place, and syncs it. Precondition: everything that it names is durable (I3).
result<void> write_superblock(os::file& file, sticky_sync& syncs, const format::superblock& super);

class publication {
public:
    static constexpr std::uint64_t k_step_bytes = 1 * MiB;

    /// `pages` must be in the order of their file offsets. The bytes of the pages, `file` and `syncs` must stay valid
    /// until the last step is done or the publication is destroyed.
    publication(os::file& file, sticky_sync& syncs, std::vector<placed_page> pages, std::vector<planned_write> nodes,
                std::optional<planned_write> map, const format::superblock& next);

    /// Does the next part of the work: writes about `bytes_max` bytes, or syncs. Not thread-safe. After a failure
    /// step() must not be called again, and the caller must poison the heap, since it is unknown which superblock is on
    /// the disk.
    result<void> step(std::uint64_t bytes_max = k_step_bytes);
    /// Does all remaining steps.
    result<void> carry_out();

    // May be called by any thread.

    /// True if the superblock is durable.
    [[nodiscard]] bool is_done() const { return stage_ == stage::done; }
    /// These return bytes of pages: written so far, and in total.
    [[nodiscard]] std::uint64_t written_bytes() const { return written_pages_ * k_page_bytes; }
    [[nodiscard]] std::uint64_t page_bytes() const { return pages_.size() * k_page_bytes; }

    [[nodiscard]] const format::superblock& next() const { return next_; }

private:
    enum class stage { pages, nodes, map, image_sync, superblock, done };
    result<void> write_pages(std::uint64_t bytes_max);
    result<void> write_nodes(std::uint64_t bytes_max);

    os::file& file_;
    sticky_sync& syncs_;
    const std::vector<placed_page> pages_;
    const std::vector<planned_write> nodes_;
    const std::optional<planned_write> map_;
    const format::superblock next_;
    std::vector<std::byte> staging_;
    std::atomic<std::size_t> written_pages_ = 0;
    std::size_t written_nodes_ = 0;
    std::atomic<stage> stage_ = stage::pages;
};

} // namespace remanence::store
