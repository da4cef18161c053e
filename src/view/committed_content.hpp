// What is committed, page by page (R1): the one source for comparisons, rollback, applies and checks.
//
// Owns the before-images and the frozen before-images, and asks the image for all else. A before-image is newer than the image once it has a
// checksum; one without holds what the image has, for a change that nobody has accepted yet.
//
// A checkpoint that commits go on beside takes the before-images that there are: they are *frozen*, and the next commit of such a
// page makes another one. While they are written, nobody reads these pages from the image.
//
// Not thread-safe: all is called by who may use store and view.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "store/image.hpp"
#include "store/image_writer.hpp"
#include "view/before_image_memory.hpp"
#include "view/before_images.hpp"
#include "view/page_copies.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::view {

class committed_content {
public:
    explicit committed_content(store::image& image)
        : image_(image),
          before_images_(before_image_memory_, image.chunk_pages()),
          frozen_(before_image_memory_, image.chunk_pages()) {}

    // Reading.

    /// Returns the committed content of a page if it is in memory, else null: then the image has it.
    [[nodiscard]] const std::byte* copy(std::uint64_t page) const {
        const std::byte* const before_image = before_images_.find(page);
        return before_image != nullptr ? before_image : frozen_.find(page);
    }
    [[nodiscard]] bool is_frozen_copy(std::uint64_t page) const {
        return before_images_.find(page) == nullptr && frozen_.find(page) != nullptr;
    }
    /// Whether the image lacks the committed content of a page.
    [[nodiscard]] bool is_newer_than_image(std::uint64_t page) const {
        return before_images_.find(page) != nullptr || (!frozen_is_in_image_ && frozen_.find(page) != nullptr);
    }
    /// Whether the image lacks that of a page of the chunk.
    [[nodiscard]] bool has_newer_in(std::uint64_t chunk) const {
        return before_images_.has_any_in(chunk) || is_being_written(chunk) || (copies_ != nullptr && is_copied(chunk));
    }
    /// Whether a checkpoint is writing pages of the chunk to where it is.
    [[nodiscard]] bool is_being_written(std::uint64_t chunk) const {
        return !frozen_is_in_image_ && frozen_.has_any_in(chunk);
    }
    /// Whether a commit changed the page since the last checkpoint began, and since its chunk moved: then there is room for it
    /// where it lies in the file.
    [[nodiscard]] bool was_committed_in_log(std::uint64_t page) const { return before_images_.has_newer(page); }
    /// Reads pages of which copy() has none. `kept`, if not null, is what a tracker has kept of the one page: it counts only if
    /// the image's checksum says so.
    result<void> read_image(heap_range pages, const std::byte* kept, std::byte* into);
    /// Whether these bytes are what the image should have; their checksum is `checksum`, or 0 for zeros.
    result<bool> is_as_in_image(std::uint64_t page, std::span<const std::byte> bytes, std::uint32_t checksum);

    // Before-images, made by who compares memory with what is committed.

    /// So many, at most, are likely to be made next.
    void expect_before_images(std::uint64_t pages) { before_images_.expect(pages); }
    /// Returns memory for `count` pages in a row, each to become a before-image by add_before_image() or to be given back by discard_before_image().
    std::byte* allocate_before_images(std::uint64_t count) { return before_images_.allocate(count); }
    void discard_before_image(std::byte* bytes) { before_images_.discard(bytes); } // the last page comes first
    void add_before_image(std::uint64_t page, std::byte* bytes) { before_images_.insert(page, bytes); }
    /// A frozen before-image stays as it is: what is committed next becomes another one.
    void add_before_image_of_frozen(std::uint64_t page);
    /// `changes`, whose bytes are there, are committed.
    void renew(const change::change_set& changes, const page_source& from);
    /// The same, of memory at `base`, and makes the checksums that are to be made: of pages of which other bytes may have changed, and
    /// are not committed.
    void renew_declared(change::change_set& changes, const std::byte* base);
    /// The page in this memory was committed elsewhere.
    void take(std::uint64_t page, const std::byte* bytes, std::uint32_t checksum);
    /// The image has all that is committed of the chunk.
    void forget(std::uint64_t chunk) {
        before_images_.forget(chunk);
        frozen_.forget(chunk);
    }

    // Copies of pages that are committed already, but in no record yet. What differs in them becomes before-images; until then nobody asks
    // for the committed content but who compares them, who freezes, and who maps chunks.

    [[nodiscard]] page_copies new_copies() { return page_copies(before_image_memory_); }
    /// These are such copies, or none are (null). They stay where they are.
    void note_copies(const page_copies* copies) { copies_ = copies; }
    [[nodiscard]] bool has_copies() const { return copies_ != nullptr; }

    // Checkpoints.

    /// Returns the before-images that are newer than the image, sorted. Precondition: no others are frozen.
    [[nodiscard]] std::vector<store::applied_page> before_image_pages() const;
    /// Freezes the before-images that are newer than the image. Precondition: none are frozen.
    void freeze();
    /// Returns those, sorted; valid and unchanged until thaw(), commits or not.
    [[nodiscard]] std::span<const store::applied_page> frozen() const { return frozen_pages_; }
    [[nodiscard]] bool has_frozen() const { return !frozen_.is_empty(); }
    /// The image holds the frozen before-images now.
    void thaw() noexcept { frozen_is_in_image_ = true; }
    /// Whether there are frozen before-images which the image has.
    [[nodiscard]] bool has_thawed() const { return frozen_is_in_image_ && !frozen_.is_empty(); }
    void drop_frozen();
    /// The image holds every before-image now.
    void drop_all();
    /// The image holds every before-image now but those of these pages, which are sorted. Precondition: none are frozen.
    void drop_all_but(std::span<const std::uint64_t> newer);

    [[nodiscard]] std::uint64_t before_image_bytes() const {
        return before_images_.bytes() + (frozen_is_in_image_ ? 0 : frozen_.bytes());
    }
    /// Returns the bytes that are held for what the image has, until it is settled.
    [[nodiscard]] std::uint64_t unsettled_bytes() const { return frozen_is_in_image_ ? frozen_.bytes() : 0; }

private:
    [[nodiscard]] bool is_copied(std::uint64_t chunk) const {
        return copies_->has_any_in({chunk * image_.chunk_bytes(), image_.chunk_bytes()});
    }

    store::image& image_;
    before_image_memory before_image_memory_;
    const page_copies* copies_ = nullptr;
    before_images before_images_;
    before_images frozen_;                          // until they are settled, though the image has them since thaw()
    bool frozen_is_in_image_ = false;               // since thaw()
    std::vector<store::applied_page> frozen_pages_; // of frozen_
};

} // namespace remanence::view
