#include "content.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::crash {

std::uint64_t generator::next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void generator::fill(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const std::uint64_t word = next();
        const std::size_t n = std::min(sizeof word, bytes.size());
        std::memcpy(bytes.data(), &word, n);
        bytes = bytes.subspan(n);
    }
}

std::uint64_t content::bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [offset, bytes] : pieces_)
        sum += bytes->size();
    return sum;
}

void content::erase(std::size_t index) {
    const block gone = blocks_[index];
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
    erase(pieces_.lower_bound(gone.offset), pieces_.lower_bound(gone.offset + gone.bytes));
}

void content::erase(pieces::const_iterator first, pieces::const_iterator last) {
    for (auto each = first; each != last; ++each)
        fingerprint_ -= fingerprint_of(*each);
    pieces_.erase(first, last);
}

std::uint64_t content::fingerprint_of(const pieces::value_type& each) { return checksum64(*each.second, each.first); }

void content::erase_root() {
    REM_CHECK(blocks_.empty());
    erase(pieces_.lower_bound(root_), pieces_.upper_bound(root_));
    root_ = 0;
}

void content::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    auto at = pieces_.upper_bound(offset);
    if (at != pieces_.begin()) {
        --at;
        const std::uint64_t end = at->first + at->second->size();
        if (offset < end) {
            REM_CHECK(offset + bytes.size() <= end);
            fingerprint_ -= fingerprint_of(*at);
            auto changed = std::make_shared<std::vector<std::byte>>(*at->second);
            std::copy(bytes.begin(), bytes.end(), changed->begin() + static_cast<std::ptrdiff_t>(offset - at->first));
            at->second = std::move(changed);
            fingerprint_ += fingerprint_of(*at);
            return;
        }
    }
    const auto covered = pieces_.lower_bound(offset + bytes.size());
    if (covered != pieces_.begin()) {
        const auto& last = *std::prev(covered);
        REM_CHECK(last.first + last.second->size() <= std::max(offset, last.first) + bytes.size());
    }
    erase(pieces_.lower_bound(offset), covered);
    at = pieces_.emplace(offset, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end())).first;
    fingerprint_ += fingerprint_of(*at);
}

std::optional<std::string> content::difference(const std::byte* base) const {
    for (const auto& [offset, bytes] : pieces_) {
        if (std::memcmp(base + offset, bytes->data(), bytes->size()) == 0)
            continue;
        const auto [expected, found] = std::mismatch(bytes->begin(), bytes->end(), base + offset);
        return "the byte at heap offset " + std::to_string(found - base) + " is " +
               std::to_string(std::to_integer<int>(*found)) + " instead of " +
               std::to_string(std::to_integer<int>(*expected)) + ", in the piece of " + std::to_string(bytes->size()) +
               " bytes from " + std::to_string(offset);
    }
    if (!has_root())
        return {};
    // The bytes are right, so the links are safe to follow; and they must lead where the program put them.
    const auto* root = reinterpret_cast<const list_root*>(base + root_);
    std::uint64_t at = root->first;
    for (const block& expected : blocks_) {
        if (at != expected.offset)
            return "the list of blocks is broken";
        at = reinterpret_cast<const list_block*>(base + at)->next;
    }
    if (at != 0 || root->count != blocks_.size())
        return "the list of blocks has the wrong length";
    return {};
}

bool content::overlaps(std::uint64_t offset, std::uint64_t bytes) const {
    const auto meets = [&](std::uint64_t begin, std::uint64_t size) {
        return offset < begin + size && begin < offset + bytes;
    };
    if (has_root() && meets(root_, sizeof(list_root)))
        return true;
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [&](const block& each) { return meets(each.offset, each.bytes); });
}

} // namespace remanence::crash
