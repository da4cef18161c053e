// Before-images: copies of the committed bytes of pages, held while the newest commit of a page is in the log but not
// yet in the image (R1).
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
    /// The memory must outlive this object.
    before_images(before_image_memory& memory, std::uint64_t chunk_pages)
        : memory_(memory), chunk_pages_(static_cast<std::size_t>(chunk_pages)) {}
    before_images(const before_images&) = delete;
    before_images& operator=(const before_images&) = delete;
    ~before_images() = default;

    /// Returns the before-image of a page, or null.
    [[nodiscard]] std::byte* find(std::uint64_t page) const;
    /// True if the page has a before-image whose content is newer than the image's.
    [[nodiscard]] bool has_newer(std::uint64_t page) const;
    /// True if a page of the chunk has a before-image.
    [[nodiscard]] bool has_any_in(std::uint64_t chunk) const { return chunks_.contains(chunk); }
    /// Says that about `pages` pages will be allocated next, so that one block is reserved for them.
    void expect(std::uint64_t pages) { expected_ = pages; }
    /// Returns memory for `count` consecutive pages. The caller must pass each of them to insert() or to discard().
    std::byte* allocate(std::uint64_t count);
    /// Frees a page's memory. Discard the last page of a run first: then a run without any before-image is free as a
    /// whole again, and memory does not accumulate.
    void discard(std::byte* page);
    void insert(std::uint64_t page, std::byte* bytes);
    /// Notes that the before-image is newer than the image and has this checksum.
    void set_checksum(std::uint64_t page, std::uint32_t checksum);

    /// Returns the before-images whose content is newer than the image's, sorted by page. Valid until clear() of the
    /// object that then holds them.
    [[nodiscard]] std::vector<store::applied_page> sorted() const;
    /// Moves the before-images that are newer than the image to `frozen`, which must be empty. Forgets the others,
    /// whose content the image has.
    void freeze_into(before_images& frozen);
    /// Takes over all before-images of `other`, which uses the same memory. Precondition: this object has none.
    void take(before_images& other);
    /// Forgets the before-images of a chunk. Their memory is not free before clear().
    void forget(std::uint64_t chunk);
    [[nodiscard]] std::uint64_t bytes() const { return count_ * k_page_bytes; }
    [[nodiscard]] bool is_empty() const { return count_ == 0; }
    void clear();

private:
    struct slot {
        std::byte* bytes = nullptr;
        std::uint32_t checksum = 0; // 0: the content is still the image's
    };
    void clear_free();

    before_image_memory& memory_;
    std::size_t chunk_pages_;
    std::unordered_map<std::uint64_t, std::vector<slot>> chunks_;
    std::vector<before_image_memory::block> blocks_;
    std::uint64_t block_pages_left_ = 0; // free pages at the end of the last block
    std::byte* next_ = nullptr;
    std::vector<std::byte*> free_; // single pages
    std::uint64_t expected_ = 0;
    std::uint64_t count_ = 0;
};

} // namespace remanence::view
