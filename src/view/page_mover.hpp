// Moves the contents of large blocks by changing page tables, instead of copying them.
//
// Only anonymous memory moves: that of chunks that are not stored, or stored but not mapped from the file yet. The rest
// is copied. Moved pages count as written at both places until the round ends, so commits, rollbacks and savepoints
// treat them as if they had been copied.
//
// Only programs that move blocks link this: txn/moved_contents.cpp makes it for each move.
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"
#include "store/image.hpp"
#include "view/committed_content.hpp"
#include "view/mapped_memory.hpp"
#include "view/written_pages.hpp"

#include <cstdint>
#include <vector>

namespace remanence::view {

class page_mover {
public:
    /// Copying less than this is as fast as changing page tables.
    static constexpr std::uint64_t k_bytes_min = 256 * KiB;

    /// All must outlive this object.
    page_mover(const store::image& image, mapped_memory& memory, written_pages& written,
               const committed_content& committed)
        : image_(image), memory_(memory), written_(written), committed_(committed) {}

    /// Gives the memory at `to` the bytes of `from`, whose contents are undefined afterwards. The ranges must not
    /// overlap, and nobody may use them meanwhile. Precondition: no commit has only copied its pages. The caller holds
    /// the locks of store and view.
    void move(heap_range from, std::uint64_t to) noexcept;

private:
    [[nodiscard]] std::vector<heap_range> movable(heap_range from, std::uint64_t to) const;
    [[nodiscard]] bool may_leave(heap_range part) const;
    [[nodiscard]] bool move_pages(heap_range from, std::uint64_t to) noexcept;
    void restore(heap_range left);
    void map_from_file(heap_range chunks);

    const store::image& image_;
    mapped_memory& memory_;
    written_pages& written_;
    const committed_content& committed_;
};

} // namespace remanence::view
