// Gives memory back to the kernel that holds just what the file has: private copies of pages that a checkpoint has
// written, and anonymous chunks that a commit has stored since.
//
// A checkpoint beside commits calls freeze(), writes, calls thaw(), and then settles bit by bit. Functions that map or
// drop pages require that the caller holds the write lock, or that nobody writes (R4).
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

    /// Returns the before-images that the image does not have, sorted. Valid and unchanged until thaw(), even if there
    /// are commits. First settles what the last checkpoint left.
    result<std::span<const store::applied_page>> freeze();
    /// Notes that the image now has the frozen before-images.
    void thaw() noexcept;
    /// Does a part of the work after thaw(): looks at about `pages` pages. Gives private copies of frozen pages back to
    /// the kernel if they hold just what the image has. After a commit of everything, also maps chunks from the file
    /// that were stored since they were mapped.
    result<void> settle_some(change::commit_scope committed, std::uint64_t pages);
    /// Settles everything that is left, except chunks.
    result<void> settle_rest();
    /// True if settle_some() has work left.
    [[nodiscard]] bool has_rest() const { return committed_.has_thawed() || has_chunks_to_map(); }
    /// True if settle_some() has chunks left to look at.
    [[nodiscard]] bool has_chunks_to_map() const { return chunk_to_map_ != k_no_chunk; }

    /// Gives private copies back to the kernel. Precondition: the image holds just the committed content; after a
    /// commit of everything, so does the view. After a commit of what was declared, gives back only copies that equal
    /// their before-images. Call it before drop_before_images().
    result<void> settle(change::commit_scope committed = change::commit_scope::everything);
    /// Forgets all before-images: the image has them.
    void drop_before_images();

    /// After a checkpoint of another process that covers everything but these pages (sorted): gives private copies of
    /// all other pages back. Precondition: the view holds just what is committed, and no checkpoint is under way here.
    result<void> settle_all_but(std::span<const std::uint64_t> newer);
    /// Maps chunks that were stored since they were mapped, so that their memory goes back to the kernel. A limited
    /// number of chunks with pages that the image lacks is among them. Precondition: the view holds just what is
    /// committed, and nobody writes; others may be reading.
    result<void> map_unmapped();
    /// Returns how many chunks were mapped since the last checkpoint although they have newer pages. Each takes a
    /// mapping of its own, of the 65,530 that a process may have. At the limit no more are mapped, and a checkpoint is
    /// due.
    [[nodiscard]] std::uint64_t chunks_mapped_with_newer() const { return mapped_with_newer_; }
    static constexpr std::uint64_t k_chunks_mapped_with_newer_max = 4096;

private:
    result<void> settle_pages(std::uint64_t pages);
    result<void> map_some_chunks(std::uint64_t pages);
    result<void> map_stored_chunks();
    result<void> map_with_newer_pages(std::uint64_t chunk);
    /// True if the chunk is stored, and its memory is not mapped from its copy.
    [[nodiscard]] bool is_to_be_mapped(std::uint64_t chunk) const {
        return !memory_.maps_copy(chunk) && image_.is_stored(chunk);
    }

    static constexpr std::uint64_t k_no_chunk = ~std::uint64_t{0};

    store::image& image_;
    mapped_memory& memory_;
    committed_content& committed_;
    std::size_t settled_ = 0;                 // how many of the frozen pages
    std::uint64_t chunk_to_map_ = k_no_chunk; // the next one to look at
    bool has_left_chunks_ = false;            // since thaw(), some chunks were not mapped
    std::uint64_t mapped_with_newer_ = 0;
};

} // namespace remanence::view
