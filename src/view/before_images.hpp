// Before-images: copies of the committed bytes of pages whose newest commit is in the log but not yet in the image (R1).
#pragma once

#include "base/units.hpp"
#include "store/image_writer.hpp"
#include "view/before_image_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace remanence::view {

class before_images {
public:
    /// The memory must outlive it.
    before_images(before_image_memory& memory, std::uint64_t chunk_pages)
        : memory_(memory), chunk_pages_(static_cast<std::size_t>(chunk_pages)) {}
    before_images(const before_images&) = delete;
    before_images& operator=(const before_images&) = delete;
    ~before_images() = default;

    /// The before-image of a page, or null.
    [[nodiscard]] std::byte* find(std::uint64_t page) const;
    /// Whether it has one whose content is newer than the image's.
    [[nodiscard]] bool has_newer(std::uint64_t page) const;
    /// Whether a page of the chunk has one.
    [[nodiscard]] bool has_any_in(std::uint64_t chunk) const { return chunks_.contains(chunk); }
    /// So many pages, at most, are likely to be allocated next.
    void expect(std::uint64_t pages) { expected_ = pages; }
    /// Memory for `count` pages in a row, to become before-images by insert() or to be given back by discard().
    std::byte* allocate(std::uint64_t count);
    /// Last page first: then runs of which nothing became a before-image are whole again, and no memory gathers.
    void discard(std::byte* page);
    void insert(std::uint64_t page, std::byte* bytes);
    /// The before-image has newer content than the image, with this checksum.
    void set_checksum(std::uint64_t page, std::uint32_t checksum);

    /// Those whose content is newer than the image's, sorted by page. Valid until clear(), here or where they were moved.
    [[nodiscard]] std::vector<store::applied_page> sorted() const;
    /// Moves those to `frozen`, where there must be none, and forgets the others: the image has their content.
    void freeze_into(before_images& frozen);
    /// Takes all of another one, of the same memory. Precondition: there are none here.
    void take(before_images& other);
    /// Those of a chunk are none any more; their memory stays in use until clear().
    void forget(std::uint64_t chunk);
    [[nodiscard]] std::uint64_t bytes() const { return count_ * k_page_bytes; }
    [[nodiscard]] bool is_empty() const { return count_ == 0; }
    void clear();

private:
    struct slot {
        std::byte* bytes = nullptr;
        std::uint32_t checksum = 0; // 0: still the image's content
    };
    void clear_free();

    before_image_memory& memory_;
    std::size_t chunk_pages_;
    std::unordered_map<std::uint64_t, std::vector<slot>> chunks_;
    std::vector<before_image_memory::block> blocks_;
    std::uint64_t block_pages_left_ = 0; // at the end of the last block
    std::byte* next_ = nullptr;
    std::vector<std::byte*> free_; // single pages
    std::uint64_t expected_ = 0;
    std::uint64_t count_ = 0;
};

} // namespace remanence::view
