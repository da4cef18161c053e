#include "store/publication.hpp"

#include <algorithm>
#include <utility>

namespace remanence::store {

result<std::size_t> write_run(os::file& file, std::span<const placed_page> pages, std::uint64_t bytes_max,
                              std::vector<std::byte>& staging) {
    const std::size_t limit = std::min(pages.size(), static_cast<std::size_t>(bytes_max / k_page_bytes));
    std::size_t count = 1;
    while (count < limit && pages[count].copy == pages[0].copy + count * k_page_bytes)
        ++count;
    std::span<const std::byte> bytes(pages[0].bytes, k_page_bytes);
    if (count > 1) {
        staging.clear();
        for (const placed_page& page : pages.first(count))
            staging.insert(staging.end(), page.bytes, page.bytes + k_page_bytes);
        bytes = staging;
    }
    REM_TRY(file.write("store: apply", pages[0].copy, bytes));
    return count;
}

result<void> write_superblock(os::file& file, sticky_sync& syncs, const format::superblock& super) {
    const std::uint64_t place = super.sequence % 2; // I3: the current superblock stays valid
    REM_TRY(file.write("store: superblock", place * format::k_superblock_bytes, std::as_bytes(std::span(&super, 1))));
    return syncs.sync("store: sync superblock");
}

publication::publication(os::file& file, sticky_sync& syncs, std::vector<placed_page> pages,
                         std::vector<planned_write> nodes, std::optional<planned_write> map,
                         const format::superblock& next)
    : file_(file),
      syncs_(syncs),
      pages_(std::move(pages)),
      nodes_(std::move(nodes)),
      map_(std::move(map)),
      next_(next) {}

result<void> publication::step(std::uint64_t bytes_max) {
    if (stage_ == stage::pages && written_pages_ < pages_.size())
        return write_pages(bytes_max);
    if (stage_ == stage::pages)
        stage_ = stage::nodes;
    if (stage_ == stage::nodes && written_nodes_ < nodes_.size())
        return write_nodes(bytes_max);
    if (stage_ == stage::nodes)
        stage_ = map_ ? stage::map : stage::image_sync;
    switch (stage_) {
    case stage::map:
        REM_TRY(file_.write("store: chunk map", map_->offset, map_->bytes));
        stage_ = stage::image_sync;
        return {};
    case stage::image_sync:
        REM_TRY(syncs_.sync("store: sync image")); // I3
        stage_ = stage::superblock;
        return {};
    case stage::superblock:
        REM_TRY(write_superblock(file_, syncs_, next_));
        stage_ = stage::done;
        return {};
    default:
        return {};
    }
}

result<void> publication::carry_out() {
    while (!is_done())
        REM_TRY(step());
    return {};
}

// begin_sync() spreads the work. Otherwise the final sync would write everything at once, and commits would wait for
// the disk to write their log.
result<void> publication::write_pages(std::uint64_t bytes_max) {
    const std::size_t first = written_pages_;
    for (std::uint64_t done = 0; done < bytes_max && written_pages_ < pages_.size();) {
        auto count = write_run(file_, std::span(pages_).subspan(written_pages_), bytes_max - done, staging_);
        if (!count)
            return count.error();
        written_pages_ += *count;
        done += *count * k_page_bytes;
    }
    if (written_pages_ != first) {
        const std::uint64_t begin = pages_[first].copy;
        file_.begin_sync(begin, pages_[written_pages_ - 1].copy + k_page_bytes - begin);
    }
    return {};
}

result<void> publication::write_nodes(std::uint64_t bytes_max) {
    for (std::uint64_t done = 0; done < bytes_max && written_nodes_ < nodes_.size(); ++written_nodes_) {
        const planned_write& node = nodes_[written_nodes_];
        REM_TRY(file_.write("store: checksum table", node.offset, node.bytes)); // I1: no superblock names this place
        done += node.bytes.size();
        file_.begin_sync(node.offset, node.bytes.size());
    }
    return {};
}

} // namespace remanence::store
