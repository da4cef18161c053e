// Spilling: writes a chunk that was changed but not committed to the file, to the copy that it takes with the next
// commit. Then maps it from there, so that its memory goes back to the kernel.
//
// Nothing durable points to such a copy yet (I1), so after a crash its bytes mean nothing. A fresh chunk's nonzero
// pages are written; a stored chunk is written whole to its other copy, since it moves there. The next commit includes
// what was spilled, as it is then; a rollback discards it.
//
// Other threads may be writing to the chunk, so they are paused while it is copied, written and replaced. What they
// wrote before is in the copy, what they write afterwards goes to the new mapping, and nothing is lost between. Callers
// make sure that nobody else uses the store.
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
        std::uint64_t written_bytes = 0;     // memory used by what is written and not committed
        std::vector<std::uint64_t> chunks{}; // chunks of it that may be spilled, those found first at the front
    };
    /// Leaves out chunks of `handed_out`, which is about to be written. O(pages in memory + stored chunks).
    result<spillable> find_spillable(heap_range handed_out);
    /// Returns the pages of such a chunk that are to be written.
    result<std::vector<heap_range>> pages_to_spill(std::uint64_t chunk);
    /// Spills these pages, for which the store has reserved room. Returns the bytes written. 0: nothing was done,
    /// because other pages would have to be written by now. errc::io after a write: the heap must be poisoned. Signals
    /// are blocked meanwhile.
    result<std::uint64_t> spill(std::uint64_t chunk, const std::vector<heap_range>& pages);
    /// For a chunk without such pages: if everything written is zeros, as its copy is, gives its memory back to the
    /// kernel. Returns how many bytes. 0: not possible, or other pages were written by now. Signals are blocked
    /// meanwhile.
    result<std::uint64_t> give_back_zeros(std::uint64_t chunk);

    /// Makes writers wait until let_all_go_on(), for a caller that blocks signals and spills several chunks. Returns
    /// false if that is impossible, or if memory was promised to system calls.
    bool pause_all();
    result<void> let_all_go_on();
    /// Keeps memory that was promised to system calls as it is until the end of the round.
    void keep_in_memory(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (bytes != 0)
            (void)kept_in_memory_.add(offset, bytes);
    }

    [[nodiscard]] const spilled_chunks& spilled() const { return spilled_; }
    /// True if copies of spilled chunks may have bytes that are of no use any more. Resets the answer.
    [[nodiscard]] bool has_left_copies() { return std::exchange(has_left_copies_, false); }

    /// Makes these spilled chunks what is committed again.
    result<void> give_up(const std::vector<std::uint64_t>& chunks);
    /// Does so with spilled chunks that hold no blocks. Nobody reads them, so they are no changes.
    result<void> give_up_unused(const page_predicate& is_unused);

    /// Notes that everything spilled is committed.
    void accept() noexcept;
    /// Notes that what was declared is committed, or that everything was rolled back.
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
    std::vector<std::uint64_t> found_in_turn_;            // result of the last find_spillable()
    std::optional<track::private_copies> written_copies_; // made at the first spill, like the buffers below
    page_aligned_bytes staged_;                           // one chunk
    std::vector<heap_range> private_;                     // scratch of stage()
    std::vector<heap_range> staged_pages_;                // scratch of spill()
    bool has_paused_all_ = false;
    change::declared_pages kept_in_memory_;
    bool has_left_copies_ = false;
};

} // namespace remanence::view
