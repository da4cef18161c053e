// Memory as it was at one commit, to be read in pieces while the program goes on and commits; and the blocks that were
// freed since then. A part: only programs that collect in steps link it. It is neither durable nor known to other
// processes.
//
//  PM1  A page that no commit has changed, and that is not written now, is read where it lies. Before a commit replaces
//       the committed content of a page (R1), that content is copied; so is that of a page that was written without a
//       commit, when it is read.
//  PM2  Meanwhile no page counts as unused, and no chunk is given back: otherwise the content of freed blocks would not
//       be committed content, and could not be copied.
//  PM3  Memory that becomes a state from before that commit, or of another branch, as by an undo, makes it invalid. A
//       rollback does not, since everything was committed.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "format/heap_header.hpp"
#include "txn/block_notes.hpp"
#include "txn/heap_locks.hpp"
#include "txn/heap_memory.hpp"
#include "view/memory_view.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeinfo>
#include <vector>

namespace remanence::txn {

/// Addresses with memory that is zero until it is written.
class zeroed_memory {
public:
    /// Throws std::bad_alloc.
    explicit zeroed_memory(std::uint64_t bytes);
    zeroed_memory(const zeroed_memory&) = delete;
    zeroed_memory& operator=(const zeroed_memory&) = delete;
    ~zeroed_memory() { release(); }

    void release() noexcept;
    [[nodiscard]] std::byte* begin() const { return begin_; }

private:
    std::byte* begin_;
    std::uint64_t bytes_;
};

/// engine::keep_past() makes one. It is among the engine's notes of allocations, since it must learn what is freed.
class past_memory final : public block_notes {
public:
    /// Takes memory as it is now. All arguments must outlive this object. Throws std::bad_alloc.
    past_memory(heap_locks& locks, store::image& image, view::memory_view& view, heap_memory& memory);

    /// False once memory has become an earlier state (PM3), or a page could not be copied. Any thread may ask.
    [[nodiscard]] bool is_valid() const { return is_valid_; }
    /// True if the block that began at this offset was freed or resized since; perhaps others lie there now.
    [[nodiscard]] bool was_freed(std::uint64_t offset) const;

    // The callers of these are in a read section.

    /// Says which pages may differ from committed content. To be called in each read section before at().
    void note_written(std::span<const heap_range> pages);
    /// Returns these bytes as they were; valid until the section ends. errc::corrupt, errc::io. Throws std::bad_alloc.
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes);
    /// Visits all blocks that there were, in the order of their addresses. Calls `go_on`, which may throw, after little
    /// work each time; between two calls of it, the conditions of at() hold. errc::corrupt, errc::io. Throws
    /// std::bad_alloc. O(blocks).
    result<void> for_each_block(const std::function<void()>& go_on, const std::function<void(heap_range)>& visit);
    /// Returns how many bytes from the base can be read.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] const format::heap_header& header() const { return header_; }

    /// Notes what is freed to these, too. They may be null.
    void note_also_to(std::unique_ptr<block_notes> others) { others_ = std::move(others); }
    [[nodiscard]] std::unique_ptr<block_notes> take_others() { return std::move(others_); }
    /// Ends the copying of pages, and forgets them. at() must no longer be called.
    void forget_pages() noexcept;

    void before_commit(const change::change_set& changes) noexcept override;

    void add(const void* block, std::uint64_t asked) noexcept override;
    void add_type(const void* block, const std::type_info& type) noexcept override;
    void freed(const void* block, std::uint64_t bytes, std::uint64_t there) override;
    void freed_all(const void* first, std::uint64_t bytes) noexcept override;
    [[nodiscard]] std::optional<note> find(const void* block) const override;
    void add_to(std::string& message, const void* block) const override;
    void all_is_committed() noexcept override;
    [[nodiscard]] moment now() noexcept override;
    void go_back_to(moment earlier) noexcept override;
    void forget_all() noexcept override;

private:
    static constexpr std::uint64_t k_bits = 8;

    void note_freed(const void* first, std::uint64_t bytes) noexcept;
    result<void> copy_pages(page_range pages);
    result<void> copy_planes(std::uint64_t first_page, std::size_t sections, const std::function<void()>& go_on);
    result<void> copy_committed(std::uint64_t page);

    heap_locks& locks_;
    store::image& image_;
    view::memory_view& view_;
    const std::uint64_t bytes_;
    const format::heap_header header_;
    zeroed_memory copies_;      // at the offset of each page
    std::vector<bool> copied_;  // for each page
    std::vector<bool> written_; // for each page; as of this section
    zeroed_memory freed_;       // a bit for each granule
    std::unique_ptr<block_notes> others_;
    std::atomic<bool> is_valid_ = true;
    bool keeps_pages_ = true; // guarded by at_store
};

} // namespace remanence::txn
