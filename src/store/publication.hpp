// What a checkpoint writes, from the first page to the superblock.
//
// image_writer::compose() makes it in memory, from what is committed then. It owns everything but the pages. The thread
// that carries it out needs nothing else of the heap file, on which commits go on meanwhile. image_writer::adopt() ends
// it.
//
// I3: pages, nodes and map are synced before the superblock that names them is written. The superblock is synced, too.
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

/// A page and where in the file it belongs.
struct placed_page {
    std::uint64_t copy;
    const std::byte* bytes;
};

/// Writes the first page, and those after it that belong right behind it: up to `bytes_max`, at least one page. Returns
/// how many. `staging` is scratch space.
result<std::size_t> write_run(os::file& file, std::span<const placed_page> pages, std::uint64_t bytes_max,
                              std::vector<std::byte>& staging);

/// Writes a superblock to its place, and syncs it. What it names must be durable (I3).
result<void> write_superblock(os::file& file, sticky_sync& syncs, const format::superblock& super);

class publication {
public:
    static constexpr std::uint64_t k_step_bytes = 1 * MiB;

    /// The pages are in the order of their copies. They, `file` and `syncs` must stay until the publication is carried
    /// out.
    publication(os::file& file, sticky_sync& syncs, std::vector<placed_page> pages, std::vector<planned_write> nodes,
                std::optional<planned_write> map, const format::superblock& next);

    /// Writes about `bytes_max` of what is left, or syncs. Not thread-safe. After a failure it must not be called
    /// again, and the heap must be poisoned: it is unknown which superblock is on the disk.
    result<void> step(std::uint64_t bytes_max = k_step_bytes);
    /// Does all remaining steps.
    result<void> carry_out();

    // From any thread.

    /// True if the superblock is durable.
    [[nodiscard]] bool is_done() const { return stage_ == stage::done; }
    /// Return bytes of pages: written so far, and in all.
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
