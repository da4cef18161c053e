#include "os/memory.hpp"

#include "base/range.hpp"
#include "os/anonymous_memory.hpp"
#include "os/descriptor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace remanence::os {

namespace {

// The range of bases: outside of the addresses that the loader and AddressSanitizer use. The sixth byte of an address
// is 0x10-0x1f, so text never looks like an address. ThreadSanitizer allows few addresses, so its builds use another
// range.
#ifdef REMANENCE_TSAN_BASES
constexpr std::uint64_t k_bases_begin = 0x5700'0000'0000;
constexpr std::uint64_t k_bases_end = 0x5a00'0000'0000;
#else
constexpr std::uint64_t k_bases_begin = 0x1000'8000'0000;
constexpr std::uint64_t k_bases_end = 0x2000'0000'0000;
#endif
// elsewhere() tries the last sixteenth of the range first. at_random() never uses that part, so no heap has its base
// there.
constexpr std::uint64_t k_elsewhere_begin = k_bases_end - (k_bases_end - k_bases_begin) / (16 * GiB) * GiB;
constexpr int k_random_tries = 64;
constexpr int k_random_tries_elsewhere = 8; // afterwards at_random() is tried

std::string hexadecimal(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIx64, value);
    return text;
}

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

unexpected mapping_failure(int code, const char* operation, const void* where, std::uint64_t bytes) {
    return fail(code == ENOMEM ? errc::no_memory : errc::io,
                std::string(operation) + " " + std::to_string(bytes) + " bytes at " +
                    hexadecimal(reinterpret_cast<std::uint64_t>(where)) + ": " + std::strerror(code) +
                    ". Check the limits on address space (ulimit -v) and mappings (vm.max_map_count), or "
                    "reserve less (reserve_bytes).",
                {}, code);
}

// Returns 0 or errno; EEXIST means that something else is mapped there.
int try_to_reserve(std::uint64_t base, std::uint64_t bytes) { return map_where_free(pointer(base), bytes, PROT_NONE); }

struct random_place {
    std::uint64_t base;
    int code; // of the last try_to_reserve()
};

/// Tries random places for `bytes` between `begin` and `end`.
result<random_place> try_to_reserve_within(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes, int tries) {
    const std::uint64_t places = (end - begin - bytes) / k_base_alignment + 1;
    for (;;) {
        std::uint64_t random = 0;
        REM_TRY(random_bytes(&random, sizeof random));
        const std::uint64_t base = begin + random % places * k_base_alignment;
        const int code = try_to_reserve(base, bytes);
        if (code != EEXIST || --tries == 0)
            return random_place{base, code};
    }
}

// Reads all mappings of the process to name the one that is in the way.
unexpected reservation_failure(int code, std::uint64_t base, std::uint64_t bytes) {
    if (code == EEXIST) {
        const auto is_volatile = is_in_volatile_heap.load(std::memory_order_relaxed);
        std::string holder = is_volatile != nullptr && is_volatile(pointer(base)) ? "a volatile heap of this process"
                                                                                  : mapping_at(base, bytes);
        return fail(errc::base_taken,
                    "the addresses " + hexadecimal(base) + "-" + hexadecimal(base + bytes) +
                        " are taken by: " + (holder.empty() ? "(unknown)" : holder) +
                        ". Open the heap before that mapping is made, or reserve less address space (reserve_bytes).",
                    {}, code);
    }
    return mapping_failure(code, "cannot reserve", pointer(base), bytes);
}

} // namespace

result<reservation> reservation::at(std::uint64_t base, std::uint64_t bytes) {
    if (const int code = try_to_reserve(base, bytes); code != 0)
        return reservation_failure(code, base, bytes);
    return reservation(pointer(base), bytes);
}

result<reservation> reservation::at_random(std::uint64_t bytes) {
    if (k_elsewhere_begin - k_bases_begin < bytes) {
        return fail(errc::invalid_argument, "reserve_bytes (" + std::to_string(bytes) +
                                                ") is larger than the range for heaps. "
                                                "Reserve less, or name an address where so much is free (base).");
    }
    auto taken = try_to_reserve_within(k_bases_begin, k_elsewhere_begin, bytes, k_random_tries);
    if (!taken)
        return taken.error();
    if (taken->code != 0)
        return reservation_failure(taken->code, taken->base, bytes);
    return reservation(pointer(taken->base), bytes);
}

result<reservation> reservation::elsewhere(std::uint64_t bytes) {
    if (bytes <= k_bases_end - k_elsewhere_begin) {
        auto taken = try_to_reserve_within(k_elsewhere_begin, k_bases_end, bytes, k_random_tries_elsewhere);
        if (!taken)
            return taken.error();
        if (taken->code == 0)
            return reservation(pointer(taken->base), bytes);
    }
    return at_random(bytes);
}

result<reservation> reservation::at_or_elsewhere(std::uint64_t base, std::uint64_t bytes) {
    const int code = try_to_reserve(base, bytes);
    if (code == 0)
        return reservation(pointer(base), bytes);
    return code == EEXIST ? elsewhere(bytes) : reservation_failure(code, base, bytes);
}

reservation::reservation(reservation&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

reservation& reservation::operator=(reservation&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

reservation::~reservation() {
    if (base_ != nullptr)
        ::munmap(base_, bytes_);
}

result<void> reservation::extend(std::uint64_t bytes) {
    if (bytes <= bytes_)
        return {};
    const std::uint64_t end = reinterpret_cast<std::uint64_t>(base_) + bytes_;
    if (const int code = try_to_reserve(end, bytes - bytes_); code != 0)
        return reservation_failure(code, end, bytes - bytes_);
    bytes_ = bytes;
    return {};
}

result<void> map_anonymous(std::byte* where, std::uint64_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (::mmap(where, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
        return mapping_failure(errno, "cannot map", where, bytes);
    }
    return {};
}

result<void> drop_pages(std::byte* where, std::uint64_t bytes) {
    if (::madvise(where, bytes, MADV_DONTNEED) == 0)
        return {};
    // After mlockall() the kernel refuses to drop pages. MADV_DONTNEED_LOCKED drops locked pages, too.
    if (errno == EINVAL && ::madvise(where, bytes, MADV_DONTNEED_LOCKED) == 0) // since Linux 5.18
        return {};
    return mapping_failure(errno, "cannot drop", where, bytes);
}

result<void> make_private(std::byte* where, std::uint64_t bytes) {
    if (::madvise(where, bytes, MADV_POPULATE_WRITE) == 0)
        return {};
    if (errno != EINVAL)
        return mapping_failure(errno, "cannot copy", where, bytes);
    for (std::uint64_t at = 0; at < bytes; at += k_page_bytes) // before Linux 5.14; atomic, so no write is lost
        std::atomic_ref(reinterpret_cast<unsigned char&>(where[at])).fetch_or(0, std::memory_order_relaxed);
    return {};
}

result<void> protect_read_only(std::byte* where, std::uint64_t bytes) {
    if (::mprotect(where, bytes, PROT_READ) != 0)
        return mapping_failure(errno, "cannot protect", where, bytes);
    return {};
}

result<void> protect_nothing(std::byte* where, std::uint64_t bytes) {
    if (::mprotect(where, bytes, PROT_READ | PROT_WRITE) != 0)
        return mapping_failure(errno, "cannot open", where, bytes);
    return {};
}

result<moving_mapping> moving_mapping::create(std::uint64_t bytes) {
    void* got = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return mapping_failure(errno, "cannot reserve", nullptr, bytes);
    return moving_mapping(static_cast<std::byte*>(got), bytes);
}

moving_mapping::moving_mapping(moving_mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

moving_mapping::~moving_mapping() {
    if (base_ != nullptr)
        ::munmap(base_, bytes_);
}

result<void> moving_mapping::move_to(std::byte* where) {
    if (::mremap(base_, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, where) == MAP_FAILED)
        return mapping_failure(errno, "cannot move a mapping of", where, bytes_);
    base_ = nullptr;
    return {};
}

void exclude_from_core(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_DONTDUMP); }

void populate(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_POPULATE_WRITE); }

void prefer_huge_pages(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_HUGEPAGE); }

void read_no_more_than_asked(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_RANDOM); }

void read_as_usual(std::byte* where, std::uint64_t bytes) {
    ::munlock(where, bytes);
    ::madvise(where, bytes, MADV_NORMAL);
}

void read_ahead_a_lot(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_SEQUENTIAL); }

void keep_what_is_read(std::byte* where, std::uint64_t bytes) { ::mlock2(where, bytes, MLOCK_ONFAULT); }

void begin_to_read(const std::byte* where, std::uint64_t bytes) {
    ::madvise(const_cast<std::byte*>(where), bytes, MADV_WILLNEED);
}

void will_read(std::byte* where, std::uint64_t bytes) {
    begin_to_read(where, bytes); // otherwise, after read_no_more_than_asked(), the next call would read page by page
    ::madvise(where, bytes, MADV_POPULATE_READ);
}

namespace {

/// A line of /proc/self/maps (Documentation/filesystems/proc.rst).
struct maps_line {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string_view rights;
    std::string_view name;
};

std::optional<maps_line> read_maps_line(std::string_view line) {
    maps_line read;
    const auto take_address = [&line](std::uint64_t& address, char delimiter) {
        const auto [behind, wrong] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
        line.remove_prefix(static_cast<std::size_t>(behind - line.data()));
        const bool is_there = wrong == std::errc{} && line.starts_with(delimiter);
        line.remove_prefix(is_there ? 1 : 0);
        return is_there;
    };
    const auto skip_to = [&line](std::size_t at) { line.remove_prefix(std::min(at, line.size())); };
    if (!take_address(read.begin, '-') || !take_address(read.end, ' '))
        return {};
    read.rights = line.substr(0, 4);
    for (int field = 0; field != 4; ++field) { // rights, offset, device, inode
        skip_to(line.find(' '));
        skip_to(line.find_first_not_of(' '));
    }
    read.name = line;
    return read.rights.size() == 4 ? std::optional(read) : std::nullopt;
}

} // namespace

/// Calls f(begin, end) for each unmapped range between `begin` and `end`, by address, until it returns true.
template <class F>
static void for_each_free_stretch(std::uint64_t begin, std::uint64_t end, const F& f) {
    text_lines maps("/proc/self/maps");
    for (std::string line; begin < end && maps.next(line);) {
        const auto read = read_maps_line(line);
        if (!read || read->end <= begin)
            continue;
        if (read->begin > begin && f(begin, std::min(read->begin, end)))
            return;
        begin = read->end;
    }
    if (begin < end)
        f(begin, end);
}

std::uint64_t lowest_free_addresses(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) {
    std::uint64_t found = 0;
    for_each_free_stretch(begin, end, [&](std::uint64_t from, std::uint64_t to) {
        const std::uint64_t at = align_up(from, k_base_alignment);
        const bool fits = at < to && to - at >= bytes;
        found = fits ? at : 0;
        return fits;
    });
    return found;
}

std::uint64_t highest_free_addresses(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) {
    std::uint64_t found = 0;
    for_each_free_stretch(begin, end, [&](std::uint64_t from, std::uint64_t to) {
        const std::uint64_t at = to < bytes ? 0 : (to - bytes) / k_base_alignment * k_base_alignment;
        found = at >= from ? at : found;
        return false;
    });
    return found;
}

std::string mapping_at(std::uint64_t where, std::uint64_t bytes) {
    text_lines maps("/proc/self/maps");
    for (std::string line; maps.next(line);) {
        if (const auto read = read_maps_line(line); read && read->begin < where + bytes && where < read->end)
            return line;
    }
    return {};
}

std::vector<process_memory> memory_of_process(bool with_files) {
    using memory_kind = process_memory::kind;
    constexpr std::uint64_t k_shadow_bytes_min = std::uint64_t{1} << 40;
    constexpr std::uint64_t k_red_zone_bytes_max = 64 * KiB;
    std::vector<process_memory> found;
    text_lines maps("/proc/self/maps");
    const auto here = reinterpret_cast<std::uint64_t>(&maps);
    std::uint64_t guard_end = 0; // end of the previous mapping if that is small and inaccessible
    address_range run{};         // contiguous mappings of one kind, perhaps parts of one mapping
    std::size_t found_before_run = 0;
    for (std::string line; maps.next(line);) {
        const auto read = read_maps_line(line);
        if (!read)
            continue;
        const auto& [begin, end, rights, name] = *read;
        const bool guarded = guard_end == begin;
        guard_end = rights[0] == '-' && end - begin <= k_red_zone_bytes_max ? end : 0;
        const bool is_private = rights[0] == 'r' && rights[1] == 'w' && rights[3] == 'p';
        if (!name.empty() && !name.starts_with('[')) {
            if (with_files && rights[0] == 'r')
                found.push_back({begin, end, memory_kind::file});
            continue;
        }
        if (!is_private)
            continue;
        if (run.end() != begin) {
            run = {begin, 0};
            found_before_run = found.size();
        }
        run.bytes = end - run.offset;
        if (run.bytes >= k_shadow_bytes_min) {
            found.resize(found_before_run);
            continue;
        }
        memory_kind what = memory_kind::other;
        if (begin <= here && here < end) {
            what = memory_kind::stack_of_this_thread;
        } else if (guarded || name.starts_with("[stack")) {
            what = memory_kind::stack;
        } else if (name.starts_with("[heap")) {
            what = memory_kind::malloc;
        }
        found.push_back({begin, end, what});
    }
    return found;
}

std::optional<std::uint64_t> word_of_process(std::uint64_t address) {
    std::uint64_t word = 0;
    const iovec into{&word, sizeof word};
    const iovec from{reinterpret_cast<void*>(address), sizeof word}; // NOLINT(performance-no-int-to-ptr)
    if (::process_vm_readv(::getpid(), &into, 1, &from, 1, 0) == ssize_t{sizeof word})
        return word;
    if (errno == EFAULT)
        return std::nullopt;
    return *reinterpret_cast<const volatile std::uint64_t*>(address); // for a sandbox that refuses the system call
}

result<void> random_bytes(void* into, std::size_t bytes) {
    if (::getrandom(into, bytes, 0) != static_cast<ssize_t>(bytes)) {
        return fail(errc::io, "the kernel's random source is not available.", {}, errno);
    }
    return {};
}

result<fork_guard> fork_guard::create() {
    static std::atomic<volatile bool*> of_process = nullptr;
    volatile bool* known = of_process.load(std::memory_order_acquire);
    if (known != nullptr && *known)
        return fork_guard(known);
    auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* got = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return mapping_failure(errno, "cannot map", nullptr, page);
    if (::madvise(got, page, MADV_WIPEONFORK) != 0) {
        int code = errno;
        ::munmap(got, page);
        return mapping_failure(code, "cannot mark", got, page);
    }
    auto* alive = static_cast<volatile bool*>(got);
    *alive = true;
    if (!of_process.compare_exchange_strong(known, alive, std::memory_order_acq_rel, std::memory_order_acquire)) {
        ::munmap(got, page); // another thread has made one meanwhile
        alive = known;
    }
    return fork_guard(alive);
}

} // namespace remanence::os
