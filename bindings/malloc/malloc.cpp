// malloc and its family over one volatile heap: for programs that are not compiled for Remanence. Depends on src/volatile.
//
// The first call of any of these makes the heap, be it of the loader or of the C library before main(). Nothing here needs
// constructors, or memory from elsewhere.
#include "base/undying.hpp"
#include "os/quick_mutex.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <malloc.h>
#include <mutex>
#include <unistd.h>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using remanence::transient::heap;
namespace rem = remanence;

constinit rem::undying<heap> the_heap;
constinit std::atomic<bool> is_open = false;
constinit rem::os::quick_mutex opening;

// Addresses cost nothing, but a limit on them (ulimit -v) may leave few.
constexpr std::uint64_t k_reserve_bytes = 4 * rem::TiB;

[[gnu::cold, gnu::noinline]] bool open_heap() {
    const std::scoped_lock lock(opening);
    if (!is_open.load(std::memory_order_relaxed) && the_heap.value.open({.reserve_bytes = k_reserve_bytes}) == 0)
        is_open.store(true, std::memory_order_release);
    return is_open.load(std::memory_order_relaxed);
}

bool is_ready() { return is_open.load(std::memory_order_acquire) || open_heap(); }

void* or_enomem(void* got) {
    if (got == nullptr) [[unlikely]]
        errno = ENOMEM;
    return got;
}

bool overflows(std::size_t count, std::size_t bytes) {
    std::size_t product = 0;
    return __builtin_mul_overflow(count, bytes, &product);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
    if (!rem::is_power_of_two(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    return or_enomem(is_ready() ? the_heap.value.allocate(bytes, alignment) : nullptr);
}

} // namespace

REM_EXPORT void* malloc(std::size_t bytes) { return or_enomem(is_ready() ? the_heap.value.allocate(bytes) : nullptr); }

REM_EXPORT void free(void* block) {
    if (block != nullptr)
        the_heap.value.free(block);
}

REM_EXPORT void* calloc(std::size_t count, std::size_t bytes) {
    if (overflows(count, bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return or_enomem(is_ready() ? the_heap.value.allocate_zeros(count * bytes) : nullptr);
}

// As glibc does: no bytes free the block.
REM_EXPORT void* realloc(void* block, std::size_t bytes) {
    if (block == nullptr)
        return malloc(bytes);
    if (bytes == 0) {
        the_heap.value.free(block);
        return nullptr;
    }
    return or_enomem(the_heap.value.reallocate(block, bytes));
}

REM_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
    if (overflows(count, bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(block, count * bytes);
}

// As glibc does: the next power of two, and as malloc() where that is as well aligned.
REM_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
    constexpr std::size_t k_most = std::size_t{1} << 63;
    if (alignment > k_most) {
        errno = EINVAL;
        return nullptr;
    }
    return alignment <= alignof(std::max_align_t) ? malloc(bytes) : allocate_aligned(std::bit_ceil(alignment), bytes);
}

REM_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return allocate_aligned(alignment, bytes); }

REM_EXPORT int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
    if (!rem::is_power_of_two(alignment) || alignment < sizeof(void*))
        return EINVAL;
    void* const got = is_ready() ? the_heap.value.allocate(bytes, alignment) : nullptr;
    if (got == nullptr)
        return ENOMEM;
    *into = got;
    return 0;
}

REM_EXPORT void* valloc(std::size_t bytes) { return allocate_aligned(rem::k_page_bytes, bytes); }

REM_EXPORT void* pvalloc(std::size_t bytes) {
    const std::size_t whole = rem::align_up(bytes, rem::k_page_bytes);
    if (whole >= bytes)
        return allocate_aligned(rem::k_page_bytes, whole);
    errno = ENOMEM;
    return nullptr;
}

REM_EXPORT std::size_t malloc_usable_size(void* block) {
    return block == nullptr ? 0 : the_heap.value.usable_bytes(block);
}

// What glibc says of its arenas, as far as it means something here: blocks of more than 64 KiB are its "mapped" ones.
REM_EXPORT struct mallinfo2 mallinfo2() {
    struct mallinfo2 all{};
    if (!is_ready())
        return all;
    const rem::transient::heap_usage used = the_heap.value.usage();
    all.hblks = used.large_blocks;
    all.hblkhd = used.large_bytes;
    all.uordblks = used.usable_bytes - std::min(used.large_bytes, used.usable_bytes);
    all.fordblks = used.resident_bytes - std::min(used.usable_bytes, used.resident_bytes); // addresses are no memory
    all.arena = all.uordblks + all.fordblks;
    return all;
}

REM_EXPORT struct mallinfo mallinfo() {
    const struct mallinfo2 all = mallinfo2();
    const auto as_int = [](std::size_t value) { return static_cast<int>(std::min<std::size_t>(value, INT_MAX)); };
    struct mallinfo few{};
    few.arena = as_int(all.arena);
    few.hblks = as_int(all.hblks);
    few.hblkhd = as_int(all.hblkhd);
    few.uordblks = as_int(all.uordblks);
    few.fordblks = as_int(all.fordblks);
    return few;
}

REM_EXPORT void malloc_stats() {
    std::array<char, 256> text{};
    if (!is_ready())
        return;
    const rem::transient::heap_usage used = the_heap.value.usage();
    const int bytes = std::snprintf(
        text.data(), text.size(),
        "remanence: blocks %llu bytes, of these large %llu in %llu; free %llu; memory %llu bytes\n",
        static_cast<unsigned long long>(used.usable_bytes), static_cast<unsigned long long>(used.large_bytes),
        static_cast<unsigned long long>(used.large_blocks), static_cast<unsigned long long>(used.free_bytes),
        static_cast<unsigned long long>(used.resident_bytes));
    if (bytes > 0)
        static_cast<void>(!::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(bytes)));
}

REM_EXPORT int malloc_info(int options, std::FILE* into) {
    if (options != 0)
        return EINVAL;
    const struct mallinfo2 all = mallinfo2();
    const rem::transient::heap_usage used = is_ready() ? the_heap.value.usage() : rem::transient::heap_usage{};
    std::fprintf(into, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
    for (const rem::transient::heap_usage::size_class& each : used.classes) {
        if (each.slab_bytes != 0)
            std::fprintf(into, "  <size bytes=\"%llu\" blocks=\"%llu\" memory=\"%llu\"/>\n",
                         static_cast<unsigned long long>(each.block_bytes),
                         static_cast<unsigned long long>(each.blocks),
                         static_cast<unsigned long long>(each.slab_bytes));
    }
    std::fprintf(
        into,
        "</sizes>\n</heap>\n<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
        "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n<system type=\"current\" size=\"%llu\"/>\n</malloc>\n",
        all.fordblks, all.hblks, all.hblkhd, static_cast<unsigned long long>(used.resident_bytes));
    return 0;
}

REM_EXPORT int malloc_trim(std::size_t /*pad*/) {
    if (is_ready())
        the_heap.value.trim();
    return 1;
}
