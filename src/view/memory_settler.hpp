// *Settles* memory: returns it to the kernel if the file has the same content. This concerns private copies of pages
// that a checkpoint has written, and anonymous chunks that a commit has stored.
//
// A checkpoint during which commits continue calls freeze(), writes, calls thaw(), and then settles step by step. For
// functions that map or drop pages, the caller must hold the write lock, or make sure that nobody writes (R4).
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "store/image.hpp"
#include "store/image_writer.hpp"
#include "view/committed_content.hpp"
#include "view/mapped_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence::view {

class memory_settler {
public:
    memory_settler(store::image& image, mapped_memory& memory, committed_content& committed)
        : image_(image), memory_(memory), committed_(committed) {}

    /// Freezes the before-images that the image does not have, and returns them, sorted. They are valid and unchanged
    /// until thaw(), even if there are commits. First settles what the last checkpoint left unsettled.
    result<std::span<const store::applied_page>> freeze();
    /// Notes that the image now has the frozen before-images.
    void thaw() noexcept;
    /// Does a part of the work after thaw(), for about `pages` pages. Returns private copies of frozen pages to the
    /// kernel if they equal the image. After a commit of everything, also maps chunks from the file that were stored
    /// since they were mapped.
    result<void> settle_some(change::commit_scope committed, std::uint64_t pages);
    /// Settles all remaining pages, but no chunks.
    result<void> settle_rest();
    /// True if settle_some() has more to do.
    [[nodiscard]] bool has_rest() const { return committed_.has_thawed() || has_chunks_to_map(); }
    /// True if settle_some() has more chunks to examine.
    [[nodiscard]] bool has_chunks_to_map() const { return chunk_to_map_ != k_no_chunk; }

    /// Returns private copies to the kernel. Precondition: the image holds exactly the committed content. After a
    /// commit of everything, the view must hold the same; after a commit of what was declared, drops only copies that
    /// equal their before-images. Must be called before drop_before_images().
    result<void> settle(change::commit_scope committed = change::commit_scope::everything);
    /// Forgets all before-images, because the image has their content.
    void drop_before_images();

    /// Drops the private copies of all pages but these (sorted), after a checkpoint of another process that covers all
    /// other pages. Precondition: the view holds exactly the committed content, and this process has no checkpoint
    /// under way.
    result<void> settle_all_but(std::span<const std::uint64_t> newer);
    /// Maps chunks that were stored since they were mapped, so that their memory returns to the kernel. Includes a
    /// limited number of chunks with pages that the image lacks. Precondition: the view holds exactly the committed
    /// content, and nobody writes; others may be reading.
    result<void> map_unmapped();
    /// Returns how many chunks were mapped since the last checkpoint although they have pages that the image lacks.
    /// Each adds a mapping, of the 65,530 that a process may have. When the limit is reached, no more are mapped, and a
    /// checkpoint is due.
    [[nodiscard]] std::uint64_t chunks_mapped_with_newer() const { return mapped_with_newer_; }
    static constexpr std::uint64_t k_chunks_mapped_with_newer_max = 4096;

private:
    result<void> settle_pages(std::uint64_t pages);
    result<void> map_some_chunks(std::uint64_t pages);
    result<void> map_stored_chunks();
    result<void> map_with_newer_pages(std::uint64_t chunk);
    /// True if the chunk is stored but not mapped from its copy.
    [[nodiscard]] bool is_to_be_mapped(std::uint64_t chunk) const {
        return !memory_.maps_copy(chunk) && image_.is_stored(chunk);
    }

    static constexpr std::uint64_t k_no_chunk = ~std::uint64_t{0};

    store::image& image_;
    mapped_memory& memory_;
    committed_content& committed_;
    std::size_t settled_ = 0;                 // number of frozen pages settled so far
    std::uint64_t chunk_to_map_ = k_no_chunk; // the next one to examine
    bool has_left_chunks_ = false;            // some chunks were skipped since thaw()
    std::uint64_t mapped_with_newer_ = 0;
};

} // namespace remanence::view
