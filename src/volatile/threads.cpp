#include "volatile/threads.hpp"

#include "os/anonymous_memory.hpp"
#include "os/quick_mutex.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

namespace remanence::transient {

REM_QUICK_TLS constinit thread_local std::array<known_thread_cache, k_known_thread_caches> t_known_thread_caches{};

namespace {

REM_QUICK_TLS constinit thread_local slab_caches t_thread_caches{};

constinit os::quick_mutex changing;
constinit os::thread_exit_hook exit_hook;
constinit std::uint64_t last_number = 0;
constinit heap* heaps = nullptr;
constinit bool is_prepared = false;

known_thread_cache* slot_of(std::uint64_t heap_number) {
    std::size_t at = heap_number % t_thread_caches.slots;
    while (t_thread_caches.table[at].heap_number != heap_number && t_thread_caches.table[at].heap_number != 0)
        at = (at + 1) % t_thread_caches.slots;
    return &t_thread_caches.table[at];
}

void drop_table() {
    if (t_thread_caches.table != nullptr)
        os::release_addresses(reinterpret_cast<std::byte*>(t_thread_caches.table),
                              t_thread_caches.slots * sizeof(known_thread_cache));
    t_thread_caches.table = nullptr;
}

// Makes a table with the thread caches of the list, and room for as many again. The caller must have locked `changing`.
void make_table() {
    drop_table();
    t_thread_caches.used = 0;
    for (const thread_cache* each = t_thread_caches.first; each != nullptr; each = each->next_of_thread)
        ++t_thread_caches.used;
    if (t_thread_caches.used < 2)
        return;
    t_thread_caches.slots =
        std::max(std::bit_ceil(4 * t_thread_caches.used), k_page_bytes / sizeof(known_thread_cache));
    const std::size_t bytes = t_thread_caches.slots * sizeof(known_thread_cache);
    std::byte* const got = os::reserve_addresses(bytes, k_page_bytes);
    if (got == nullptr)
        return;
    if (os::make_writable(got, bytes, os::addresses::held) != 0)
        return os::release_addresses(got, bytes);
    t_thread_caches.table = reinterpret_cast<known_thread_cache*>(got);
    for (thread_cache* each = t_thread_caches.first; each != nullptr; each = each->next_of_thread)
        *slot_of(each->heap_number) = {each->heap_number, each};
}

/// Makes the thread caches of the ending thread vacant, in all heaps.
void leave_thread_caches(void* /*hook*/) {
    const std::scoped_lock lock(changing);
    drop_table();
    while (thread_cache* const left = t_thread_caches.first) {
        t_thread_caches.first = left->next_of_thread;
        left->home->leave(*left);
    }
    t_known_thread_caches = {};
}

void lock_all() {
    changing.lock_before_fork();
    for (heap* each = heaps; each != nullptr; each = each->next_registered())
        each->lock().lock_before_fork();
}

void unlock_all() {
    for (heap* each = heaps; each != nullptr; each = each->next_registered())
        each->lock().unlock_after_fork();
    changing.unlock_after_fork();
}

// The state in which other threads of the parent left their thread caches is unknown. So the child does not use these;
// it loses the memory that they hold.
void go_on_in_child() {
    for (heap* each = heaps; each != nullptr; each = each->next_registered()) {
        each->for_each_thread_cache([](thread_cache& of) {
            if (of.thread != &t_thread_caches)
                of.thread = nullptr;
        });
    }
    unlock_all();
}

/// Made when the program starts. If it were made at the first use, another thread might fork in between.
struct fork_watch {
    fork_watch() noexcept { os::call_around_fork(lock_all, unlock_all, go_on_in_child); }
};
const fork_watch k_fork_watch;

// The caller must have locked `changing`.
void prepare() {
    if (is_prepared)
        return;
    is_prepared = true;
    exit_hook.create(leave_thread_caches);
}

thread_cache* find_locked(std::uint64_t heap_number) {
    for (thread_cache* each = t_thread_caches.first; each != nullptr; each = each->next_of_thread) {
        if (each->heap_number == heap_number)
            return each;
    }
    return nullptr;
}

thread_cache* remember(std::uint64_t heap_number, thread_cache* mine) {
    t_known_thread_caches[heap_number % k_known_thread_caches] = {heap_number, mine};
    return mine;
}

} // namespace

thread_cache* find_thread_cache(std::uint64_t heap_number) noexcept {
    if (t_thread_caches.table != nullptr)
        return remember(heap_number, slot_of(heap_number)->mine);
    const std::scoped_lock lock(changing);
    return remember(heap_number, find_locked(heap_number));
}

thread_cache* find_or_take_thread_cache(heap& of) noexcept {
    const std::scoped_lock lock(changing);
    if (thread_cache* const found = find_locked(of.number()))
        return remember(of.number(), found);
    // If a destructor allocates memory in the last round of a thread's destructors, the thread gets a thread cache that
    // no later hook makes vacant. Sooner or later the thread-local variables of another thread lie where those of the
    // ended thread lay; that thread finds the thread cache here.
    if (!of.has_vacant_thread_cache()) {
        of.for_each_thread_cache([&](thread_cache& each) {
            if (each.thread == &t_thread_caches)
                of.leave(each);
        });
    }
    thread_cache* const taken = of.take_thread_cache();
    if (taken == nullptr)
        return nullptr;
    exit_hook.arm();
    taken->thread = &t_thread_caches;
    taken->next_of_thread = t_thread_caches.first;
    t_thread_caches.first = taken;
    if (t_thread_caches.table != nullptr && 2 * ++t_thread_caches.used <= t_thread_caches.slots)
        *slot_of(of.number()) = {of.number(), taken};
    else
        make_table();
    return remember(of.number(), taken);
}

std::uint64_t register_heap(heap& which) noexcept {
    const std::scoped_lock lock(changing);
    for (const heap* each = heaps; each != nullptr; each = each->next_registered()) {
        if (each->overlaps(which))
            return 0;
    }
    prepare();
    which.set_next_registered(heaps);
    heaps = &which;
    return ++last_number;
}

void unregister_heap(heap& which) noexcept {
    const std::scoped_lock lock(changing);
    if (heaps == &which)
        heaps = which.next_registered();
    for (heap* each = heaps; each != nullptr; each = each->next_registered()) {
        if (each->next_registered() == &which)
            each->set_next_registered(which.next_registered());
    }
    which.for_each_thread_cache([](thread_cache& of) {
        if (of.thread == nullptr)
            return;
        thread_cache** at = &of.thread->first;
        while (*at != &of)
            at = &(*at)->next_of_thread;
        *at = of.next_of_thread;
    });
}

} // namespace remanence::transient
