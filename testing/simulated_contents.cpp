#include "testing/simulated_contents.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/range.hpp"
#include "os/descriptor.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace remanence::simulation {

simulated_contents::simulated_contents()
    : memfd_(os::open_above_standard([] { return ::memfd_create("simulated disk", MFD_CLOEXEC); })) {
    REM_CHECK(memfd_ >= 0);
}

simulated_contents::~simulated_contents() {
    if (bytes_ != nullptr)
        ::munmap(bytes_, capacity_);
    ::close(memfd_);
}

void simulated_contents::make_room(std::uint64_t end) {
    if (end <= capacity_)
        return;
    std::uint64_t grown = std::max<std::uint64_t>(capacity_, 16 * MiB);
    while (grown < end)
        grown *= 2;
    REM_CHECK(::ftruncate(memfd_, static_cast<off_t>(grown)) == 0);
    if (bytes_ != nullptr)
        ::munmap(bytes_, capacity_);
    void* got = ::mmap(nullptr, grown, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memfd_, 0);
    REM_CHECK(got != MAP_FAILED);
    bytes_ = static_cast<std::byte*>(got);
    capacity_ = grown;
    const auto pages = static_cast<std::size_t>(grown / k_page_bytes);
    page_hashes_.resize(pages);
    is_changed_.resize(pages);
}

int simulated_contents::descriptor(std::uint64_t end) {
    make_room(end);
    return memfd_;
}

void simulated_contents::read(std::uint64_t offset, std::span<std::byte> into) const {
    std::uint64_t at = offset;
    const auto zeros_until = [&](std::uint64_t end) {
        if (at < end)
            std::memset(into.data() + (at - offset), 0, end - at);
        at = end;
    };
    data_.for_each_within({offset, into.size()}, [&](std::uint64_t begin, std::uint64_t end) {
        zeros_until(begin);
        std::memcpy(into.data() + (begin - offset), bytes_ + begin, end - begin);
        at = end;
    });
    zeros_until(offset + into.size());
}

void simulated_contents::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty())
        return;
    make_room(offset + bytes.size());
    std::memcpy(bytes_ + offset, bytes.data(), bytes.size());
    data_.add(block_set::blocks_of({offset, bytes.size()}));
    note_changed({offset, bytes.size()});
}

void simulated_contents::zero(file_range range) {
    for (const file_range& data : data_within(range)) {
        std::memset(bytes_ + data.offset, 0, data.bytes);
        note_changed(data);
        const std::uint64_t begin = align_up(data.offset, k_page_bytes);
        if (const std::uint64_t end = align_down(data.end(), k_page_bytes); begin < end)
            data_.remove({begin, end - begin});
    }
}

std::vector<file_range> simulated_contents::data_within(file_range range) const {
    std::vector<file_range> found;
    data_.for_each_within(range,
                          [&](std::uint64_t begin, std::uint64_t end) { found.push_back({begin, end - begin}); });
    return found;
}

void simulated_contents::note_changed(file_range range) {
    for (std::uint64_t page = range.offset / k_page_bytes; page * k_page_bytes < range.end(); ++page) {
        if (is_changed_[static_cast<std::size_t>(page)])
            continue;
        is_changed_[static_cast<std::size_t>(page)] = true;
        changed_pages_.push_back(page);
    }
}

std::uint64_t simulated_contents::fingerprint() {
    for (const std::uint64_t page : changed_pages_) {
        const auto index = static_cast<std::size_t>(page);
        const std::span<const std::byte> bytes(bytes_ + page * k_page_bytes, k_page_bytes);
        const std::uint64_t hash = !is_all_zeros(bytes) ? checksum64(bytes, page) : 0;
        fingerprint_ += hash - page_hashes_[index];
        page_hashes_[index] = hash;
        is_changed_[index] = false;
    }
    changed_pages_.clear();
    return fingerprint_;
}

} // namespace remanence::simulation
