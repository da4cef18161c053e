// The memory of an open heap, as the program uses it: its address, its blocks, and declarations of memory that will be
// written.
//
// Rule kept here: I7, header and allocator are validated at the open and after each rollback, before they are used.
#pragma once

#include "alloc/block_allocator.hpp"
#include "alloc/red_zones.hpp"
#include "base/result.hpp"
#include "format/heap_header.hpp"
#include "store/heap_file.hpp"
#include "txn/block_notes.hpp"
#include "txn/declared_section.hpp"
#include "txn/engine_options.hpp"
#include "txn/heap_locks.hpp"
#include "txn/spiller.hpp"
#include "txn/thread_caches.hpp"
#include "view/memory_view.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::txn {

/// All functions, except those at the end, may be called from any thread; they acquire the allocation lock if needed.
class heap_memory {
public:
    /// All must outlive this object. begin() must be called before any other function.
    heap_memory(heap_locks& locks, store::heap_file& store, view::memory_view& view, spiller& spills,
                const engine_options& options)
        : locks_(locks),
          store_(store),
          view_(view),
          spiller_(spills),
          options_(options),
          may_write_(!options.read_only) {}
    heap_memory(const heap_memory&) = delete;
    heap_memory& operator=(const heap_memory&) = delete;

    [[nodiscard]] std::byte* base() const { return view_.base(); }
    [[nodiscard]] std::uint64_t offset_of(const void* address) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base());
    }
    [[nodiscard]] bool contains(const void* address) const {
        return reinterpret_cast<std::uint64_t>(address) - reinterpret_cast<std::uint64_t>(base()) < reserved_bytes();
    }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return view_.memory().reserved_bytes(); }
    [[nodiscard]] std::uint64_t chunk_bytes() const { return store_.image().chunk_bytes(); }
    [[nodiscard]] const std::string& path() const { return store_.path(); }
    /// Returns how many bytes from the base may be used. Must not be called while another thread allocates, since
    /// memory may grow.
    [[nodiscard]] std::uint64_t accessible_bytes() const { return view_.memory().accessible_bytes(); }
    [[nodiscard]] format::heap_header& header() const { return *reinterpret_cast<format::heap_header*>(base()); }

    /// Allocates a block in the arena that begins at `owner`; outside of all arenas if `owner` is base(). Returns null,
    /// with the reason in `why`, if there is no memory or no such arena.
    void* allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why, const void* owner);
    void* allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why) {
        return allocate(bytes, alignment, why, base());
    }
    /// Allocates a block at exactly this address. Returns false, and does nothing, if the bytes there are not free.
    /// O(free runs).
    [[nodiscard]] bool allocate_at(void* address, std::uint64_t bytes, std::uint64_t alignment);
    /// Returns the beginning of the arena that an address lies in; base() if it lies in none.
    [[nodiscard]] std::byte* owner_of(const void* address) const;

    struct arena_options {
        std::uint64_t room_bytes = GiB;
        std::uint64_t resident_limit_bytes = 0; // 0 means no limit
    };
    struct arena_usage {
        std::string name;
        std::byte* base = nullptr;
        std::uint64_t room_bytes = 0;
        std::uint64_t used_bytes = 0; // from the base on; bytes after these were never written
        std::uint64_t allocated_bytes = 0;
        std::uint64_t resident_limit_bytes = 0;
    };
    /// Makes an arena. errc::exists, errc::exhausted, errc::invalid_argument. Must not be called in a declared section.
    result<std::byte*> make_arena(std::string_view name, const arena_options& options);
    /// Returns null if no arena has this name.
    [[nodiscard]] std::byte* find_arena(std::string_view name) const;
    /// Destroys the arena with all blocks in it.
    void destroy_arena(std::byte* arena);
    [[nodiscard]] std::vector<arena_usage> arenas() const;
    /// True if an arena has a limit of resident memory.
    [[nodiscard]] bool has_limited_arenas() const;

    void deallocate(void* block, std::uint64_t bytes, std::uint64_t alignment);
    /// Frees a block whose size the caller does not know. If no block begins there, fails with errc::invalid_argument
    /// and the reason, and does nothing. O(log of the block's size).
    result<void> deallocate(void* block);
    /// Makes a block longer or shorter in place; block_of() returns its new size. If `bytes` fit in the block and use half
    /// of it or more, its size stays. Returns false, and does nothing, if no block begins there, or if it must change
    /// but is no block of whole pages or the pages after it are not free. O(log free runs).
    [[nodiscard]] bool resize(void* block, std::uint64_t bytes);
    /// Does the same, but never changes the size of the block, even if `bytes` use little of it.
    [[nodiscard]] bool resize_within(void* block, std::uint64_t bytes);
    /// Gives the block at `to` the first `bytes` bytes of the block at `from`, whose contents are undefined afterwards.
    /// Where both lie in anonymous memory and `bytes` are many, page tables change instead of copying. Nobody may use
    /// the blocks meanwhile.
    void move_contents(void* from, void* to, std::uint64_t bytes) noexcept;
    /// Returns by how much a block of this size increases allocated_bytes().
    [[nodiscard]] std::uint64_t bytes_of_block(std::uint64_t bytes, std::uint64_t alignment) const {
        return alloc::block_allocator::block_bytes(placed(bytes), alignment);
    }
    /// Returns the block around an address, without its red zone.
    [[nodiscard]] std::optional<alloc::block> block_of(const void* address) const;
    /// Returns the size that block_of() will return for a block allocated with `bytes`.
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const {
        return red_zones_ ? std::max<std::uint64_t>(bytes, 1)
                          : alloc::block_allocator::block_bytes(placed(bytes), alignment);
    }
    /// True if a block may be longer than a request of its object's size needs.
    [[nodiscard]] bool has_longer_blocks() const { return longer_blocks_; }
    /// True if the heap was created with check_options::red_zones.
    [[nodiscard]] bool has_red_zones() const { return red_zones_; }
    /// Adds the type of the object that was made in a block, if the heap notes where blocks are allocated.
    void note_type(const void* block, const std::type_info& type);
    /// Returns what was noted of the block that was allocated last at this address.
    [[nodiscard]] std::optional<block_notes::note> note_of(const void* block) const;
    /// Calls f with the allocator, while the allocation lock is held, after thread caches have returned all slabs and
    /// blocks.
    template <class F>
    auto with_allocator(const F& f) const {
        const std::scoped_lock lock(locks_.allocation);
        settle_thread_caches();
        return f(std::as_const(*allocator_));
    }
    /// Returns the allocator, or null if a thread is changing it. For signal handlers.
    [[nodiscard]] const alloc::block_allocator* quiet_allocator() const;
    /// Turns thread caches on until the next commit or rollback, as if threads had waited for the lock. Has no effect
    /// in a declared section.
    void expect_threads();
    /// Returns how many slabs threads have ever borrowed.
    [[nodiscard]] std::uint64_t slabs_lent() const;
    /// True if more memory is accessible than at the last call.
    [[nodiscard]] bool has_grown() {
        return has_grown_.load(std::memory_order_relaxed) && has_grown_.exchange(false, std::memory_order_relaxed);
    }

    /// Declares that [first, first+bytes) will be written before the next commit or rollback, perhaps by system calls.
    result<void> declare(const void* first, std::uint64_t bytes);
    /// Declares that [first, first+bytes) will be written, and no other bytes of these pages.
    void declare_words(const void* first, std::uint64_t bytes);
    /// As declare(), and prevents the bytes from being spilled meanwhile, so that system calls may write to them.
    result<void> touch(const void* first, std::uint64_t bytes);

    /// Begins a declared section (declared_section.hpp).
    void begin_declared();
    /// Ends the section, before or after the commit. If declared changes are not committed, the next commit includes
    /// everything, and so these.
    void end_declared();
    [[nodiscard]] bool is_declared() const noexcept { return declared_.is_open(); }
    /// Allows or forbids writes, when a write section begins or ends. Callers hold the section lock. After open()
    /// writes are allowed.
    void allow_writes(bool allowed);

    // For the engine and its parts. Callers hold the locks of the heap.

    /// Makes the header of a new heap or checks that of an existing one, and makes the allocator. Called once, when the
    /// heap is opened.
    result<void> begin();
    /// Validates header and allocator again. Call it when memory has gone back to the last commit.
    result<void> restored();
    /// Returns what restored_in_part() needs to know of a savepoint that is made now.
    [[nodiscard]] block_notes::moment moment_of_notes() {
        return notes_ != nullptr ? notes_->now() : block_notes::k_last_commit;
    }
    /// Validates the allocator again. Call it when memory has gone back to a savepoint.
    result<void> restored_in_part(block_notes::moment savepoint) {
        if (notes_ != nullptr)
            notes_->go_back_to(savepoint);
        return check_allocator();
    }
    /// Validates the allocator again. Call it when memory has become another state, as by an undo.
    result<void> changed_under_allocator() {
        if (notes_ != nullptr)
            notes_->forget_all();
        return check_allocator();
    }
    /// The changes are about to become committed content (R1).
    void tell_before_commit(const change::change_set& changes) {
        if (notes_ != nullptr) [[unlikely]]
            notes_->before_commit(changes);
    }
    /// Everything in memory is committed.
    void all_is_committed() {
        declared_.note_no_other_changes();
        allocations_are_committed();
    }
    /// All changes to the allocator's structures are committed.
    void allocations_are_committed() {
        if (notes_ != nullptr)
            notes_->all_is_committed();
    }
    /// Adds to a message which calls allocated the block that was allocated last at this address, if that was noted.
    [[gnu::cold]] void add_origin(std::string& message, const void* block) const;
    /// Returns the allocator, after all slabs and blocks of thread caches have been returned to it.
    [[nodiscard]] alloc::block_allocator& allocator() {
        settle_thread_caches();
        return *allocator_;
    }
    [[nodiscard]] declared_section& declared() { return declared_; }
    /// The part of an arena that was ever used, and its limit of resident memory.
    struct limited_arena {
        heap_range used;
        std::uint64_t limit_bytes;
    };
    [[nodiscard]] std::vector<limited_arena> limited_arenas() const;
    /// Returns a predicate that is true for pages without blocks.
    [[nodiscard]] view::page_predicate unused_pages() const {
        return [this](std::uint64_t page) { return !keeps_unused_ && allocator_->is_free_page(page); };
    }
    /// From now on notes whether the allocator changes anything. Must not be called in a declared section.
    void watch_allocator();
    /// Ends the watch. Returns whether the allocator has changed anything; before that, frees returned blocks.
    bool stop_watching_allocator();
    /// While `kept`, no page counts as unused, so the content of free pages is committed, too.
    void keep_unused(bool kept) { keeps_unused_ = kept; }
    [[nodiscard]] bool keeps_unused() const { return keeps_unused_; }
    /// Returns what notes allocations; null if nothing does.
    [[nodiscard]] block_notes* notes() const { return notes_.get(); }
    /// Replaces what notes allocations, and returns what did before. Null notes nothing. Ends thread caches, which would
    /// not tell it of each block.
    std::unique_ptr<block_notes> exchange_notes(std::unique_ptr<block_notes> next) {
        settle_thread_caches();
        notes_.swap(next);
        looks_after_blocks_ = red_zones_ || notes_ != nullptr;
        return next;
    }

private:
    // Kept out of the hot path.
    [[nodiscard, gnu::cold]] unexpected why_no_arena() const;
    [[nodiscard, gnu::cold]] unexpected why_no_memory(const alloc::block_allocator& from, std::uint64_t bytes) const;
    [[gnu::noinline]] void wipe(void* block);
    void wipe(heap_range freed);
    [[nodiscard, gnu::cold]] unexpected why_no_block(const void* address,
                                                     const std::optional<alloc::block>& around) const;
    /// Returns the size that the allocator is asked for: with the red zone if the heap has red zones, and rounded up to
    /// cache lines if it has aligned blocks.
    [[nodiscard]] std::uint64_t placed(std::uint64_t bytes) const {
        const std::uint64_t whole = red_zones_ ? with_red_zone(bytes) : bytes;
        return aligned_blocks_ ? alloc::bytes_on_lines(whole) : whole;
    }
    /// Returns the alignment for a block of that size.
    [[nodiscard]] std::uint64_t placed_at(std::uint64_t whole, std::uint64_t alignment) const {
        return aligned_blocks_ ? std::max<std::uint64_t>(alignment, alloc::alignment_on_lines(whole)) : alignment;
    }
    [[nodiscard]] static std::uint64_t with_red_zone(std::uint64_t bytes) {
        constexpr std::uint64_t k_more = alloc::k_red_zone_bytes_min + alloc::k_red_zone_record_bytes;
        return bytes > k_heap_bytes_max ? bytes : std::max<std::uint64_t>(bytes, 1) + k_more;
    }
    [[nodiscard]] bool has_thread_caches_on() const { return thread_caches_ != nullptr && thread_caches_->is_on(); }
    /// True if a thread cache may hold slabs or blocks, of which the allocator alone knows nothing.
    [[nodiscard]] bool uses_thread_caches() const { return thread_caches_ != nullptr && thread_caches_->is_used(); }
    /// These use this thread's thread cache. If they return null or false, use the allocator.
    [[nodiscard]] void* allocate_in_thread_cache(std::uint64_t bytes, std::uint64_t alignment);
    [[nodiscard]] bool deallocate_in_thread_cache(void* block, std::uint64_t bytes, std::uint64_t alignment);
    [[nodiscard]] std::optional<alloc::block> block_of_locked(const void* address) const {
        return uses_thread_caches() ? thread_caches_->block_of(address) : allocator_->block_of(address);
    }
    /// Acquires the allocation lock. If another thread holds it, turns thread caches on.
    void lock_among_threads() {
        if (!locks_.allocation.try_lock()) [[unlikely]]
            wait_among_threads();
    }
    [[gnu::noinline]] void wait_among_threads();
    [[gnu::noinline]] bool settle_thread_caches() const;
    [[nodiscard]] bool may_turn_on_thread_caches();
    void put_red_zone(const alloc::block& of, std::uint64_t asked);
    [[nodiscard]] bool resize_within_locked(const alloc::block& of, std::uint64_t bytes);
    /// Puts the red zone of a new or resized block, and notes where it was allocated.
    [[gnu::noinline]] void look_after(const alloc::block& of, std::uint64_t asked);
    /// Ends the process if the red zone of a block that is to be freed or resized was overwritten. If the program noted
    /// where blocks are allocated, and no block of this size lies there, names the place. Tells the notes of it.
    [[gnu::noinline]] void look_at_freed(const void* block, std::uint64_t bytes) const;
    /// `bytes` is the size that the allocator was asked for.
    [[gnu::noinline]] void deallocate_locked(void* block, std::uint64_t bytes, std::uint64_t alignment);
    result<void> format_header();
    result<void> check_header();
    result<void> check_allocator();

    heap_locks& locks_;
    store::heap_file& store_;
    view::memory_view& view_;
    spiller& spiller_;
    const engine_options& options_;
    // The allocation lock guards the fields from here on.
    std::optional<alloc::block_allocator> allocator_;
    std::unique_ptr<thread_caches> thread_caches_; // some functions need no lock; null: the program lacks the part
    declared_section declared_;
    bool aligned_blocks_ = false;        // from the heap's header
    bool red_zones_ = false;             // from the file
    bool longer_blocks_ = false;         // from the file: blocks may be longer than the sizes they are freed with
    bool looks_after_blocks_ = false;    // each block has a red zone, or it is noted where it was allocated
    std::unique_ptr<block_notes> notes_; // null: nothing is noted
    bool keeps_unused_ = false;
    bool has_allocator_changed_ = false; // since watch_allocator()
    bool may_write_;                     // false: even the allocator's writes would be reported as stray
    std::atomic<bool> has_grown_ = false;
};

} // namespace remanence::txn
