// Gives memory back to the kernel that holds just what the file has: private copies of pages, after a checkpoint has
// written them, and chunks that were committed first, once they can be mapped.
//
// For a checkpoint beside commits: freeze, write, thaw; then settle bit by bit. Precondition of all that maps or drops: whoever calls
// holds the write lock, or nobody writes (R4).
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

    /// Returns the before-images that the image does not have, sorted; valid and unchanged until thaw(), commits or not. What the last
    /// checkpoint left to be settled is settled first.
    result<std::span<const store::applied_page>> freeze();
    /// The image holds the frozen before-images now.
    void thaw() noexcept;
    /// After a thaw(), until nothing is left to do: gives private copies of pages that were frozen back to the kernel, if
    /// they hold just what the image has; and after a commit of everything maps chunks from the file that have their place
    /// since they were mapped. About so many pages are looked at.
    result<void> settle_some(change::commit_scope committed, std::uint64_t pages);
    /// Settles all that is left, but for chunks.
    result<void> settle_rest();
    /// Whether there is anything for settle_some().
    [[nodiscard]] bool has_rest() const { return committed_.has_thawed() || has_chunks_to_map(); }
    /// Whether chunks are left to be looked at by it.
    [[nodiscard]] bool has_chunks_to_map() const { return chunk_to_map_ != k_no_chunk; }

    /// Gives private copies back to the kernel. Precondition: the image holds just the committed content, and so does the
    /// view after a commit of everything. After one of what was declared only copies that equal their before-images are given
    /// back. To be called before drop_before_images().
    result<void> settle(change::commit_scope committed = change::commit_scope::everything);
    /// The image holds every before-image now.
    void drop_before_images();

    /// Another process has made a checkpoint, which covers everything but these pages, which are sorted: gives private copies of all
    /// others back. Precondition: the view holds just what is committed, and no checkpoint is under
    /// way here.
    result<void> settle_all_but(std::span<const std::uint64_t> newer);
    /// Maps chunks that were committed first, so that their memory goes back to the kernel. Precondition: the view holds just what
    /// is committed, and nobody writes; others may be reading. A limited number of those that hold pages which the image lacks.
    result<void> map_unmapped();
    /// How many chunks have been mapped although they have newer pages, since the last checkpoint: each is a mapping of its own,
    /// of the 65,530 that a process may have. At the limit no more are, and a checkpoint is due.
    [[nodiscard]] std::uint64_t chunks_mapped_with_newer() const { return mapped_with_newer_; }
    static constexpr std::uint64_t k_chunks_mapped_with_newer_max = 4096;

private:
    result<void> settle_pages(std::uint64_t pages);
    result<void> map_some_chunks(std::uint64_t pages);
    result<void> map_stored_chunks();
    result<void> map_with_newer_pages(std::uint64_t chunk);
    /// Whether the chunk is stored, and in memory that is not mapped from its copy.
    [[nodiscard]] bool is_to_be_mapped(std::uint64_t chunk) const {
        return !memory_.maps_copy(chunk) && image_.is_stored(chunk);
    }

    static constexpr std::uint64_t k_no_chunk = ~std::uint64_t{0};

    store::image& image_;
    mapped_memory& memory_;
    committed_content& committed_;
    std::size_t settled_ = 0;                 // of the frozen pages
    std::uint64_t chunk_to_map_ = k_no_chunk; // the next one to look at
    bool has_left_chunks_ = false;            // since thaw(): some were not mapped
    std::uint64_t mapped_with_newer_ = 0;
};

} // namespace remanence::view
