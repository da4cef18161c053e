#include "testing/crash_walk.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace remanence::simulation {

using kind = disk_operation::kind;

bool pending_operations::covers(std::uint32_t index, std::uint32_t earlier_index) const {
    const disk_operation& sync = trace_[index];
    const disk_operation& earlier = trace_[earlier_index];
    if (sync.what == kind::sync)
        return !earlier.is_of_directory() && earlier.inode == sync.inode; // S1
    if (sync.what == kind::sync_written)
        return earlier_index == written_before(trace_.first(index), sync);                                         // S6
    return earlier.is_of_directory() && directory_of(earlier.to.empty() ? earlier.path : earlier.to) == sync.path; // S2
}

bool pending_operations::advance(std::vector<persisted_part>& now_durable) {
    now_durable.clear();
    const disk_operation& done = trace_[position_];
    if (done.is_change())
        pending_.push_back(position_);
    position_++;
    if (!done.is_sync())
        return false;
    const auto is_covered = [&](std::uint32_t index) { return covers(position_ - 1, index); };
    if (std::none_of(pending_.begin(), pending_.end(), is_covered))
        return false;

    if (done.failed) { // S4
        if (done.what == kind::sync_directory)
            return false;
        if (after_failure_ == failed_sync::btrfs && done.what == kind::sync) {
            std::erase_if(pending_, is_covered);
            return true;
        }
        for (const std::uint32_t index : pending_)
            if (is_covered(index))
                orphans_.push_back(index);
        return false;
    }
    std::vector<std::uint32_t> left;
    for (const std::uint32_t index : pending_) {
        if (!is_covered(index))
            left.push_back(index);
        else if (std::find(orphans_.begin(), orphans_.end(), index) == orphans_.end())
            now_durable.push_back({.operation = index});
        else if (after_failure_ == failed_sync::ext4)
            now_durable.push_back({.operation = index, .data = false});
    }
    pending_ = std::move(left);
    return true;
}

crash_walk::crash_walk(simulated_disk& disk, std::span<const disk_operation> trace)
    : disk_(disk), trace_(trace), start_(disk.now()), pending_(trace, disk.after_failed_sync()) {}

crash_walk::~crash_walk() { disk_.rewind(start_); }

void crash_walk::advance_to(std::uint32_t position) {
    REM_CHECK(position >= pending_.position() && position <= trace_.size());
    std::vector<persisted_part> durable;
    while (pending_.position() < position) {
        if (!pending_.advance(durable))
            continue;
        drop_built(0);
        for (const persisted_part& part : durable)
            disk_.apply(trace_[part.operation], part);
    }
}

void crash_walk::drop_built(std::size_t parts_kept) {
    if (parts_kept >= built_.size())
        return;
    disk_.rewind(built_[parts_kept].before);
    built_.erase(built_.begin() + static_cast<std::ptrdiff_t>(parts_kept), built_.end());
}

void crash_walk::build(std::span<const persisted_part> parts) {
    std::size_t same = 0;
    while (same < parts.size() && same < built_.size() && parts[same] == built_[same].part)
        same++;
    drop_built(same);
    for (const persisted_part& part : parts.subspan(same)) {
        built_.push_back({part, disk_.now()});
        disk_.apply(trace_[part.operation], part);
    }
}

void crash_walk::build_prefix(std::uint32_t sectors_of_last) {
    scratch_.clear();
    for (const std::uint32_t index : pending())
        scratch_.push_back({.operation = index});
    if (!scratch_.empty())
        scratch_.back().sectors_end = sectors_of_last;
    build(scratch_);
}

} // namespace remanence::simulation
