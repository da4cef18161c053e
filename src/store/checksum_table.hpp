// The page checksums of one region: a tree of 4 KiB nodes, each with two places in the file.
//
// A checkpoint writes each changed node to its place that is not current, and returns the new root for the next
// superblock. So nothing that a durable superblock names is overwritten (I1).
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/planned_write.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace remanence::store {

class checksum_table {
public:
    checksum_table(os::file& file, const format::region& where);

    /// Returns the file bytes that the table of a region of `region_bytes` occupies, with both places of every node.
    static std::uint64_t file_bytes(std::uint64_t region_bytes);

    /// Returns the checksum of a page of the region. 0 means that the page was never written and is all zeros.
    /// errc::corrupt if the table is damaged.
    result<std::uint32_t> get(std::uint64_t page);
    /// Changes the checksum in memory only. The next take_changed() includes the node that holds it.
    result<void> set(std::uint64_t page, std::uint32_t checksum);
    /// Reserves the file space that a later change of this page's checksum will need.
    result<void> reserve(std::uint64_t page);
    /// Appends a planned write for each changed node to `writes`, children before parents; writes nothing to the file.
    /// Returns the new root for the next superblock. Until those writes are done, call get() only for pages whose nodes
    /// are in memory.
    result<format::node_reference> take_changed(std::vector<planned_write>& writes);

    /// Reads all nodes, and marks them as changed, so that the next take_changed() includes all of them. errc::corrupt.
    result<void> take_over();

    /// Reads every node from the file. Calls `damaged(file offset)` for each one that cannot be read or fails its
    /// checksum, and `page(index, checksum)` for every page with a checksum, in order.
    void walk(const std::function<void(std::uint64_t)>& damaged,
              const std::function<void(std::uint64_t, std::uint32_t)>& page) const;

private:
    struct node {
        std::array<std::byte, format::k_node_bytes> bytes;
        bool changed = false;
    };
    using level_nodes = std::unordered_map<std::uint64_t, std::unique_ptr<node>>;

    [[nodiscard]] std::size_t top() const { return levels_.size() - 1; }
    [[nodiscard]] std::uint64_t place(std::size_t level, std::uint64_t index, std::uint32_t slot) const;
    result<node*> load(std::size_t level, std::uint64_t index);
    result<format::node_reference> reference_to(std::size_t level, std::uint64_t index);
    void walk_node(std::size_t level, std::uint64_t index, const format::node_reference& reference,
                   const std::function<void(std::uint64_t)>& damaged,
                   const std::function<void(std::uint64_t, std::uint32_t)>& page) const;

    os::file& file_;
    std::uint64_t table_offset_;
    format::node_reference root_;
    std::vector<std::uint64_t> level_begin_; // first node of each level, in the order of the file: leaves first
    std::vector<level_nodes> levels_;        // nodes in memory: 0.1% of the part of the heap that was accessed
    std::vector<bool> leaf_reserved_;
};

/// Returns the checksum of a node, which its parent stores. It is never 0, because 0 in a parent means that the node
/// was never written.
std::uint64_t node_checksum(std::span<const std::byte> node);

} // namespace remanence::store
