#include "os/simulated_inode.hpp"

#include "base/assert.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace remanence::os {

namespace {

off_t file_offset(std::uint64_t offset) { return static_cast<off_t>(offset); }

} // namespace

void block_set::add(byte_range range) {
    if (range.bytes == 0)
        return;
    remove(range);
    std::uint64_t begin = range.offset;
    std::uint64_t end = range.end();
    if (const auto next = ends_.find(end); next != ends_.end()) {
        end = next->second;
        ends_.erase(next);
    }
    if (const auto after = ends_.lower_bound(begin); after != ends_.begin()) {
        if (const auto before = std::prev(after); before->second == begin)
            begin = before->first;
    }
    ends_[begin] = end;
    bytes_ += range.bytes;
}

void block_set::remove(byte_range range) {
    auto it = ends_.upper_bound(range.offset);
    if (it != ends_.begin())
        --it;
    while (it != ends_.end() && it->first < range.end()) {
        const auto [begin, end] = *it;
        const std::uint64_t cut_begin = std::max(begin, range.offset);
        const std::uint64_t cut_end = std::min(end, range.end());
        if (cut_begin >= cut_end) {
            ++it;
            continue;
        }
        it = ends_.erase(it);
        if (begin < cut_begin)
            ends_[begin] = cut_begin;
        if (cut_end < end)
            it = ends_.emplace(cut_end, end).first;
        bytes_ -= cut_end - cut_begin;
    }
}

void simulated_disk::inode::fetch(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
        const ssize_t n = ::pread(memfd, into.data(), into.size(), file_offset(offset));
        if (n < 0 && errno == EINTR)
            continue;
        REM_CHECK(n > 0);
        into = into.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void simulated_disk::inode::fill(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(memfd, bytes.data(), bytes.size(), file_offset(offset));
        if (n < 0 && errno == EINTR)
            continue;
        REM_CHECK(n > 0);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
        size = std::max(size, offset);
    }
}

void simulated_disk::inode::zero(byte_range range) {
    if (range.bytes == 0)
        return;
    REM_CHECK(::fallocate(memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, file_offset(range.offset),
                          file_offset(range.bytes)) == 0);
}

void simulated_disk::inode::resize(std::uint64_t bytes) {
    REM_CHECK(::ftruncate(memfd, file_offset(bytes)) == 0);
    size = bytes;
}

std::vector<byte_range> simulated_disk::inode::data_within(byte_range range) const {
    std::vector<byte_range> found;
    const off_t end = file_offset(range.end());
    for (off_t at = file_offset(range.offset); at < end;) {
        const off_t data = ::lseek(memfd, at, SEEK_DATA);
        if (data < 0 || data >= end)
            break;
        at = std::min(::lseek(memfd, data, SEEK_HOLE), end);
        REM_CHECK(at > data);
        found.push_back({static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(at - data)});
    }
    return found;
}

} // namespace remanence::os
