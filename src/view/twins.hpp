// Twins: copies of the committed bytes of pages whose newest commit is in the log but not yet in the image (R1).
// May use: base, store (for the form in which pages are folded).
#pragma once

#include "base/units.hpp"
#include "store/heap_file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace remanence::view {

class twins {
public:
    explicit twins(std::uint64_t chunk_pages) : chunk_pages_(static_cast<std::size_t>(chunk_pages)) {}

    /// The twin of a page, or null.
    [[nodiscard]] std::byte* find(std::uint64_t page) const;
    /// Memory for `count` pages in a row, to become twins by insert() or to be given back by discard().
    std::byte* allocate(std::uint64_t count);
    /// Last page first: then runs of which nothing became a twin are whole again, and no memory gathers.
    void discard(std::byte* page);
    void insert(std::uint64_t page, std::byte* bytes);
    /// The twin has newer content than the image, with this checksum.
    void set_checksum(std::uint64_t page, std::uint32_t checksum);

    /// Those whose content is newer than the image's, sorted by page. Valid until clear().
    [[nodiscard]] std::vector<store::folded_page> sorted() const;
    [[nodiscard]] std::uint64_t bytes() const { return count_ * k_page_bytes; }
    void clear();

private:
    struct slot {
        std::byte* bytes = nullptr;
        std::uint32_t checksum = 0; // 0: still the image's content
    };
    struct free_deleter {
        void operator()(std::byte* block) const;
    };
    static constexpr std::uint64_t k_first_block_pages = 64;
    static constexpr std::uint64_t k_block_pages = 512; // 2 MiB: a huge page

    std::size_t chunk_pages_;
    std::unordered_map<std::uint64_t, std::vector<slot>> chunks_;
    std::vector<std::unique_ptr<std::byte, free_deleter>> blocks_;
    std::uint64_t block_pages_left_ = 0; // at the end of the last block
    std::byte* next_ = nullptr;
    std::vector<std::byte*> free_; // single pages
    std::uint64_t count_ = 0;
};

} // namespace remanence::view
