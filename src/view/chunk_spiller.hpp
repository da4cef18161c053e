// Spilling: writes a chunk with uncommitted changes to the file, to the copy in which the next commit would place it.
// Then maps the chunk from there, so that its memory returns to the kernel.
//
// Nothing durable points to such a copy yet (I1), so after a crash its bytes mean nothing. For a fresh chunk the
// nonzero pages are written. A stored chunk is written whole to its other copy, since it moves there. The next commit
// includes the spilled chunks with their content at that time; a rollback discards them.
//
// Other threads may be writing to the chunk, so they are paused while it is copied, written and replaced. The copy
// contains what they wrote before; later writes reach the new mapping; nothing is lost in between. Callers must make
// sure that nobody else uses the store.
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

    struct written_chunk {
        std::uint64_t chunk;
        std::uint64_t bytes; // of its memory that count as written
    };
    struct spillable {
        std::uint64_t written_bytes = 0;     // private copies of pages, which may be committed
        std::vector<written_chunk> chunks{}; // the chunks of these that may be spilled, those of the last call first
    };
    /// Finds the chunks that may be spilled. Excludes those of `handed_out`: memory that the allocator is about to
    /// return, and that will be written next. O(pages in memory + stored chunks).
    result<spillable> find_spillable(heap_range handed_out);
    /// Returns the pages that spilling this chunk must write.
    result<std::vector<heap_range>> pages_to_spill(std::uint64_t chunk);
    /// Spills these pages, for which the store has reserved room. Returns the number of bytes written; 0 means that
    /// nothing was done because a different set of pages must be written by now. errc::io after a write: the caller
    /// must poison the heap. Blocks signals meanwhile.
    result<std::uint64_t> spill(std::uint64_t chunk, const std::vector<heap_range>& pages);
    /// For a chunk with no pages to spill: if every written page is zeros and its copy has zeros there too, returns the
    /// chunk's memory to the kernel. Returns the number of bytes; 0 means that this is impossible, or that other pages
    /// were written by now. Blocks signals meanwhile.
    result<std::uint64_t> give_back_zeros(std::uint64_t chunk);

    /// Pauses all writers until let_all_go_on(), for a caller that blocks signals and spills several chunks. Returns
    /// false if that is impossible, or if memory was declared for system calls.
    bool pause_all();
    result<void> let_all_go_on();
    /// Prevents the spilling of memory that was declared for system calls, until the end of the round.
    void keep_in_memory(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (bytes != 0)
            (void)kept_in_memory_.add(offset, bytes);
    }

    [[nodiscard]] const spilled_chunks& spilled() const { return spilled_; }
    /// Returns whether copies of spilled chunks may contain bytes that are no longer needed. Resets the answer.
    [[nodiscard]] bool has_left_copies() { return std::exchange(has_left_copies_, false); }

    /// Restores the committed content of these spilled chunks.
    result<void> give_up(const std::vector<std::uint64_t>& chunks);
    /// Restores the committed content of those spilled chunks that contain no blocks. Nobody reads these chunks, so
    /// their changes do not count.
    result<void> give_up_unused(const page_predicate& is_unused);

    /// Notes that all spilled chunks are committed.
    void accept() noexcept;
    /// Ends the effect of keep_in_memory(), after a commit of what was declared or after a rollback.
    void forget_promises() { kept_in_memory_.clear(); }

private:
    result<void> find_written_fresh(std::vector<heap_range>& pages);
    result<void> find_written_stored(std::vector<heap_range>& pages);
    std::vector<written_chunk> put_in_turn(const std::vector<heap_range>& pages);
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
    std::optional<track::private_copies> written_copies_; // like the buffers below, allocated at the first spill
    page_aligned_bytes staged_;                           // one chunk
    std::vector<heap_range> written_here_;                // scratch of stage()
    std::vector<heap_range> staged_pages_;                // scratch of spill()
    bool has_paused_all_ = false;
    change::declared_pages kept_in_memory_;
    bool has_left_copies_ = false;
};

} // namespace remanence::view
