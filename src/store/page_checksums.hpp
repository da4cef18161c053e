// The checksum of every page of the image.
//
// The tables of the regions contain the checksums. For chunks accepted since the last checkpoint was composed, the
// checksums are only in memory (*unpublished*) and in the log. Protected by the lock of the store.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/checksum_table.hpp"
#include "store/chunk_copies.hpp"
#include "store/planned_write.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace remanence::store {

class page_checksums {
public:
    /// Begins with the tables that the current superblock names. All arguments must outlive this object.
    page_checksums(os::file& file, const format::superblock& current, const chunk_copies& copies);

    /// Returns the checksum of a page; 0 means that the page is all zeros and occupies no space. errc::corrupt if its
    /// table is damaged.
    result<std::uint32_t> of(std::uint64_t page);
    /// As image::has_contents().
    result<bool> has_contents(std::uint64_t chunk);
    /// Sets the checksum of a page of a stored chunk, in memory only; the next checkpoint writes it.
    result<void> set(std::uint64_t page, std::uint32_t checksum);

    // The checksums of whole chunks that are not in the tables yet, one per page.

    void add_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums);
    void replace(std::uint64_t chunk, std::vector<std::uint32_t> checksums);
    using of_chunks = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;
    [[nodiscard]] const of_chunks& unpublished() const { return unpublished_; }

    // The tables.

    /// Reserves the file space for new checksums of this page and of its chunk. errc::no_space.
    result<void> reserve(std::uint64_t page);
    /// Adds the table of the last region, which the current superblock has gained.
    void add_region();
    /// Forgets the tables of all regions that the current superblock has no longer.
    void forget_regions() {
        while (tables_.size() > current_.region_count)
            tables_.pop_back();
    }
    /// Returns one table per region, as of the last publication that was composed.
    [[nodiscard]] std::span<const checksum_table> tables() const { return tables_; }
    /// Moves unpublished checksums into the tables.
    result<void> publish_chunks();
    /// Appends the changed nodes to `writes`, and puts the new roots into `next`.
    result<void> take_changed(std::vector<planned_write>& writes, format::superblock& next);
    /// Reads all nodes, and makes the next take_changed() include all of them. errc::corrupt. O(tables).
    result<void> take_over();

private:
    os::file& file_;
    const format::superblock& current_;
    const layout layout_;
    const chunk_copies& copies_;
    std::vector<checksum_table> tables_;
    of_chunks unpublished_;
};

} // namespace remanence::store
