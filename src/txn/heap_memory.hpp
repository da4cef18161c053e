// The memory of an open heap as the program uses it: where it lies, blocks in it, and declarations of what will be
// written.
//
// Kept here: I7, header and allocator are validated before anybody relies on them, at the open and after each rollback.
#pragma once

#include "alloc/block_allocator.hpp"
#include "alloc/red_zones.hpp"
#include "base/result.hpp"
#include "format/heap_header.hpp"
#include "store/heap_file.hpp"
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

/// All functions may be called from any thread, and take the allocation lock where they need it, but for those at the end.
class heap_memory {
public:
    /// All must outlive it. begin() must follow.
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
    /// Bytes from the base that may be used. Not while another thread allocates: memory may grow.
    [[nodiscard]] std::uint64_t accessible_bytes() const { return view_.memory().accessible_bytes(); }
    [[nodiscard]] format::heap_header& header() const { return *reinterpret_cast<format::heap_header*>(base()); }

    /// A block, in the arena that begins at `owner`, or in none if the heap does; null, with the reason in `why`, when there is no memory, or
    /// no such arena.
    void* allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why, const void* owner);
    void* allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why) {
        return allocate(bytes, alignment, why, base());
    }
    /// A block at just this address, where it is free. False, and nothing was done: it is not. O(free runs).
    [[nodiscard]] bool allocate_at(void* address, std::uint64_t bytes, std::uint64_t alignment);
    /// Where the arena begins that an address lies in; base(): it lies in none.
    [[nodiscard]] std::byte* owner_of(const void* address) const;

    struct arena_options {
        std::uint64_t room_bytes = GiB;
        std::uint64_t resident_limit_bytes = 0; // 0: none
    };
    struct arena_usage {
        std::string name;
        std::byte* base = nullptr;
        std::uint64_t room_bytes = 0;
        std::uint64_t used_bytes = 0; // from the base; behind it nothing was ever written
        std::uint64_t allocated_bytes = 0;
        std::uint64_t resident_limit_bytes = 0;
    };
    /// errc::exists, errc::exhausted, errc::invalid_argument. Not in a declared section.
    result<std::byte*> make_arena(std::string_view name, const arena_options& options);
    /// Null: there is none.
    [[nodiscard]] std::byte* find_arena(std::string_view name) const;
    /// With all blocks in it.
    void destroy_arena(std::byte* arena);
    [[nodiscard]] std::vector<arena_usage> arenas() const;
    /// A write section ends: pages of arenas that have more in memory than their limit are taken out.
    void keep_arenas_within_limits() const noexcept;

    void deallocate(void* block, std::uint64_t bytes, std::uint64_t alignment);
    /// The same for who knows only where it begins. errc::invalid_argument, saying why, when no block begins there; then
    /// nothing was done. O(log of the block's size).
    result<void> deallocate(void* block);
    /// Makes a block of whole pages longer or shorter where it is, with the pages behind it: block_of() tells by how much. False,
    /// and nothing was done, when no such block begins there, or it cannot be. O(log free runs).
    [[nodiscard]] bool resize(void* block, std::uint64_t bytes);
    /// How many bytes of allocated_bytes() a block for so many takes.
    [[nodiscard]] std::uint64_t bytes_of_block(std::uint64_t bytes, std::uint64_t alignment) const {
        return alloc::block_allocator::block_bytes(placed(bytes), alignment);
    }
    /// Without its red zone.
    [[nodiscard]] std::optional<alloc::block> block_of(const void* address) const;
    /// What block_of() says of a block that was allocated with this size.
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const {
        return red_zones_ ? std::max<std::uint64_t>(bytes, 1)
                          : alloc::block_allocator::block_bytes(placed(bytes), alignment);
    }
    /// check_options::red_zones
    [[nodiscard]] bool has_red_zones() const { return red_zones_; }
    /// Calls f with the allocator, which nobody uses meanwhile.
    template <class F>
    auto with_allocator(const F& f) const {
        const std::scoped_lock lock(locks_.allocation);
        settle_thread_caches();
        return f(std::as_const(*allocator_));
    }
    /// For a handler of a signal: the allocator, unless a thread is changing it.
    [[nodiscard]] const alloc::block_allocator* quiet_allocator() const;
    /// From now on, until the next commit or rollback, as if threads were seen to wait for the lock. Not in a declared section.
    void expect_threads();
    /// How many slabs threads borrowed, ever.
    [[nodiscard]] std::uint64_t slabs_lent() const;
    /// Whether more memory is accessible than when this was asked last.
    [[nodiscard]] bool has_grown() {
        return has_grown_.load(std::memory_order_relaxed) && has_grown_.exchange(false, std::memory_order_relaxed);
    }

    /// [first, first+bytes) will be written, perhaps by system calls, until the next commit or rollback.
    result<void> declare(const void* first, std::uint64_t bytes);
    /// [first, first+bytes) will be written, and nothing beside it.
    void declare_words(const void* first, std::uint64_t bytes);
    /// As declare(), and system calls may rely on it: it is not spilled meanwhile.
    result<void> touch(const void* first, std::uint64_t bytes);

    /// Begins a declared section (declared_section.hpp).
    void begin_declared();
    /// Before or after the commit; what was declared and not committed is then for the next commit of everything to find.
    void end_declared();
    [[nodiscard]] bool is_declared() const noexcept { return declared_.is_open(); }
    /// A write section begins or ends; callers hold the lock of the sections. Writes are allowed after open().
    void allow_writes(bool allowed);

    // For the engine and its parts, which hold the locks of the heap.

    /// Once, when the heap is opened: makes or checks the header, and the allocator with it.
    result<void> begin();
    /// Memory has just become what was committed last.
    result<void> restored();
    /// Memory has just become what it was at some moment since.
    result<void> changed_under_allocator() { return check_allocator(); }
    /// With all that threads had of it.
    [[nodiscard]] alloc::block_allocator& allocator() {
        settle_thread_caches();
        return *allocator_;
    }
    [[nodiscard]] declared_section& declared() { return declared_; }
    /// Of pages in which no block lies.
    [[nodiscard]] view::page_predicate unused_pages() const {
        return [this](std::uint64_t page) { return !keeps_unused_ && allocator_->is_free_page(page); };
    }
    /// From now on notes whether the allocator changes anything. Not in a declared section.
    void watch_allocator();
    /// Whether it has, so far; ends that. What was given back is freed before.
    bool stop_watching_allocator();
    /// Until it is told otherwise no page counts as unused: what is in them is to be committed, too.
    void keep_unused(bool kept) { keeps_unused_ = kept; }

private:
    // Apart from what is done each time.
    [[nodiscard, gnu::cold]] unexpected why_no_arena() const;
    [[nodiscard, gnu::cold]] unexpected why_no_memory(const alloc::block_allocator& from, std::uint64_t bytes) const;
    [[gnu::noinline]] void wipe(void* block);
    void wipe(heap_range freed);
    [[nodiscard, gnu::cold]] unexpected why_no_block(const void* address,
                                                     const std::optional<alloc::block>& around) const;
    /// What to ask the allocator for.
    [[nodiscard]] std::uint64_t placed(std::uint64_t bytes) const {
        const std::uint64_t whole = red_zones_ ? with_red_zone(bytes) : bytes;
        return aligned_blocks_ ? alloc::bytes_on_lines(whole) : whole;
    }
    [[nodiscard]] static std::uint64_t with_red_zone(std::uint64_t bytes) {
        constexpr std::uint64_t k_more = alloc::k_red_zone_bytes_min + alloc::k_red_zone_record_bytes;
        return bytes > k_heap_bytes_max ? bytes : std::max<std::uint64_t>(bytes, 1) + k_more;
    }
    [[nodiscard]] bool has_thread_caches_on() const { return thread_caches_ != nullptr && thread_caches_->is_on(); }
    /// Whether some thread cache may have blocks: then the allocator is not asked by itself.
    [[nodiscard]] bool uses_thread_caches() const { return thread_caches_ != nullptr && thread_caches_->is_used(); }
    /// By this thread's thread cache; null, or false: as without one.
    [[nodiscard]] void* allocate_in_thread_cache(std::uint64_t bytes, std::uint64_t alignment);
    [[nodiscard]] bool deallocate_in_thread_cache(void* block, std::uint64_t bytes, std::uint64_t alignment);
    [[nodiscard]] std::optional<alloc::block> block_of_locked(const void* address) const {
        return uses_thread_caches() ? thread_caches_->block_of(address) : allocator_->block_of(address);
    }
    /// Takes the lock. If somebody else has it, threads borrow slabs from then on.
    void lock_among_threads() {
        if (!locks_.allocation.try_lock()) [[unlikely]]
            wait_among_threads();
    }
    [[gnu::noinline]] void wait_among_threads();
    [[gnu::noinline]] bool settle_thread_caches() const;
    [[nodiscard]] bool may_turn_on_thread_caches();
    void put_red_zone(const alloc::block& of, std::uint64_t asked);
    /// Ends the process when the block's guard was written over.
    [[gnu::noinline]] void check_red_zone(const void* block) const;
    /// `bytes` are those that the allocator was asked for.
    [[gnu::noinline]] void deallocate_locked(void* block, std::uint64_t bytes, std::uint64_t alignment);
    result<void> format_header();
    result<void> check_header();
    result<void> check_allocator();

    heap_locks& locks_;
    store::heap_file& store_;
    view::memory_view& view_;
    spiller& spiller_;
    const engine_options& options_;
    std::optional<alloc::block_allocator> allocator_; // guarded by the allocation lock, and so are these:
    std::unique_ptr<thread_caches> thread_caches_;    // but for what it says; null: a program without them
    declared_section declared_;
    bool aligned_blocks_ = false; // as the file says
    bool red_zones_ = false;      // likewise
    bool keeps_unused_ = false;
    bool has_allocator_changed_ = false; // since it is watched
    bool may_write_;                     // false: the allocator, too, would be caught
    std::atomic<bool> has_grown_ = false;
    std::atomic<bool> has_arenas_ = false;
};

} // namespace remanence::txn
