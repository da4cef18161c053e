// What the memory of each chunk is mapped from. That of a heap just opened is known by ranges, so that opening does not take a
// step for each chunk. May use: base.
#pragma once

#include "base/range.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace remanence::view {

/// Anonymous, or mapped from the file: where the chunk is, where it was before it moved, or where it was spilled to, though it
/// is stored. That of a chunk without a place in the file counts as anonymous, too, if it is a hole of the file.
enum class mapping : std::uint8_t { anonymous, home, former_home, next_home };

class chunk_mappings {
public:
    /// Of all chunks that at() was not called for: these are mapped from home, the others anonymous.
    void begin_with(std::vector<chunk_range> at_home) { at_home_ = std::move(at_home); }

    [[nodiscard]] mapping of(std::uint64_t chunk) const noexcept {
        const auto block = static_cast<std::size_t>(chunk / k_block_chunks);
        if (block < blocks_.size() && blocks_[block] != nullptr)
            return (*blocks_[block])[chunk % k_block_chunks];
        return as_begun(chunk);
    }
    /// Stays where it is. Needs memory the first time.
    [[nodiscard]] mapping& at(std::uint64_t chunk) {
        const auto block = static_cast<std::size_t>(chunk / k_block_chunks);
        if (blocks_.size() <= block)
            blocks_.resize(block + 1);
        if (blocks_[block] == nullptr) {
            auto made = std::make_unique<chunks>();
            for (std::uint64_t i = 0; i < k_block_chunks; ++i)
                (*made)[i] = as_begun(block * k_block_chunks + i);
            blocks_[block] = std::move(made);
        }
        return (*blocks_[block])[chunk % k_block_chunks];
    }

private:
    static constexpr std::uint64_t k_block_chunks = 1024;
    using chunks = std::array<mapping, k_block_chunks>;

    [[nodiscard]] mapping as_begun(std::uint64_t chunk) const noexcept {
        const auto behind = std::ranges::upper_bound(at_home_, chunk, {}, &chunk_range::first);
        return behind != at_home_.begin() && chunk < std::prev(behind)->end() ? mapping::home : mapping::anonymous;
    }

    std::vector<chunk_range> at_home_; // sorted
    std::vector<std::unique_ptr<chunks>> blocks_;
};

} // namespace remanence::view
