// What is committed, page by page (R1). Comparisons, rollback, applying and checks all read it here.
//
// Owns the before-images and the frozen before-images; everything else is in the image. A before-image with a checksum
// is newer than the image. One without a checksum holds what the image has, for a change that is not accepted yet.
//
// A checkpoint that runs beside commits takes the existing before-images: they are *frozen*. The next commit of such a
// page makes another one. Until they are written, nobody reads these pages from the image.
//
// Not thread-safe: the caller must have the right to use store and view.
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
    /// True if the image lacks the committed content of the page.
    [[nodiscard]] bool is_newer_than_image(std::uint64_t page) const {
        return before_images_.find(page) != nullptr || (!frozen_is_in_image_ && frozen_.find(page) != nullptr);
    }
    /// True if the image lacks the committed content of a page of the chunk.
    [[nodiscard]] bool has_newer_in(std::uint64_t chunk) const {
        return before_images_.has_any_in(chunk) || is_being_written(chunk) || (copies_ != nullptr && is_copied(chunk));
    }
    /// True if a checkpoint is writing pages of the chunk in place.
    [[nodiscard]] bool is_being_written(std::uint64_t chunk) const {
        return !frozen_is_in_image_ && frozen_.has_any_in(chunk);
    }
    /// True if a commit put changes of the page into the log since the last checkpoint began and since the chunk moved.
    /// Then the page has room in the file.
    [[nodiscard]] bool was_committed_in_log(std::uint64_t page) const { return before_images_.has_newer(page); }
    /// Reads pages for which copy() returns null. `kept`, if not null, is what the tracker kept of the one page; it is
    /// used only if it fits the image's checksum.
    result<void> read_image(heap_range pages, const std::byte* kept, std::byte* into);
    /// True if these bytes are what the image should have. `checksum` is theirs, or 0 for zeros.
    result<bool> is_as_in_image(std::uint64_t page, std::span<const std::byte> bytes, std::uint32_t checksum);

    // Before-images, which the comparers make.

    /// Announces that up to `pages` will probably be made next.
    void expect_before_images(std::uint64_t pages) { before_images_.expect(pages); }
    /// Returns memory for `count` consecutive pages. Each becomes a before-image by add_before_image(), or is returned
    /// by discard_before_image().
    std::byte* allocate_before_images(std::uint64_t count) { return before_images_.allocate(count); }
    void discard_before_image(std::byte* bytes) { before_images_.discard(bytes); } // last page first
    void add_before_image(std::uint64_t page, std::byte* bytes) { before_images_.insert(page, bytes); }
    /// Makes a before-image that is a copy of the frozen one, for the next commit. The frozen one must not change.
    void add_before_image_of_frozen(std::uint64_t page);
    /// Updates the before-images: `changes`, whose bytes are in `from`, are committed.
    void renew(const change::change_set& changes, const page_source& from);
    /// As renew(), for memory at `base`. Also makes the checksums that are still to be made: those of pages that may
    /// have other, uncommitted changes.
    void renew_declared(change::change_set& changes, const std::byte* base);
    /// Notes that another process committed the page with these bytes.
    void take(std::uint64_t page, const std::byte* bytes, std::uint32_t checksum);
    /// Notes that the image has everything committed in the chunk.
    void forget(std::uint64_t chunk) {
        before_images_.forget(chunk);
        frozen_.forget(chunk);
    }

    // Copies of pages that are committed, but in no record yet. What differs in them becomes before-images later. Until
    // then only their comparer, freeze() and code that maps chunks may ask for committed content.

    [[nodiscard]] page_copies new_copies() { return page_copies(before_image_memory_); }
    /// Registers the copies; null: there are none now. They must stay at their address.
    void note_copies(const page_copies* copies) { copies_ = copies; }
    [[nodiscard]] bool has_copies() const { return copies_ != nullptr; }

    // Checkpoints.

    /// Returns the before-images that are newer than the image, sorted. Precondition: none are frozen.
    [[nodiscard]] std::vector<store::applied_page> before_image_pages() const;
    /// Freezes the before-images that are newer than the image. Precondition: none are frozen.
    void freeze();
    /// Returns the frozen before-images, sorted. Valid and unchanged until thaw(), even if there are commits.
    [[nodiscard]] std::span<const store::applied_page> frozen() const { return frozen_pages_; }
    [[nodiscard]] bool has_frozen() const { return !frozen_.is_empty(); }
    /// Notes that the image now has the frozen before-images.
    void thaw() noexcept { frozen_is_in_image_ = true; }
    /// True if there are frozen before-images that the image has.
    [[nodiscard]] bool has_thawed() const { return frozen_is_in_image_ && !frozen_.is_empty(); }
    void drop_frozen();
    /// Forgets all before-images: the image has them.
    void drop_all();
    /// Forgets all before-images but those of these pages (sorted): the image has them. Precondition: none are frozen.
    void drop_all_but(std::span<const std::uint64_t> newer);

    [[nodiscard]] std::uint64_t before_image_bytes() const {
        return before_images_.bytes() + (frozen_is_in_image_ ? 0 : frozen_.bytes());
    }
    /// Returns the bytes of frozen before-images that the image has and that are not settled yet.
    [[nodiscard]] std::uint64_t unsettled_bytes() const { return frozen_is_in_image_ ? frozen_.bytes() : 0; }

private:
    [[nodiscard]] bool is_copied(std::uint64_t chunk) const {
        return copies_->has_any_in({chunk * image_.chunk_bytes(), image_.chunk_bytes()});
    }

    store::image& image_;
    before_image_memory before_image_memory_;
    const page_copies* copies_ = nullptr;
    before_images before_images_;
    before_images frozen_;                          // until settled, although the image has them since thaw()
    bool frozen_is_in_image_ = false;               // since thaw()
    std::vector<store::applied_page> frozen_pages_; // of frozen_
};

} // namespace remanence::view
