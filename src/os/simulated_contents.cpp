#include "os/simulated_contents.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace remanence::os {

namespace {

constexpr std::uint64_t k_word_bits = 64;

} // namespace

simulated_contents::simulated_contents() : memfd_(::memfd_create("simulated disk", MFD_CLOEXEC)) {
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
    has_data_.resize(pages / k_word_bits);
    page_hashes_.resize(pages);
    is_changed_.resize(pages);
}

int simulated_contents::descriptor(std::uint64_t end) {
    make_room(end);
    return memfd_;
}

bool simulated_contents::is_data(std::uint64_t page) const {
    const auto word = static_cast<std::size_t>(page / k_word_bits);
    return word < has_data_.size() && (has_data_[word] >> page % k_word_bits & 1) != 0;
}

void simulated_contents::set_data(std::uint64_t page, bool data) {
    const std::uint64_t bit = std::uint64_t{1} << page % k_word_bits;
    std::uint64_t& word = has_data_[static_cast<std::size_t>(page / k_word_bits)];
    word = data ? word | bit : word & ~bit;
}

std::uint64_t simulated_contents::end_of_run(std::uint64_t page) const {
    const std::uint64_t same = is_data(page) ? ~std::uint64_t{0} : 0;
    auto word = static_cast<std::size_t>(page / k_word_bits);
    std::uint64_t others = (has_data_[word] ^ same) >> page % k_word_bits << page % k_word_bits;
    while (others == 0 && ++word < has_data_.size())
        others = has_data_[word] ^ same;
    return word * k_word_bits + (others != 0 ? static_cast<unsigned>(std::countr_zero(others)) : 0);
}

template <class F>
void simulated_contents::for_each_run(byte_range range, F f) const {
    for (std::uint64_t at = range.offset; at < range.end();) {
        const bool data = at < capacity_ && is_data(at / k_page_bytes);
        std::uint64_t end = at < capacity_ ? end_of_run(at / k_page_bytes) * k_page_bytes : capacity_;
        end = end < capacity_ || data ? std::min(end, range.end()) : range.end(); // nothing was written behind it
        f(at, end, data);
        at = end;
    }
}

void simulated_contents::read(std::uint64_t offset, std::span<std::byte> into) const {
    for_each_run({offset, into.size()}, [&](std::uint64_t begin, std::uint64_t end, bool data) {
        if (data)
            std::memcpy(into.data() + (begin - offset), bytes_ + begin, end - begin);
        else
            std::memset(into.data() + (begin - offset), 0, end - begin);
    });
}

void simulated_contents::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty())
        return;
    make_room(offset + bytes.size());
    std::memcpy(bytes_ + offset, bytes.data(), bytes.size());
    for (std::uint64_t page = offset / k_page_bytes; page * k_page_bytes < offset + bytes.size(); ++page)
        set_data(page, true);
    note_changed({offset, bytes.size()});
}

void simulated_contents::zero(byte_range range) {
    for_each_run(range, [&](std::uint64_t begin, std::uint64_t end, bool data) {
        if (!data)
            return;
        std::memset(bytes_ + begin, 0, end - begin);
        note_changed({begin, end - begin});
        for (std::uint64_t page = align_up(begin, k_page_bytes); page + k_page_bytes <= end; page += k_page_bytes)
            set_data(page / k_page_bytes, false);
    });
}

std::vector<byte_range> simulated_contents::data_within(byte_range range) const {
    std::vector<byte_range> found;
    for_each_run(range, [&](std::uint64_t begin, std::uint64_t end, bool data) {
        if (data)
            found.push_back({begin, end - begin});
    });
    return found;
}

void simulated_contents::note_changed(byte_range range) {
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
        const std::uint64_t hash = is_data(page) && !is_all_zeros(bytes) ? checksum64(bytes, page) : 0;
        fingerprint_ += hash - page_hashes_[index];
        page_hashes_[index] = hash;
        is_changed_[index] = false;
    }
    changed_pages_.clear();
    return fingerprint_;
}

} // namespace remanence::os
