#include "txn/heap_memory.hpp"

#include "os/memory.hpp"
#include "txn/name_file.hpp"
#include "txn/red_zones.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::txn {

result<void> heap_memory::begin() {
    aligned_blocks_ = (store_.super().features_ro_compat & format::k_feature_aligned_blocks) != 0;
    red_zones_ = (store_.super().features_ro_compat & format::k_feature_red_zones) != 0;
    longer_blocks_ = (store_.super().features_ro_compat & format::k_feature_longer_blocks) != 0;
    if (store_.image().bytes() == 0) {
        REM_TRY(view_.memory().make_accessible(k_page_bytes));
        REM_TRY(format_header());
        declared_.note_other_changes();
    } else {
        REM_TRY(check_header());
    }
    auto extend = [this](std::uint64_t end) -> result<std::uint64_t> {
        REM_TRY(view_.memory().make_accessible(end));
        has_grown_.store(true, std::memory_order_relaxed);
        return view_.memory().accessible_bytes();
    };
    // The allocator is limited by k_heap_bytes_max only, since the reservation grows while the addresses after it are
    // free.
    allocator_.emplace(base(), header().allocator, extend, k_heap_bytes_max, view_.memory().accessible_bytes());
    if (options_.has.thread_caches != nullptr)
        thread_caches_ = options_.has.thread_caches(*allocator_);
    if (options_.has.block_notes != nullptr)
        notes_.reset(options_.has.block_notes(options_.leak_frames));
    looks_after_blocks_ = red_zones_ || notes_ != nullptr;
    return check_allocator();
}

result<void> heap_memory::restored() {
    declared_.note_no_other_changes();
    if (store_.image().bytes() == 0) { // nothing was ever committed
        declared_.note_other_changes();
        REM_TRY(format_header());
    }
    if (notes_ != nullptr && options_.is_shared)
        notes_->forget_all(); // other processes may have freed blocks, and allocated others there
    else if (notes_ != nullptr)
        notes_->go_back_to(block_notes::k_last_commit);
    return check_allocator();
}

// Cold, like check_allocator(): both are called once when a heap is opened, and consist mostly of messages.
[[gnu::cold]] result<void> heap_memory::check_header() {
    const format::heap_header& h = header(); // I7
    const bool may_have_schema = (store_.super().features_ro_compat & format::k_feature_schema) != 0;
    if (h.magic == format::k_header_magic && format::is_known_header_version(h.version) &&
        format::has_sound_schema(h, may_have_schema, store_.image().bytes()))
        return {};
    const std::uint64_t at = store_.image().copy_of(0);
    if (h.magic == format::k_header_magic && !format::is_known_header_version(h.version)) {
        return fail(errc::unsupported_format,
                    "the heap header in " + path() + " has version " + std::to_string(h.version) +
                        ", this release knows versions up to " + std::to_string(format::k_header_version_newest) +
                        ". Use the release that wrote it.",
                    path(), 0, at);
    }
    return fail(errc::corrupt,
                "the heap header in " + path() + " at byte " + std::to_string(at) +
                    " is damaged. Restore the heap from a copy.",
                path(), 0, at);
}

result<void> heap_memory::format_header() {
    format::heap_header& h = header();
    h.magic = format::k_header_magic;
    h.version = format::k_header_version;
    alloc::block_allocator::format(h.allocator);
    if (options_.read_only)
        return os::protect_read_only(view_.base(), k_page_bytes);
    return {};
}

// I7. Adds the file's name and offset to the error, since the allocator does not know these.
[[gnu::cold]] result<void> heap_memory::check_allocator() {
    if (thread_caches_ != nullptr)
        thread_caches_->forget();
    auto sound = allocator_->check_state();
    if (sound || sound.why().code != errc::corrupt)
        return sound;
    const failure& why = sound.why();
    const bool is_in_file = why.offset < store_.image().bytes();
    const std::uint64_t at = is_in_file ? store_.image().copy_of(why.offset) : error::k_no_offset;
    return fail(errc::corrupt,
                "the allocator's structures in " + path() + (is_in_file ? " at byte " + std::to_string(at) : "") +
                    " are damaged (" + why.message + "). Restore the heap from a copy.",
                path(), 0, at);
}

void* heap_memory::allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why,
                            const void* owner) {
    if (has_thread_caches_on() && owner == base()) [[unlikely]] {
        if (void* const block = allocate_in_thread_cache(placed(bytes), placed_at(placed(bytes), alignment)))
            return block;
    }
    lock_among_threads();
    const std::lock_guard allocation(locks_.allocation, std::adopt_lock);
    alloc::block_allocator* const from = owner == base() ? &*allocator_ : allocator_->arena_at(owner);
    if (from == nullptr) [[unlikely]] {
        why = why_no_arena();
        return nullptr;
    }
    declared_.note_allocation();
    const std::uint64_t whole = placed(bytes);
    const std::uint64_t at = placed_at(whole, alignment);
    void* block = from->allocate(whole, at);
    if (block == nullptr && settle_thread_caches())
        block = from->allocate(whole, at); // again, since slabs of thread caches may have had room
    if (block == nullptr) {
        why = why_no_memory(*from, bytes);
        return nullptr;
    }
    spiller_.spill_if_due({offset_of(block), whole});
    if (looks_after_blocks_) [[unlikely]]
        look_after({block, alloc::block_allocator::block_bytes(whole, alignment)}, bytes);
    return block;
}

bool heap_memory::allocate_at(void* address, std::uint64_t bytes, std::uint64_t alignment) {
    const std::lock_guard allocation(locks_.allocation);
    declared_.note_allocation();
    const std::uint64_t whole = placed(bytes);
    if (!allocator().allocate_at(address, whole, alignment))
        return false;
    if (looks_after_blocks_)
        look_after({address, alloc::block_allocator::block_bytes(whole, alignment)}, bytes);
    return true;
}

bool heap_memory::settle_thread_caches() const { return thread_caches_ != nullptr && thread_caches_->settle(); }

void* heap_memory::allocate_in_thread_cache(std::uint64_t bytes, std::uint64_t alignment) {
    if (!thread_caches::serves(bytes, alignment))
        return nullptr;
    if (void* const block = thread_caches_->allocate(bytes, alignment))
        return block;
    const std::lock_guard allocation(locks_.allocation);
    // Thread caches may have been turned off meanwhile.
    void* const block = thread_caches_->is_on() ? thread_caches_->refill(bytes, alignment) : nullptr;
    if (block == nullptr) {
        thread_caches_->settle(); // otherwise each free() would search the lent slabs
        return nullptr;
    }
    spiller_.spill_if_due({align_down(offset_of(block), alloc::k_slab_bytes), alloc::k_slab_bytes},
                          thread_caches_->take_block_count());
    return block;
}

bool heap_memory::deallocate_in_thread_cache(void* block, std::uint64_t bytes, std::uint64_t alignment) {
    if (!thread_caches::serves(bytes, alignment))
        return false;
    if (thread_caches_->deallocate(block, bytes))
        return true;
    const std::lock_guard allocation(locks_.allocation);
    thread_caches_->free_returned();
    spiller_.spill_if_due({}, thread_caches_->take_block_count());
    deallocate_locked(block, bytes, alignment);
    return true;
}

[[gnu::cold]] void heap_memory::wait_among_threads() {
    locks_.allocation.lock();
    if (may_turn_on_thread_caches())
        thread_caches_->note_wait();
}

// Thread caches stay off with red zones, notes of allocations, checks or reports of stray writes, which need to handle
// each block when it is allocated or freed. They also stay off in a declared section, since changes by a thread cache
// are not declared.
[[gnu::cold]] bool heap_memory::may_turn_on_thread_caches() {
    if (thread_caches_ == nullptr || looks_after_blocks_ || options_.inspect ||
        options_.report_stray_write != nullptr || is_declared())
        return false;
    declared_.note_allocation(); // once for all later allocations by thread caches
    return true;
}

[[gnu::cold]] void heap_memory::expect_threads() {
    const std::lock_guard allocation(locks_.allocation);
    if (may_turn_on_thread_caches())
        thread_caches_->turn_on();
}

std::uint64_t heap_memory::slabs_lent() const {
    const std::lock_guard allocation(locks_.allocation);
    return thread_caches_ != nullptr ? thread_caches_->lent_count() : 0;
}

std::byte* heap_memory::owner_of(const void* address) const {
    const std::scoped_lock lock(locks_.allocation);
    const alloc::block_allocator* const of = allocator_->arena_around(address);
    return of != nullptr ? of->base() : base();
}

result<std::byte*> heap_memory::make_arena(std::string_view name, const arena_options& options) {
    const std::scoped_lock lock(locks_.allocation);
    declared_.note_allocation();
    std::byte* const made = allocator_->make_arena(name, options.room_bytes, options.resident_limit_bytes);
    if (made == nullptr)
        return why_no_memory(*allocator_, options.room_bytes);
    // A release that does not know arenas refuses to open a heap with this version.
    header().version = std::max(header().version, format::k_header_version_with_arenas);
    return made;
}

bool heap_memory::has_limited_arenas() const {
    const std::scoped_lock lock(locks_.allocation);
    return !limited_arenas().empty();
}

std::vector<heap_memory::limited_arena> heap_memory::limited_arenas() const {
    std::vector<limited_arena> found;
    allocator_->for_each_arena([&](const format::arena_header& header, const alloc::block_allocator& blocks) {
        if (header.resident_limit_bytes != 0)
            found.push_back({{offset_of(blocks.base()), blocks.used_bytes()}, header.resident_limit_bytes});
    });
    return found;
}

std::byte* heap_memory::find_arena(std::string_view name) const {
    const std::scoped_lock lock(locks_.allocation);
    return allocator_->find_arena(name);
}

void heap_memory::destroy_arena(std::byte* arena) {
    const std::scoped_lock lock(locks_.allocation);
    declared_.note_allocation();
    settle_thread_caches(); // thread caches may hold freed blocks of this arena
    if (notes_ != nullptr)
        notes_->freed_all(arena, allocator_->arena_at(arena)->used_bytes());
    allocator_->destroy_arena(arena);
}

std::vector<heap_memory::arena_usage> heap_memory::arenas() const {
    const std::scoped_lock lock(locks_.allocation);
    std::vector<arena_usage> found;
    settle_thread_caches();
    allocator_->for_each_arena([&](const format::arena_header& header, const alloc::block_allocator& blocks) {
        found.push_back({header.name.data(), blocks.base(), header.pages * k_page_bytes, blocks.used_bytes(),
                         blocks.allocated_bytes(), header.resident_limit_bytes});
    });
    return found;
}

unexpected heap_memory::why_no_arena() const {
    return fail(errc::invalid_argument, "memory was asked for in an arena of " + path() + " that was destroyed.",
                path());
}

unexpected heap_memory::why_no_memory(const alloc::block_allocator& from, std::uint64_t bytes) const {
    unexpected found = from.failure();
    failure& why = found.why();
    if (why.path.empty()) { // the allocator does not know the file
        why.path = path();
        why.message = "no " + std::to_string(bytes) + " bytes of memory in the heap " + path() + ": " + why.message;
        if (why.code == errc::exhausted)
            why.message += ". Free memory in it, or split the data over several heaps.";
    }
    return found;
}

void heap_memory::deallocate(void* block, std::uint64_t bytes, std::uint64_t alignment) {
    if (longer_blocks_) [[unlikely]] {
        // Without such a block, what follows says so and ends the process.
        const auto found = block_of(block);
        if (found && found->start == block && found->bytes >= bytes)
            bytes = found->bytes;
    }
    if (has_thread_caches_on() && deallocate_in_thread_cache(block, placed(bytes), alignment)) [[unlikely]]
        return;
    lock_among_threads();
    const std::lock_guard allocation(locks_.allocation, std::adopt_lock);
    deallocate_locked(block, placed(bytes), alignment);
}

result<void> heap_memory::deallocate(void* block) {
    std::lock_guard allocation(locks_.allocation);
    const auto found = block_of_locked(block);
    if (!found || found->start != block)
        return why_no_block(block, found);
    deallocate_locked(block, found->bytes, alloc::k_granule_bytes);
    return {};
}

unexpected heap_memory::why_no_block(const void* address, const std::optional<alloc::block>& around) const {
    const std::string where = "the address at offset " + std::to_string(offset_of(address)) + " of the heap " + path();
    if (!around) {
        unexpected why = fail(errc::invalid_argument,
                              where + " belongs to no block: it was freed before, or never allocated.", path());
        add_origin(why.why().message, address);
        return why;
    }
    return fail(errc::invalid_argument,
                where + " lies inside a block, which begins " +
                    std::to_string(offset_of(address) - offset_of(around->start)) + " bytes before it.",
                path());
}

void heap_memory::deallocate_locked(void* block, std::uint64_t bytes, std::uint64_t alignment) {
    declared_.note_allocation();
    if (looks_after_blocks_) [[unlikely]]
        look_at_freed(block, alloc::block_allocator::block_bytes(bytes, alignment));
    if (options_.inspect) [[unlikely]]
        wipe(block);
    if (uses_thread_caches()) [[unlikely]]
        thread_caches_->free(block, bytes, alignment);
    else
        allocator_->deallocate(block, bytes, alignment);
    if (!may_write_) [[unlikely]]
        allocator_->flush(); // so that a stray write is reported here, and not by a later commit
    else if (options_.inspect || looks_after_blocks_) [[unlikely]]
        allocator_->free_returned(); // reports at once if the address is no block
    spiller_.spill_if_due({});
}

bool heap_memory::resize(void* block, std::uint64_t bytes) {
    std::lock_guard allocation(locks_.allocation);
    const auto found = block_of_locked(block);
    if (!found || found->start != block || bytes > k_heap_bytes_max)
        return false;
    if (placed(bytes) >= found->bytes / 2 && resize_within_locked(*found, bytes))
        return true;
    // No other block uses the rest of the last page.
    const std::uint64_t whole = align_up(red_zones_ ? with_red_zone(bytes) : bytes, k_page_bytes);
    if (!is_aligned(offset_of(block), placed_at(whole, 1)))
        return false;
    declared_.note_allocation();
    if (looks_after_blocks_) [[unlikely]]
        look_at_freed(block, found->bytes);
    if (!allocator_->resize(block, found->bytes, whole))
        return false;
    const std::uint64_t at = offset_of(block);
    if (options_.inspect && whole < found->bytes) [[unlikely]]
        wipe({at + whole, found->bytes - whole});
    spiller_.spill_if_due({at + found->bytes, whole > found->bytes ? whole - found->bytes : 0});
    if (looks_after_blocks_) [[unlikely]]
        look_after({block, whole}, bytes);
    return true;
}

bool heap_memory::resize_within(void* block, std::uint64_t bytes) {
    const std::lock_guard allocation(locks_.allocation);
    const auto found = block_of_locked(block);
    return found && found->start == block && resize_within_locked(*found, bytes);
}

bool heap_memory::resize_within_locked(const alloc::block& of, std::uint64_t bytes) {
    if (placed(bytes) > of.bytes)
        return false;
    if (looks_after_blocks_) [[unlikely]] {
        declared_.note_allocation();
        look_at_freed(of.start, of.bytes);
        look_after(of, bytes);
    }
    return true;
}

void heap_memory::wipe(void* block) {
    const auto freed = allocator_->block_of(block);
    if (!freed || freed->start != block)
        return;
    wipe({offset_of(freed->start), freed->bytes});
}

void heap_memory::wipe(heap_range freed) {
    if (is_declared())
        (void)view_.declare(freed.offset, freed.bytes);
    std::memset(base() + freed.offset, 0, freed.bytes);
}

std::optional<alloc::block> heap_memory::block_of(const void* address) const {
    std::lock_guard allocation(locks_.allocation);
    auto found = block_of_locked(address);
    if (found && red_zones_) {
        found->bytes = alloc::bytes_without_red_zone(found->start, found->bytes);
    }
    return found;
}

const alloc::block_allocator* heap_memory::quiet_allocator() const {
    if (!locks_.allocation.try_lock())
        return nullptr;
    const bool is_quiet = thread_caches_ == nullptr || thread_caches_->is_quiet();
    locks_.allocation.unlock();
    return is_quiet ? &*allocator_ : nullptr;
}

void heap_memory::allow_writes(bool allowed) {
    if (options_.report_stray_write != nullptr) {
        const std::lock_guard allocation(locks_.allocation);
        if (!allowed)
            allocator_->flush(); // before writes are forbidden
        may_write_ = allowed;
    }
    view_.allow_writes(allowed);
}

void heap_memory::begin_declared() {
    std::lock_guard allocation(locks_.allocation);
    settle_thread_caches();
    declared_.begin();
    view_.note_declarations(true);
    allocator_->set_listener([this](std::uint64_t offset, std::uint64_t bytes) {
        // If a tracker cannot make the pages writable now, it tries again when they are written.
        (void)view_.declare(offset, bytes);
    });
}

void heap_memory::end_declared() {
    std::lock_guard allocation(locks_.allocation);
    if (!is_declared())
        return;
    declared_.end(!view_.has_no_declarations());
    view_.note_declarations(false);
    allocator_->set_listener({});
}

result<void> heap_memory::declare(const void* first, std::uint64_t bytes) {
    std::lock_guard allocation(locks_.allocation);
    auto declared = view_.declare(offset_of(first), bytes);
    if (!declared)
        return name_file("touch in ", path(), declared.why());
    spiller_.spill_if_due({offset_of(first), bytes}); // never spills the range that was declared here
    return {};
}

// If a tracker cannot make the pages writable now, it tries again when they are written.
void heap_memory::declare_words(const void* first, std::uint64_t bytes) {
    const std::lock_guard allocation(locks_.allocation);
    (void)view_.declare_words(offset_of(first), bytes);
    spiller_.spill_if_due({offset_of(first), bytes});
}

// Prevents spilling before it declares: memory that was declared first and then spilled would have to be declared
// again.
result<void> heap_memory::touch(const void* first, std::uint64_t bytes) {
    {
        const std::lock_guard allocation(locks_.allocation);
        view_.spiller().keep_in_memory(offset_of(first), bytes);
    }
    return declare(first, bytes);
}

void heap_memory::watch_allocator() {
    allocator().flush();
    has_allocator_changed_ = false;
    allocator_->set_listener([this](std::uint64_t, std::uint64_t) { has_allocator_changed_ = true; });
}

bool heap_memory::stop_watching_allocator() {
    allocator().flush();
    allocator_->set_listener({});
    return has_allocator_changed_;
}

} // namespace remanence::txn
