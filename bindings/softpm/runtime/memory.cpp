#include "memory.hpp"

#include "base/undying.hpp"
#include "call_sites.hpp"
#include "shadow.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace remanence::softpm {

namespace {

// The volatile arena is mapped at the first free one of k_tries places from here, in the window (shadow_layout.hpp).
constexpr std::uintptr_t k_volatile_begin = 0x1f80'0000'0000;
constexpr std::uint64_t k_volatile_bytes = std::uint64_t{64} << 30U;
constexpr unsigned k_tries = 64;
constexpr auto k_volatile_pages = static_cast<std::uint32_t>(k_volatile_bytes / k_page_bytes);

struct slot {
    std::atomic<arena*> of = nullptr;
    std::atomic<std::uintptr_t> begin = 0;
    std::atomic<std::uintptr_t> end = 0; // stays set after the arena has ended
};

struct all_arenas {
    slot slots[k_arenas_max]; // the volatile arena first, then the others in the order of add_arena()
    std::atomic<unsigned> count = 0;
    std::atomic<arena*> current = nullptr;
    os::quick_mutex lock;
    std::uint64_t volatile_pages_used = 0;
    finder finders[k_finders_max] = {};
    std::atomic<unsigned> finder_count = 0;
    alignas(arena) std::byte volatile_arena[sizeof(arena)] = {};
};
constinit undying<all_arenas> the_arenas;

[[noreturn]] void end_for_lack_of(const char* what) {
    char text[160];
    const int bytes = std::snprintf(text, sizeof text, "softpm: no addresses for %s: %s. Raise ulimit -v.\n", what,
                                    std::strerror(errno));
    (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(bytes));
    std::_Exit(1);
}

std::byte* map_volatile() {
    for (unsigned i = 0; i < k_tries; ++i) {
        void* const wanted = pointer_to(k_volatile_begin + i * k_volatile_bytes);
        void* const got = ::mmap(wanted, k_volatile_bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == wanted)
            return static_cast<std::byte*>(got);
        if (got != MAP_FAILED)
            ::munmap(got, k_volatile_bytes);
    }
    end_for_lack_of("volatile memory");
}

arena* make_volatile(all_arenas& all) {
    map_shadow();
    std::byte* const begin = map_volatile();
    void* const table = ::mmap(nullptr, k_volatile_pages * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        end_for_lack_of("the table of volatile memory");
    auto* const made = new (&all.volatile_arena)
        arena({begin, k_volatile_pages, static_cast<std::uint32_t*>(table), &all.volatile_pages_used});
    all.slots[0].begin = address_of(begin);
    all.slots[0].end = address_of(begin) + k_volatile_bytes;
    all.slots[0].of = made;
    all.count = 1;
    return made;
}

/// True if there are several containers; the volatile arena does not count.
bool has_several(const all_arenas& all) {
    unsigned there = 0;
    for (unsigned i = 1; i < all.count; ++i)
        there += all.slots[i].of.load() != nullptr ? 1U : 0U;
    return there > 1;
}

} // namespace

arena& volatile_arena() {
    all_arenas& all = the_arenas.value;
    if (arena* const made = all.slots[0].of.load(std::memory_order_acquire)) [[likely]]
        return *made;
    const std::scoped_lock lock(all.lock);
    if (arena* const made = all.slots[0].of.load())
        return *made;
    arena* const made = make_volatile(all);
    all.current = made;
    return *made;
}

arena* arena_of(std::uintptr_t address) noexcept {
    if (!is_in_window(address))
        return nullptr;
    all_arenas& all = the_arenas.value;
    for (unsigned i = all.count.load(std::memory_order_acquire); i-- > 0;)
        if (address >= all.slots[i].begin.load(std::memory_order_relaxed) &&
            address < all.slots[i].end.load(std::memory_order_relaxed))
            if (arena* const found = all.slots[i].of.load(std::memory_order_acquire))
                return found;
    return nullptr;
}

bool was_in_arena(std::uintptr_t address) noexcept {
    all_arenas& all = the_arenas.value;
    for (unsigned i = 0; i < all.count.load(std::memory_order_acquire); ++i)
        if (address >= all.slots[i].begin && address < all.slots[i].end)
            return true;
    return false;
}

arena& current_arena() noexcept {
    arena* const found = the_arenas.value.current.load(std::memory_order_acquire);
    return found != nullptr ? *found : volatile_arena();
}

void add_finder(finder find) {
    all_arenas& all = the_arenas.value;
    const std::scoped_lock lock(all.lock);
    if (all.finder_count == k_finders_max)
        throw std::length_error("16 allocators are registered already");
    all.finders[all.finder_count] = find;
    ++all.finder_count;
}

block block_of_program(std::uintptr_t address) noexcept {
    const all_arenas& all = the_arenas.value;
    for (unsigned i = 0; i < all.finder_count.load(std::memory_order_acquire); ++i) {
        void* begin = nullptr;
        std::size_t bytes = 0;
        if (all.finders[i](pointer_to(address), &begin, &bytes) != 0 && address_of(begin) % k_word_bytes == 0 &&
            bytes != 0 && address - address_of(begin) < bytes)
            return {static_cast<std::byte*>(begin), bytes};
    }
    return {};
}

void add_arena(arena& of) {
    volatile_arena();
    all_arenas& all = the_arenas.value;
    const std::scoped_lock lock(all.lock);
    // Uses the slot of an arena that has ended only when no unused slot is left.
    unsigned place = all.count;
    for (unsigned i = 1; place == k_arenas_max && i < k_arenas_max; ++i)
        if (all.slots[i].of == nullptr)
            place = i;
    if (place == k_arenas_max)
        throw std::length_error("64 containers are in memory already; free one (pCFree)");
    all.slots[place].begin = of.begin_address();
    all.slots[place].end = of.begin_address() + of.room_bytes();
    all.slots[place].of = &of;
    if (place == all.count)
        ++all.count;
    all.current = &of;
    set_has_call_sites(has_several(all));
}

void remove_arena(arena& of) noexcept {
    all_arenas& all = the_arenas.value;
    const std::scoped_lock lock(all.lock);
    arena* last = nullptr;
    for (unsigned i = 0; i < all.count; ++i) {
        if (all.slots[i].of == &of)
            all.slots[i].of = nullptr;
        else if (all.slots[i].of != nullptr)
            last = all.slots[i].of;
    }
    if (all.current == &of)
        all.current = last;
    forget_call_sites_of(of);
    set_has_call_sites(has_several(all));
}

} // namespace remanence::softpm
