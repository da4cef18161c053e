// Spilling: a chunk that was written, and not committed, is written to the file, to the copy that it takes with the
// next commit, and mapped from there, so that its memory goes back to the kernel.
//
// Nothing durable points to such a copy yet (I1), so that a crash leaves bytes there that mean nothing. Of a fresh chunk the pages
// that hold something are written; of a stored one all, to its other copy, for it moves there. What was spilled is part of the
// next commit as it is then, and gone with the next rollback.
//
// Other threads may be writing to the chunk. So they are paused while it is copied, written and replaced: what they have written
// before is in the copy, what they write afterwards is in the new mapping, and nothing comes between. Engines call this with
// nobody else at the store.
#pragma once

#include "base/page_aligned.hpp"
#include "base/range.hpp"
#include "base/result.hpp"
#include "change/declared_pages.hpp"
#include "os/memory.hpp"
#include "store/chunk_copies.hpp"
#include "store/whole_chunks.hpp"
#include "track/private_copies.hpp"
#include "view/committed_content.hpp"
#include "view/mapped_memory.hpp"
#include "view/page_predicate.hpp"
#include "view/spilled_chunks.hpp"
#include "view/written_pages.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::view {

class chunk_spiller {
public:
    chunk_spiller(store::chunk_copies& copies, store::whole_chunks& chunks, mapped_memory& memory,
                  written_pages& written, committed_content& committed, spilled_chunks& spilled)
        : copies_(copies),
          chunks_(chunks),
          memory_(memory),
          written_(written),
          committed_(committed),
          spilled_(spilled) {}

    struct spillable {
        std::uint64_t written_bytes = 0;     // of memory in use by what was written and is not committed
        std::vector<std::uint64_t> chunks{}; // of them, what may be spilled: those that were found first come first
    };
    /// Leaves out chunks of `handed_out`, which is about to be written. O(pages in memory, and chunks that are stored).
    result<spillable> find_spillable(heap_range handed_out);
    /// Returns the pages of such a chunk that are to be written.
    result<std::vector<heap_range>> pages_to_spill(std::uint64_t chunk);
    /// Spills them, for which the store has room; returns the bytes written. 0: nothing was done, since others would have to be
    /// written by now. errc::io after a write: the heap is to be poisoned. Signals are taken afterwards.
    result<std::uint64_t> spill(std::uint64_t chunk, const std::vector<heap_range>& pages);
    /// For a chunk without such pages: if all that was written holds zeros, as its copy does, its memory goes back to the kernel;
    /// returns so many bytes. 0: it may not, or others have written by now. Signals are taken afterwards.
    result<std::uint64_t> give_back_zeros(std::uint64_t chunk);

    /// Whoever writes waits until they may go on: for who takes no signals, and spills meanwhile. False when it cannot be, or when
    /// system calls were promised memory.
    bool pause_all();
    result<void> let_all_go_on();
    /// Memory that system calls were promised stays as it is until the end of the round.
    void keep_in_memory(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (bytes != 0)
            (void)kept_in_memory_.add(offset, bytes);
    }

    [[nodiscard]] const spilled_chunks& spilled() const { return spilled_; }
    /// Copies of what was spilled may have bytes that are of no use any more: asked once.
    [[nodiscard]] bool has_left_copies() { return std::exchange(has_left_copies_, false); }

    /// These spilled chunks become what is committed.
    result<void> give_up(const std::vector<std::uint64_t>& chunks);
    /// Does so with those in which no block lies: they are no changes, since nobody reads them.
    result<void> give_up_unused(const page_predicate& is_unused);

    /// All that was spilled is committed.
    void accept() noexcept;
    /// What was declared is committed, or all was rolled back.
    void forget_promises() { kept_in_memory_.clear(); }

private:
    result<void> find_written_fresh(std::vector<heap_range>& pages);
    result<void> find_written_stored(std::vector<heap_range>& pages);
    std::vector<std::uint64_t> put_in_turn(const std::vector<heap_range>& pages);
    [[nodiscard]] bool may_be_spilled(std::uint64_t chunk) const;
    [[nodiscard]] bool is_to_move(std::uint64_t chunk) const;
    void reserve_to_stage();
    result<void> stage(std::uint64_t chunk, std::vector<std::uint32_t>& checksums, std::vector<heap_range>& pages);
    template <class F>
    auto while_paused(heap_range where, const F& f) -> decltype(f());
    result<bool> replace_by_file(std::uint64_t chunk, const std::vector<heap_range>& pages, os::moving_mapping& by,
                                 std::vector<std::uint32_t>& checksums);
    result<void> restore_committed(std::uint64_t chunk);

    store::chunk_copies& copies_;
    store::whole_chunks& chunks_;
    mapped_memory& memory_;
    written_pages& written_;
    committed_content& committed_;
    spilled_chunks& spilled_;
    std::vector<std::uint64_t> found_in_turn_;            // by find_spillable(), the last time
    std::optional<track::private_copies> written_copies_; // from the first spill on, as what follows
    page_aligned_bytes staged_;                           // a chunk
    std::vector<heap_range> private_;                     // scratch of stage()
    std::vector<heap_range> staged_pages_;                // scratch of spill()
    bool has_paused_all_ = false;
    change::declared_pages kept_in_memory_;
    bool has_left_copies_ = false;
};

} // namespace remanence::view
