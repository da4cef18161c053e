// The committed content of each page (R1). Comparisons, rollback, replay of other processes' commits, and checks all
// read it here.
//
// This class owns the before-images and the frozen before-images; all other content is in the image. A before-image
// with a checksum is newer than the image. One without a checksum equals the image and was made for a change that is
// not accepted yet.
//
// A checkpoint beside commits, that is, one during which commits continue, *freezes* the existing before-images. If a
// later commit changes such a page, it makes a second before-image. Until the checkpoint has written the frozen ones,
// nobody may read their pages from the image.
//
// Not thread-safe: the caller must hold the locks of store and view.
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

    /// Returns the committed content of a page if it is in memory; null if it must be read from the image.
    [[nodiscard]] const std::byte* copy(std::uint64_t page) const {
        const std::byte* const before_image = before_images_.find(page);
        return before_image != nullptr ? before_image : frozen_.find(page);
    }
    [[nodiscard]] bool is_frozen_copy(std::uint64_t page) const {
        return before_images_.find(page) == nullptr && frozen_.find(page) != nullptr;
    }
    /// True if the image lacks the committed content of the page.
    [[nodiscard]] bool is_newer_than_image(std::uint64_t page) const {
        return before_images_.find(page) != nullptr || (!frozen_is_in_image_ && frozen_.find(page) != nullptr) ||
               is_copied(page);
    }
    /// True if the image lacks the committed content of a page of the chunk.
    [[nodiscard]] bool has_newer_in(std::uint64_t chunk) const {
        return before_images_.has_any_in(chunk) || is_being_written(chunk) || has_copies_in(chunk);
    }
    /// True if a checkpoint is writing pages of the chunk in place.
    [[nodiscard]] bool is_being_written(std::uint64_t chunk) const {
        return !frozen_is_in_image_ && frozen_.has_any_in(chunk);
    }
    /// True if a commit has logged changes of the page since the last checkpoint began and since the chunk moved. If
    /// so, the page has room in the file.
    [[nodiscard]] bool was_committed_in_log(std::uint64_t page) const { return before_images_.has_newer(page); }
    /// Starts to read those of these pages that are not in memory, if they are many, so that read_image() does not wait
    /// for the device each time. `pages` must be split at chunks.
    void will_read(std::span<const heap_range> pages);
    /// Returns what will_read() would read, as places in the file. They are a hint: the chunks may move.
    [[nodiscard]] std::vector<file_range> places_to_read(std::span<const heap_range> pages) const;
    /// Reads pages for which copy() returns null. `kept`, if not null, is the tracker's copy of a single page's former
    /// content; it is used only if it fits the image's checksum.
    result<void> read_image(heap_range pages, const std::byte* kept, std::byte* into);
    /// True if these bytes are what the image should contain. `checksum` is the checksum of `bytes`, or 0 for zeros.
    result<bool> is_as_in_image(std::uint64_t page, std::span<const std::byte> bytes, std::uint32_t checksum);

    // Before-images. The comparers make them.

    /// Says that about `pages` before-images will be made next.
    void expect_before_images(std::uint64_t pages) { before_images_.expect(pages); }
    /// Returns memory for `count` consecutive pages. The caller must pass each of them to add_before_image() or to
    /// discard_before_image().
    std::byte* allocate_before_images(std::uint64_t count) { return before_images_.allocate(count); }
    void discard_before_image(std::byte* bytes) { before_images_.discard(bytes); } // discard the last page first
    void add_before_image(std::uint64_t page, std::byte* bytes) { before_images_.insert(page, bytes); }
    /// Makes a before-image that starts as a copy of the frozen one, which must not change.
    void add_before_image_of_frozen(std::uint64_t page);
    /// Makes `changes` part of the before-images, because they are committed. `from` holds their bytes.
    void renew(const change::change_set& changes, const page_source& from);
    /// As renew(), for memory at `base`. Also computes the checksums that collect_declared() has not: those of pages
    /// that may have other, uncommitted changes.
    void renew_declared(change::change_set& changes, const std::byte* base);
    /// Makes these bytes the before-image of the page, because another process committed them.
    void take(std::uint64_t page, const std::byte* bytes, std::uint32_t checksum);
    /// Notes that the image has all committed content of the chunk.
    void forget(std::uint64_t chunk) {
        ++drops_;
        before_images_.forget(chunk);
        frozen_.forget(chunk);
    }

    // Copies of pages that are committed but not in a record yet: of several commits, oldest first. The pages of them
    // that differ become before-images later. Until then copy() is older than what is committed. Only the comparer of
    // the oldest copies, freeze(), and code that takes has_copies_in() or newest() into account may use it.

    [[nodiscard]] page_copies new_copies() { return page_copies(before_image_memory_); }
    /// The memory of copies and before-images, to which spare blocks may be added.
    [[nodiscard]] before_image_memory& memory() { return before_image_memory_; }
    /// Registers the copies of the newest commit. They must not move. Throws std::bad_alloc; then nothing has changed.
    void add_copies(const page_copies& copies) { copies_.push_back(&copies); }
    /// Precondition: there are copies.
    void forget_oldest_copies() { copies_.erase(copies_.begin()); }
    [[nodiscard]] bool has_copies() const { return !copies_.empty(); }
    [[nodiscard]] bool is_copied(std::uint64_t page) const;
    /// As copy(), but looks through the copies first.
    [[nodiscard]] const std::byte* newest(std::uint64_t page) const;
    /// Counts how often before-images were dropped that no commit had accepted. A comparison that goes on after that
    /// must begin again.
    [[nodiscard]] std::uint64_t drops() const { return drops_; }

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
    /// Forgets all before-images, because the image has their content.
    void drop_all();
    /// Forgets all before-images except those of these pages (sorted), because the image has their content.
    /// Precondition: none are frozen.
    void drop_all_but(std::span<const std::uint64_t> newer);

    [[nodiscard]] std::uint64_t before_image_bytes() const {
        return before_images_.bytes() + (frozen_is_in_image_ ? 0 : frozen_.bytes());
    }
    /// Returns the bytes of frozen before-images whose content the image has but whose pages memory_settler has not
    /// settled yet.
    [[nodiscard]] std::uint64_t unsettled_bytes() const { return frozen_is_in_image_ ? frozen_.bytes() : 0; }

private:
    [[nodiscard]] std::vector<heap_range> not_in_memory(std::span<const heap_range> pages) const;
    [[nodiscard]] bool has_copies_in(std::uint64_t chunk) const;

    store::image& image_;
    before_image_memory before_image_memory_;
    std::vector<const page_copies*> copies_; // oldest first
    std::uint64_t drops_ = 0;
    before_images before_images_;
    before_images frozen_;                          // until settled, even after thaw()
    bool frozen_is_in_image_ = false;               // set by thaw()
    std::vector<store::applied_page> frozen_pages_; // frozen_.sorted()
};

} // namespace remanence::view
