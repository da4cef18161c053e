// Evicts resident pages whose committed content is in the file: the kernel reads them again when they are used. This is
// for limits of resident memory; memory_settler returns what a checkpoint has just written, whether there is a limit or
// not.
//
// An optional part (txn/parts.hpp): only txn/resident_limits.cpp refers to it.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "os/resident_pages.hpp"
#include "store/image.hpp"
#include "view/committed_content.hpp"
#include "view/mapped_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::view {

/// Callers hold the locks of store and view.
class page_evictor {
public:
    /// All must outlive this object.
    page_evictor(store::image& image, mapped_memory& memory, const committed_content& committed)
        : image_(image), memory_(memory), committed_(committed) {}

    enum class beside {
        nobody,  // the caller holds the section lock exclusively (R4)
        readers, // other threads may use the heap
    };
    struct outcome {
        std::uint64_t evicted_bytes = 0;
        std::uint64_t newer_bytes = 0; // of pages that stay, since the image lacks their committed content
        std::uint64_t end = 0;         // where the next call should begin
    };
    /// Evicts pages of `where`, beginning at `from` and going round, until `enough` bytes are evicted or all were looked
    /// at. Beside readers, evicts only pages to which nobody has written, and of these only those that the kernel can
    /// evict: not those that other processes have mapped. Otherwise also evicts written pages that equal the image or,
    /// in chunks that are not stored, are zeros, and maps chunks from the file that are stored and equal it. Uncommitted
    /// changes stay, and pages that cannot be read in the image. Fails if memory cannot be mapped; throws
    /// std::bad_alloc, beside nobody perhaps in the middle of a change. Complexity: O(pages looked at).
    result<void> evict(heap_range where, std::uint64_t from, std::uint64_t enough, beside whom, outcome& done);

private:
    result<void> evict_piece(heap_range piece, beside whom, outcome& done);
    void add_as_in_image(heap_range written, outcome& done);
    void add_zeros(heap_range written);
    result<void> map_if_as_in_image(std::uint64_t chunk, outcome& done);
    [[nodiscard]] bool is_as_in_image(heap_range pages);

    store::image& image_;
    mapped_memory& memory_;
    const committed_content& committed_;
    // Scratch.
    std::vector<os::resident_run> runs_;
    std::vector<heap_range> clean_;
    std::vector<std::byte> content_;
};

} // namespace remanence::view
