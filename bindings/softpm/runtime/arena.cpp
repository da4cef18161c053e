#include "arena.hpp"

#include "shadow.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

namespace remanence::softpm {

namespace {

// An entry of the page table consists of the kind of the page, and a number.
constexpr std::uint32_t k_kind = 3U << 30U;
constexpr std::uint32_t k_slab = 1U << 30U;   // first page of a slab; the number is the size class
constexpr std::uint32_t k_large = 2U << 30U;  // first page of a large block; the number is that of its pages
constexpr std::uint32_t k_inside = 3U << 30U; // a later page; the number is the distance from the first one
constexpr std::uint32_t k_none = ~std::uint32_t{0};

constexpr std::size_t k_granule = 16;
constexpr std::size_t k_small_max = 32768;

/// Size classes: in steps of 16 bytes up to 256, then eight for each doubling.
struct size_classes {
    std::array<std::uint32_t, 128> bytes{};
    std::array<std::uint8_t, k_small_max / k_granule + 1> of_granules{};
    unsigned count = 0;

    constexpr size_classes() {
        for (std::uint32_t each = k_granule; each <= k_small_max;) {
            bytes[count++] = each;
            each += each < 256 ? std::uint32_t{k_granule} : std::bit_floor(each) / 8;
        }
        unsigned next = 0;
        for (std::size_t granules = 0; granules < of_granules.size(); ++granules) {
            while (bytes[next] < granules * k_granule)
                ++next;
            of_granules[granules] = static_cast<std::uint8_t>(next);
        }
    }
};
constexpr size_classes k_classes;
static_assert(k_classes.bytes[k_classes.count - 1] == k_small_max);

constexpr std::uint32_t slab_pages(std::size_t block_bytes) {
    return block_bytes <= 1024 ? 16 : block_bytes <= 8192 ? 32 : 64;
}

template <class T>
T* map_table(std::uint64_t count) {
    void* const got =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "softpm: no addresses for the tables of an arena");
    return static_cast<T*>(got);
}

constinit thread_local bool is_within = false;

[[noreturn, gnu::cold]] void end_for_a_handler() {
    constexpr char k_text[] =
        "softpm: a signal handler allocates or frees memory, and interrupted a call that did so, too. C does not allow "
        "that: let the handler set a flag, or block the signal around such calls.\n";
    (void)!::write(STDERR_FILENO, k_text, sizeof k_text - 1);
    std::abort();
}

} // namespace

class arena::hold {
public:
    explicit hold(os::quick_mutex& lock) noexcept : lock_(lock) {
        if (is_within) [[unlikely]]
            end_for_a_handler();
        is_within = true;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        lock_.lock();
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    ~hold() {
        lock_.unlock();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_within = false;
    }

private:
    os::quick_mutex& lock_;
};

arena::arena(const parts& of)
    : parts_(of),
      used_bits_(map_table<std::uint64_t>(of.pages_max * k_bit_words)),
      slabs_(map_table<slab>(of.pages_max)) {
    static_assert(size_classes{}.count <= k_classes_max);
}

arena::~arena() {
    ::munmap(used_bits_, parts_.pages_max * k_bit_words * sizeof *used_bits_);
    ::munmap(slabs_, parts_.pages_max * sizeof *slabs_);
}

std::uint32_t arena::pages_from(std::uint32_t page) const noexcept {
    const std::uint32_t entry = parts_.page_table[page];
    switch (entry & k_kind) {
    case k_slab:
        return slab_pages(k_classes.bytes[entry & ~k_kind]);
    case k_large:
        return entry & ~k_kind;
    default:
        return 1;
    }
}

std::size_t arena::bytes_from(std::uint32_t page) const noexcept {
    const std::uint32_t entry = parts_.page_table[page];
    return (entry & k_kind) == k_slab ? k_classes.bytes[entry & ~k_kind] : pages_from(page) * k_page_bytes;
}

std::uint32_t arena::blocks_from(std::uint32_t page) const noexcept {
    const std::uint32_t kind = parts_.page_table[page] & k_kind;
    if (kind == k_slab)
        return static_cast<std::uint32_t>(pages_from(page) * k_page_bytes / bytes_from(page));
    return kind == k_large ? 1 : 0;
}

bool arena::is_sound() const noexcept {
    std::uint64_t page = 0;
    while (page < *parts_.pages_used) {
        const std::uint32_t entry = parts_.page_table[page];
        const std::uint32_t kind = entry & k_kind;
        if (kind == k_inside || (kind == 0 && entry != 0) || (kind == k_slab && (entry & ~k_kind) >= k_classes.count))
            return false;
        const std::uint32_t count = pages_from(static_cast<std::uint32_t>(page));
        if (count == 0 || page + count > *parts_.pages_used)
            return false;
        for (std::uint32_t i = 1; i < count; ++i)
            if (parts_.page_table[page + i] != (k_inside | i))
                return false;
        page += count;
    }
    return true;
}

bool arena::locate(std::uintptr_t address, place& found) const noexcept {
    const std::uint64_t offset = address - begin_address();
    if (offset >= used_bytes())
        return false;
    auto page = static_cast<std::uint32_t>(offset / k_page_bytes);
    const std::uint32_t entry = parts_.page_table[page];
    if (entry == 0)
        return false;
    if ((entry & k_kind) == k_inside)
        page -= entry & ~k_kind;
    const auto index = static_cast<std::uint32_t>((offset - page * k_page_bytes) / bytes_from(page));
    found = {page, index};
    return index < blocks_from(page);
}

block arena::find(std::uintptr_t address) const noexcept {
    const hold here(lock_);
    place at{};
    if (!locate(address, at) || !is_used(at.page, at.index))
        return {};
    return {begin_of(at.page) + at.index * bytes_from(at.page), bytes_from(at.page)};
}

void arena::enter(std::uint32_t first, std::uint32_t pages, std::uint32_t entry) noexcept {
    parts_.page_table[first] = entry;
    for (std::uint32_t i = 1; i < pages; ++i)
        parts_.page_table[first + i] = entry == 0 ? 0 : k_inside | i;
}

std::uint32_t arena::take_pages(std::uint64_t pages, std::uint64_t alignment) noexcept {
    const std::uint64_t origin = begin_address() / k_page_bytes;
    const auto aligned = [&](std::uint64_t page) {
        return (origin + page + alignment - 1) / alignment * alignment - origin;
    };
    for (auto run = free_pages_.begin(); run != free_pages_.end(); ++run) {
        const auto [first, count] = *run;
        const std::uint64_t begin = aligned(first);
        if (begin + pages > first + std::uint64_t{count})
            continue;
        free_pages_.erase(run);
        const auto end = static_cast<std::uint32_t>(begin + pages);
        if (begin > first)
            give_pages(first, static_cast<std::uint32_t>(begin) - first);
        if (end < first + count)
            give_pages(end, first + count - end);
        return static_cast<std::uint32_t>(begin);
    }
    const std::uint64_t used = *parts_.pages_used;
    const std::uint64_t begin = aligned(used);
    if (begin + pages > parts_.pages_max)
        return k_none;
    *parts_.pages_used = begin + pages;
    if (begin > used)
        give_pages(static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(begin - used));
    return static_cast<std::uint32_t>(begin);
}

void arena::give_pages(std::uint32_t first, std::uint32_t pages) noexcept {
    auto behind = free_pages_.lower_bound(first);
    if (behind != free_pages_.end() && behind->first == first + pages) {
        pages += behind->second;
        behind = free_pages_.erase(behind);
    }
    if (behind != free_pages_.begin()) {
        const auto before = std::prev(behind);
        if (before->first + before->second == first) {
            before->second += pages;
            return;
        }
    }
    try {
        free_pages_.emplace_hint(behind, first, pages);
    } catch (const std::bad_alloc&) { // then neither these pages nor free pages joined with them are used again
    }
}

void arena::link(std::uint32_t page, unsigned size_class) noexcept {
    std::uint32_t& head = with_room_[size_class];
    slabs_[page].next = head;
    slabs_[page].previous = 0;
    if (head != 0)
        slabs_[head - 1].previous = page + 1;
    head = page + 1;
}

void arena::unlink(std::uint32_t page, unsigned size_class) noexcept {
    const slab& of = slabs_[page];
    (of.previous == 0 ? with_room_[size_class] : slabs_[of.previous - 1].next) = of.next;
    if (of.next != 0)
        slabs_[of.next - 1].previous = of.previous;
}

void* arena::allocate_small(unsigned size_class) noexcept {
    const std::size_t bytes = k_classes.bytes[size_class];
    if (with_room_[size_class] == 0) {
        const std::uint32_t pages = slab_pages(bytes);
        const std::uint32_t made = take_pages(pages, 1);
        if (made == k_none)
            return nullptr;
        enter(made, pages, k_slab | size_class);
        slabs_[made] = {0, 0, blocks_from(made), 0};
        link(made, size_class);
    }
    const std::uint32_t page = with_room_[size_class] - 1;
    slab& of = slabs_[page];
    std::uint64_t* const bits = bits_of(page);
    while (bits[of.from] == ~std::uint64_t{0})
        ++of.from; // the loop ends, since the slab has a free block
    const auto bit = static_cast<unsigned>(std::countr_one(bits[of.from]));
    bits[of.from] |= std::uint64_t{1} << bit;
    if (--of.free == 0)
        unlink(page, size_class);
    return begin_of(page) + (of.from * 64 + bit) * bytes;
}

void* arena::allocate_large(std::uint64_t pages, std::uint64_t alignment_pages) noexcept {
    if (pages >= parts_.pages_max)
        return nullptr;
    const std::uint32_t page = take_pages(pages, alignment_pages);
    if (page == k_none)
        return nullptr;
    enter(page, static_cast<std::uint32_t>(pages), k_large | static_cast<std::uint32_t>(pages));
    *bits_of(page) = 1;
    return begin_of(page);
}

void* arena::allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > k_small_max || alignment > k_page_bytes) {
        if (bytes > std::uint64_t{parts_.pages_max} * k_page_bytes)
            return nullptr;
        const hold here(lock_);
        return allocate_large((bytes + k_page_bytes - 1) / k_page_bytes,
                              alignment <= k_page_bytes ? 1 : alignment / k_page_bytes);
    }
    unsigned size_class = k_classes.of_granules[(bytes + k_granule - 1) / k_granule];
    while (k_classes.bytes[size_class] % alignment != 0) // the first block of a slab begins on a page
        if (++size_class == k_classes.count)
            return nullptr;
    const hold here(lock_);
    return allocate_small(size_class);
}

bool arena::free(void* pointer) noexcept {
    const hold here(lock_);
    place at{};
    if (!locate(address_of(pointer), at) || !is_used(at.page, at.index))
        return false;
    const std::size_t bytes = bytes_from(at.page);
    if (begin_of(at.page) + at.index * bytes != pointer)
        return false;
    clear_marks(pointer, bytes); // a free block has no marks (A3)
    if (!excluded_.empty()) [[unlikely]]
        excluded_.erase(static_cast<std::byte*>(pointer));
    bits_of(at.page)[at.index / 64] &= ~(std::uint64_t{1} << (at.index % 64));
    const std::uint32_t entry = parts_.page_table[at.page];
    const std::uint32_t pages = pages_from(at.page);
    if ((entry & k_kind) == k_slab) {
        slab& of = slabs_[at.page];
        const unsigned size_class = entry & ~k_kind;
        of.from = std::min(of.from, at.index / 64);
        if (of.free++ == 0)
            link(at.page, size_class);
        const bool is_only_one = of.next == 0 && of.previous == 0;
        if (of.free < blocks_from(at.page) || is_only_one)
            return true;
        unlink(at.page, size_class);
    }
    enter(at.page, pages, 0);
    give_pages(at.page, pages);
    return true;
}

void arena::clear_free(std::uint32_t page) noexcept {
    const hold here(lock_);
    const std::uint32_t entry = parts_.page_table[page];
    const std::uint32_t first = (entry & k_kind) == k_inside ? page - (entry & ~k_kind) : page;
    const std::size_t bytes = bytes_from(first);
    const std::uint32_t count = blocks_from(first);
    const std::size_t begin = (page - first) * k_page_bytes; // offset of the page in the slab or block
    const std::size_t end = begin + k_page_bytes;
    for (std::size_t at = begin; at < end;) {
        const auto index = static_cast<std::uint32_t>(at / bytes);
        const std::size_t next =
            index < count ? std::min((index + 1) * bytes, end) : end; // behind the last block is unused space
        if (index >= count || !is_used(first, index))
            std::memset(begin_of(first) + at, 0, next - at);
        at = next;
    }
}

void arena::exclude(const block& which) {
    const hold here(lock_);
    excluded_[which.begin] = which.bytes;
}

block arena::revive(std::uintptr_t address, bool& is_new) noexcept {
    is_new = false;
    place at{};
    if (!locate(address, at))
        return {};
    is_new = !is_used(at.page, at.index);
    bits_of(at.page)[at.index / 64] |= std::uint64_t{1} << (at.index % 64);
    return {begin_of(at.page) + at.index * bytes_from(at.page), bytes_from(at.page)};
}

void arena::finish_restore() {
    for (std::uint32_t page = 0, pages = 1; page < *parts_.pages_used; page += pages) {
        pages = pages_from(page);
        const std::uint32_t count = blocks_from(page);
        std::uint32_t used = 0;
        for (std::uint32_t i = 0; i < (count + 63) / 64; ++i)
            used += static_cast<std::uint32_t>(std::popcount(bits_of(page)[i]));
        if (used == 0) {
            if (parts_.page_table[page] != 0)
                enter(page, pages, 0);
            give_pages(page, pages);
        } else if ((parts_.page_table[page] & k_kind) == k_slab) {
            slabs_[page] = {0, 0, count - used, 0};
            if (used < count)
                link(page, parts_.page_table[page] & ~k_kind);
        }
    }
}

void arena::revive_all() {
    for (std::uint32_t page = 0, pages = 1; page < *parts_.pages_used; page += pages) {
        pages = pages_from(page);
        const std::uint32_t count = blocks_from(page);
        if (count == 0)
            give_pages(page, pages);
        std::uint64_t* const bits = bits_of(page);
        std::fill_n(bits, count / 64, ~std::uint64_t{0});
        if (count % 64 != 0)
            bits[count / 64] = (std::uint64_t{1} << (count % 64)) - 1;
    }
}

} // namespace remanence::softpm
