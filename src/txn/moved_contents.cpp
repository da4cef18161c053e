// Moves the contents of large blocks. A separate file, so that only programs that move blocks contain it.

#include "txn/heap_memory.hpp"
#include "view/page_mover.hpp"

#include <cstring>
#include <mutex>

namespace remanence::txn {

// A thread that holds at_store commits or spills, and a declared section commits only what was declared: then the bytes
// are copied, and the trackers learn of the writes as of any others.
void heap_memory::move_contents(void* from, void* to, std::uint64_t bytes) noexcept {
    if (bytes >= view::page_mover::k_bytes_min) {
        const std::unique_lock alone(locks_.at_store, std::try_to_lock);
        if (alone.owns_lock() && !view_.committed().has_copies()) {
            const std::scoped_lock growth(locks_.allocation);
            if (!is_declared()) {
                view::page_mover(store_.image(), view_.memory(), view_.written(), view_.committed())
                    .move({offset_of(from), bytes}, offset_of(to));
                return;
            }
        }
    }
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

} // namespace remanence::txn
