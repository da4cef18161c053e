#include "volatile/heap.hpp"

#include "os/anonymous_memory.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace remanence::transient {

namespace {

constexpr std::uint64_t k_thread_caches_max = 32 * 1024; // threads at the same time, about as many as Linux allows
constexpr std::uint64_t k_growth_min = 256 * KiB;
constexpr std::uint64_t k_growth_max = 64 * MiB;
constexpr int k_vacant_looks = 4;
constexpr int k_places_max = 64; // attempts to find addresses

std::uint64_t units(std::uint64_t bytes) { return divide_up(bytes, k_unit_bytes); }
std::uint64_t table_bytes(std::uint64_t entries, std::uint64_t entry_bytes) {
    return align_up(entries * entry_bytes, k_page_bytes);
}
/// Returns the size of the range of a heap with `reserved` bytes for blocks (V1).
std::uint64_t range_bytes(std::uint64_t reserved) {
    return reserved + table_bytes(units(reserved), sizeof(slab*)) + table_bytes(units(reserved), sizeof(slab)) +
           table_bytes(k_thread_caches_max, sizeof(thread_cache));
}

} // namespace

// --- opening and closing

int heap::open(const heap_options& options) noexcept {
    how_ = options.how;
    is_far_ = options.is_far;
    numa_node_ = options.numa_node;
    make_writable_ = options.make_writable;
    reserved_bytes_ = align_up(options.reserve_bytes, GiB);
    if (options.base != nullptr) {
        const int taken = os::reserve_addresses_at(options.base, range_bytes(reserved_bytes_));
        return taken == 0 ? open_in(options.base) : taken;
    }
    if (options.holds_no_addresses)
        // under Valgrind, for example, no addresses are free where we look
        return open_without_addresses() == 0 ? 0 : open_with_addresses();
    const int code = open_with_addresses();
    return code != ENOMEM || numa_node_ ? code : open_without_addresses();
}

int heap::open_with_addresses() noexcept {
    std::byte* range = is_far_ ? os::reserve_far_addresses(range_bytes(reserved_bytes_)) : nullptr;
    if (range == nullptr)
        range = os::reserve_addresses(range_bytes(reserved_bytes_), GiB);
    return range == nullptr ? ENOMEM : open_in(range);
}

int heap::open_in(std::byte* range) noexcept {
    addresses_ = os::addresses::held;
    lay_out(range);
    const int code = numa_node_ ? os::bind_to_node(base_, range_bytes(reserved_bytes_), *numa_node_) : 0;
    if (code == 0)
        return start_core();
    release_range();
    return code;
}

int heap::open_without_addresses() noexcept {
    addresses_ = os::addresses::found_free;
    int code = ENOMEM;
    for (int i = 0; i != k_places_max; ++i) {
        lay_out(os::find_free_addresses(range_bytes(reserved_bytes_)));
        code = is_open() ? start_core() : ENOMEM;
        if (code != EEXIST)
            break;
    }
    return code;
}

// V1
void heap::lay_out(std::byte* range) noexcept {
    base_ = range;
    accessible_bytes_.store(0, std::memory_order_relaxed);
    if (range == nullptr)
        return;
    blocks_ = {range};
    units_table_ = {blocks_.start + reserved_bytes_};
    slabs_table_ = {units_table_.start + table_bytes(units(reserved_bytes_), sizeof(slab*))};
    thread_caches_table_ = {slabs_table_.start + table_bytes(units(reserved_bytes_), sizeof(slab))};
    slab_of_unit_ = reinterpret_cast<std::atomic<slab*>*>(units_table_.start);
    slabs_ = reinterpret_cast<slab*>(slabs_table_.start);
    thread_caches_ = reinterpret_cast<thread_cache*>(thread_caches_table_.start);
}

// Returns 0, or errno; EEXIST if something else lies there. After an error the heap is closed.
int heap::start_core() noexcept {
    int code = make_accessible(k_growth_min);
    if (code == 0) {
        number_ = register_heap(*this);
        code = number_ == 0 ? EEXIST : 0;
    }
    if (code != 0) {
        release_range();
        return code;
    }
    auto& state = *reinterpret_cast<format::alloc_state*>(base_);
    alloc::block_allocator::format(state);
    core_.emplace(
        base_, state,
        [this](std::uint64_t end) -> result<std::uint64_t> {
            (void)make_accessible(end);
            return accessible_bytes_.load(std::memory_order_relaxed);
        },
        reserved_bytes_, accessible_bytes_.load(std::memory_order_relaxed));
    return 0;
}

void heap::release_range() noexcept {
    if (addresses_ == os::addresses::held) {
        os::release_addresses(base_, range_bytes(reserved_bytes_));
    } else {
        for (const part& each : {blocks_, units_table_, slabs_table_, thread_caches_table_}) {
            if (each.writable_bytes != 0)
                os::release_addresses(each.start, each.writable_bytes);
        }
    }
    base_ = nullptr;
}

heap::~heap() {
    if (!is_open())
        return;
    unregister_heap(*this);
    if constexpr (os::k_marks_memory) { // other code will use these addresses
        for_each_block([](alloc::block left) { os::mark_freed(left.start, left.bytes); });
        os::allow_memory(base_, accessible_bytes_.load(std::memory_order_relaxed));
    }
    release_range();
}

int heap::grow(part& which, std::uint64_t bytes) noexcept {
    bytes = align_up(bytes, k_page_bytes);
    if (bytes <= which.writable_bytes)
        return 0;
    const int code = make_writable_(which.start + which.writable_bytes, bytes - which.writable_bytes, addresses_);
    if (code == 0)
        which.writable_bytes = bytes;
    return code;
}

// Grows in steps, since each step is a system call; if there is no memory for a step, grows only as far as needed.
// Blocks come first, because they need the most memory.
int heap::make_accessible(std::uint64_t end) noexcept {
    const std::uint64_t was = accessible_bytes_.load(std::memory_order_relaxed);
    if (end <= was)
        return 0;
    const std::uint64_t step = std::clamp(was / 8, k_growth_min, k_growth_max);
    int code = 0;
    for (const std::uint64_t wanted : {std::max(end, was + step), end}) {
        const std::uint64_t becomes = std::min(align_up(wanted, k_unit_bytes), reserved_bytes_);
        code = grow(blocks_, becomes);
        if (code == 0)
            code = grow(units_table_, units(becomes) * sizeof(slab*));
        if (code == 0)
            code = grow(slabs_table_, units(becomes) * sizeof(slab));
        if (code == 0) {
            accessible_bytes_.store(becomes, std::memory_order_relaxed);
            break;
        }
    }
    return code;
}

bool heap::overlaps(const heap& other) const noexcept {
    return base_ < other.base_ + range_bytes(other.reserved_bytes_) &&
           other.base_ < base_ + range_bytes(reserved_bytes_);
}

// --- allocating

void* heap::allocate_in_next(thread_cache& mine, std::uint32_t index) noexcept {
    bin& from = mine.bins[index];
    if (from.current != nullptr) {
        if (mine.next_word(from))
            return from.take();
        mine.leave_current(from); // it is full, so it goes into no list
    }
    if (!mine.adopt_listed(index)) {
        collect_told(mine, false);
        if (!mine.adopt_listed(index) && !(acquire_slab(mine, index) && mine.adopt_listed(index)))
            return nullptr;
    }
    return from.take();
}

void* heap::allocate_other(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > reserved_bytes_ || alignment > k_alignment_max || !is_power_of_two(alignment))
        return nullptr;
    const std::size_t placed = placed_bytes(std::max<std::size_t>(bytes, 1), how_);
    if (placed > k_class_bytes_max || alignment > k_page_bytes)
        return take_pages(align_up(placed, k_page_bytes), std::max(alignment, k_page_bytes)).start;
    thread_cache* const mine = thread_cache_of_this_thread();
    if (mine == nullptr)
        return nullptr;
    std::uint32_t index = class_of(std::max(placed, alignment));
    while (!is_aligned(class_bytes(index), alignment)) // slabs begin at a page, so the block's size decides
        ++index;
    void* const got = mine->bins[index].take();
    return got != nullptr ? got : allocate_in_next(*mine, index);
}

void* heap::allocate_zeros(std::size_t bytes) noexcept {
    if (bytes > k_class_bytes_max) {
        if (bytes > reserved_bytes_)
            return nullptr;
        const pages got = take_pages(align_up(bytes, k_page_bytes), k_page_bytes);
        void* const block = marked(got.start);
        if (block != nullptr && !got.are_zero)
            std::memset(block, 0, bytes);
        return block;
    }
    void* const got = allocate(bytes);
    if (got != nullptr)
        std::memset(got, 0, bytes);
    return got;
}

// Gets a slab from a vacant thread cache, or makes one, and puts it into the list of its class in `mine`.
bool heap::acquire_slab(thread_cache& mine, std::uint32_t index) noexcept {
    {
        const std::scoped_lock lock(lock_);
        if (take_from_vacant(mine, index))
            return true;
    }
    slab* made = make_slab(index);
    if (made == nullptr) {
        const std::scoped_lock lock(lock_);
        release_idle(mine);
    }
    if (made == nullptr)
        made = make_slab(index);
    if (made == nullptr)
        return false;
    made->owner.store(&mine, std::memory_order_release);
    mine.put_in_list(*made);
    return true;
}

// Vacant thread caches without a slab of this class go to the end of the list, so that all are searched in turn (FR1).
bool heap::take_from_vacant(thread_cache& mine, std::uint32_t index) noexcept {
    thread_cache* const last = last_vacant_;
    for (int looks = 0; vacant_ != nullptr && looks != k_vacant_looks; ++looks) {
        thread_cache& from = *vacant_;
        collect_told(from, true);
        if (slab* const found = from.listed[index]) {
            from.take_out_of_list(*found);
            found->owner.store(&mine, std::memory_order_release);
            mine.put_in_list(*found);
            return true;
        }
        if (&from == last)
            break;
        vacant_ = from.next_vacant;
        append_vacant(from);
    }
    return false;
}

void heap::append_vacant(thread_cache& of) noexcept {
    of.next_vacant = nullptr;
    (vacant_ != nullptr ? last_vacant_->next_vacant : vacant_) = &of;
    last_vacant_ = &of;
}

slab* heap::make_slab(std::uint32_t index) noexcept {
    const std::uint64_t bytes = units_of_class(index) * k_unit_bytes;
    // Until all units are entered, a thread that inspects the heap would consider the pages a large block. So the lock
    // is held until then.
    const std::scoped_lock lock(lock_);
    const pages got = take_pages_locked(bytes, k_unit_bytes);
    if (got.start == nullptr)
        return nullptr;
    slab* const made = header_of(got.start);
    made->format(got.start, index);
    const std::uint64_t first = static_cast<std::uint64_t>(got.start - base_) / k_unit_bytes;
    for (std::uint64_t i = 0; i != made->unit_count; ++i)
        slab_of_unit_[first + i].store(made, std::memory_order_release); // V2
    return made;
}

// --- freeing

// Called after a block became free, if its word of `free` had been zero, or has all blocks now. Keeps SL3 and SL4 (slab.hpp).
void heap::note_freed(thread_cache& mine, slab& of, std::uint32_t in) noexcept {
    const bool was_full = of.filled == 0;
    of.filled |= std::uint64_t{1} << in;
    if (was_full && !of.is_current)
        mine.put_in_list(of);
    if (of.words[in].free.load(std::memory_order_relaxed) == of.whole_word(in))
        word_is_idle(mine, of, in);
}

// Called after the last used block of a word became free. Keeps SL3.
void heap::word_is_idle(thread_cache& mine, slab& of, std::uint32_t in) noexcept {
    of.idle |= std::uint64_t{1} << in;
    if (of.is_current || !of.is_idle())
        return;
    slab* released = nullptr;
    take_out_of_list_or_keep(mine, of, released);
    if (released != nullptr) {
        const std::scoped_lock lock(lock_);
        give_back(*released);
    }
}

// An idle slab stays if it is the only listed one of its class, because blocks of its size may soon be needed again.
// Other idle slabs are put in front of `released`.
void heap::take_out_of_list_or_keep(thread_cache& mine, slab& of, slab*& released) noexcept {
    slab* const first = mine.listed[of.size_class];
    if (first == nullptr || (first == &of && of.next == nullptr)) {
        if (!of.is_listed)
            mine.put_in_list(of);
        return;
    }
    if (of.is_listed)
        mine.take_out_of_list(of);
    of.next = released;
    released = &of;
}

// A block of another thread's slab, or of this thread's, whose thread cache has to be found.
void heap::free_other(slab& of, std::uint32_t index) noexcept {
    thread_cache* const mine = known_thread_cache_of_this_thread();
    if (mine != nullptr && of.owner.load(std::memory_order_relaxed) == mine)
        return free_own(*mine, of, index);
    slab::word& word = of.words[index / slab::k_word_bits];
    const std::uint64_t bit = std::uint64_t{1} << index % slab::k_word_bits;
    const std::uint64_t free = word.free.load(std::memory_order_relaxed);
    if (!has_tellers_.load(std::memory_order_relaxed)) [[unlikely]]
        // it must be set before the owner can see that the slab is idle
        has_tellers_.store(true, std::memory_order_relaxed);
    // Release: the owner will see what this thread, and the threads before it, wrote to the block.
    const std::uint64_t returned = word.returned.fetch_or(bit, std::memory_order_seq_cst);
    if (((free | returned) & bit) != 0) [[unlikely]]
        refuse(of.block(index), k_twice);
    tell_owner(of);
}

// SL1: the thread cache belongs to this thread; or it is vacant, and the heap is locked.
void heap::collect_told(thread_cache& of, bool is_locked) noexcept {
    slab* each = of.told.exchange(nullptr, std::memory_order_acquire);
    slab* released = nullptr;
    while (each != nullptr) {
        slab& told = *each;
        each = told.next_told.load(std::memory_order_relaxed);
        // before collect(): a thread that frees a block from now on tells the owner again
        told.told.exchange(false, std::memory_order_seq_cst);
        thread_cache* const owner = told.owner.load(std::memory_order_acquire);
        if (owner != &of) { // SL5
            if (owner != nullptr)
                tell_owner(told);
            continue;
        }
        told.collect();
        if (told.is_current || told.filled == 0)
            continue;
        if (told.is_idle())
            take_out_of_list_or_keep(of, told, released);
        else if (!told.is_listed)
            of.put_in_list(told);
    }
    if (released == nullptr)
        return;
    std::unique_lock lock(lock_, std::defer_lock);
    if (!is_locked)
        lock.lock();
    while (released != nullptr) {
        slab& gone = *released;
        released = gone.next;
        give_back(gone);
    }
}

// The caller must hold the lock.
void heap::give_back(slab& of) noexcept {
    const std::uint64_t first = static_cast<std::uint64_t>(of.start - base_) / k_unit_bytes;
    for (std::uint64_t i = 0; i != of.unit_count; ++i)
        slab_of_unit_[first + i].store(nullptr, std::memory_order_relaxed);
    of.owner.store(nullptr, std::memory_order_release);
    const std::uint64_t bytes = of.unit_count * k_unit_bytes;
    core_->deallocate(of.start, bytes);
    note_given_back(bytes);
}

void heap::note_given_back(std::uint64_t bytes) noexcept {
    free_used_bytes_ += bytes;
    if (free_used_bytes_ < next_look_bytes_)
        return;
    // Of large blocks perhaps only a few pages were ever touched. There is no fast way to count these pages for a
    // block, only for the whole process.
    std::uint64_t used = core_state().allocated_bytes;
    if (const std::uint64_t in_memory = os::anonymous_bytes(); in_memory != 0)
        used = std::min(used, in_memory);
    if (free_used_bytes_ >= used / 4)
        trim_locked();
    else
        next_look_bytes_ = free_used_bytes_ + k_trim_min;
}

void heap::trim() noexcept {
    const std::scoped_lock lock(lock_);
    trim_locked();
}

void heap::trim_locked() noexcept {
    free_used_bytes_ = 0;
    next_look_bytes_ = k_trim_min;
    core_->for_each_free_stretch(k_unit_bytes, untouched_, alloc::block_allocator::planes::left_out,
                                 [this](heap_range free) {
                                     os::give_memory_back(base_ + free.offset, free.bytes);
                                     give_headers_back(free);
                                 });
}

// A thread that freed a block may tell the owner of that slab long after the slab is gone (SL5). Since this would write
// to the slab's header, all headers stay once any thread has freed a block of another thread's slab.
void heap::give_headers_back(heap_range of_free) noexcept {
    if (has_tellers_.load(std::memory_order_relaxed))
        return;
    auto* const headers = reinterpret_cast<std::byte*>(slabs_);
    const std::uint64_t begin = align_up(units(of_free.offset) * sizeof(slab), k_page_bytes);
    const std::uint64_t end = align_down(of_free.end() / k_unit_bytes * sizeof(slab), k_page_bytes);
    if (begin < end)
        os::give_memory_back(headers + begin, end - begin);
}

void heap::refuse(const void* address, const char* what) noexcept { os::abort_with(what, address); }

std::size_t heap::usable_bytes(const void* address) const noexcept {
    if (const slab* const of = slab_around(address)) {
        const std::uint32_t index = of->block_at(address);
        if (index >= of->block_count)
            refuse(address, k_inside);
        if ((of->free_bits(index / slab::k_word_bits) >> index % slab::k_word_bits & 1U) != 0)
            refuse(address, k_twice);
        return of->block_bytes;
    }
    const std::scoped_lock lock(lock_);
    const std::optional<alloc::block> found = large_block_of(address);
    if (!found || found->start != address)
        refuse(address, found ? k_inside : k_foreign);
    return found->bytes;
}

// --- thread caches

bool heap::has_vacant_thread_cache() const noexcept {
    const std::scoped_lock lock(lock_);
    return vacant_ != nullptr;
}

thread_cache* heap::take_thread_cache() noexcept {
    const std::scoped_lock lock(lock_);
    if (thread_cache* const taken = vacant_) {
        vacant_ = taken->next_vacant;
        return taken;
    }
    if (thread_cache_count_ == k_thread_caches_max ||
        grow(thread_caches_table_, (thread_cache_count_ + 1) * sizeof(thread_cache)) != 0)
        return nullptr;
    thread_cache& made = thread_caches_[thread_cache_count_++];
    made.format(this, number_, how_ == placing::compact ? k_compact_classes : k_line_classes);
    return &made;
}

void heap::leave(thread_cache& of) noexcept {
    const std::scoped_lock lock(lock_);
    for (bin& each : of.bins) {
        if (each.current == nullptr)
            continue;
        slab& left = *each.current;
        of.leave_current(each);
        if (left.filled != 0)
            of.put_in_list(left);
    }
    collect_told(of, true);
    release_idle(of);
    of.thread = nullptr;
    of.next_vacant = vacant_;
    if (vacant_ == nullptr)
        last_vacant_ = &of;
    vacant_ = &of;
}

// The caller must hold the lock.
void heap::release_idle(thread_cache& of) noexcept {
    for (slab* each : of.listed) {
        while (each != nullptr) {
            slab& listed = *each;
            each = listed.next;
            if (!listed.is_idle())
                continue;
            of.take_out_of_list(listed);
            give_back(listed);
        }
    }
}

} // namespace remanence::transient
