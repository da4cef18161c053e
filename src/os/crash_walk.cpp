#include "os/crash_walk.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace remanence::os {

namespace {

using kind = disk_operation::kind;

} // namespace

crash_walk::crash_walk(simulated_disk& disk, std::span<const disk_operation> trace)
    : disk_(disk), trace_(trace), start_(disk.now()) {}

crash_walk::~crash_walk() { disk_.rewind(start_); }

void crash_walk::advance_to(std::uint32_t position) {
    REM_CHECK(position >= position_ && position <= trace_.size());
    while (position_ < position)
        advance();
}

void crash_walk::advance() {
    const disk_operation& done = trace_[position_];
    if (done.is_change())
        pending_.push_back(position_);
    position_++;
    if (!done.is_sync())
        return;

    const auto covers = [&](std::uint32_t index) {
        const disk_operation& earlier = trace_[index];
        const bool of_directory =
            earlier.what == kind::create || earlier.what == kind::rename || earlier.what == kind::remove;
        if (done.what == kind::sync)
            return !of_directory && earlier.inode == done.inode;                                          // S1
        return of_directory && directory_of(earlier.to.empty() ? earlier.path : earlier.to) == done.path; // S2
    };
    if (std::none_of(pending_.begin(), pending_.end(), covers))
        return;
    if (done.failed) {
        for (const std::uint32_t index : pending_)
            if (covers(index) && done.what == kind::sync)
                orphans_.push_back(index); // S4
        return;
    }
    drop_built(0);
    std::vector<std::uint32_t> left;
    for (const std::uint32_t index : pending_) {
        if (!covers(index))
            left.push_back(index);
        else if (std::find(orphans_.begin(), orphans_.end(), index) == orphans_.end())
            disk_.apply(trace_[index]);
    }
    pending_ = std::move(left);
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
    for (const std::uint32_t index : pending_)
        scratch_.push_back({.operation = index});
    if (!scratch_.empty())
        scratch_.back().sectors_end = sectors_of_last;
    build(scratch_);
}

} // namespace remanence::os
