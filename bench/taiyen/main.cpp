// What the Taiyen heap manager was measured by: access by alignment, resizing of large blocks, how available memory is after a
// churn that mostly resizes, and how fast entries are made and a heap is restored.
#include <harness.hpp>

#include "alloc/availability.hpp"

#include <remanence/inspect.hpp>
#include <remanence/remanence.h>
#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <malloc.h>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>

namespace stock { // the type of a root needs a name

struct entry {
    entry* next;
    std::uint64_t number;
    char text[80];
};

struct book {
    entry* first;
};

} // namespace stock

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures what the Taiyen heap manager was measured by.

  access        a read of 8 words of 8 bytes, at random places of 256 MiB, which begin at a cache line, 8 or 32 bytes behind one,
                and 32 bytes before the end of a page
  resize        4 blocks of 48 to 80 MiB, all of whose pages are written, are resized (76 of 100 operations), freed and allocated;
                seconds per resizing, by volatile_heap, by glibc's realloc, and by allocating, copying and freeing
  moves         a block of 1, 8, 64 and 512 MiB that was written grows to twice its size, and must move: in a volatile heap; by
                rem_realloc() in a heap with a file, if it was never committed, was just committed, or was there when the heap was
                opened; and by allocating, memmove() and freeing
  availability  a million operations on 100,000 blocks of 8 to 53 bytes, of which 76 of 100 resize; seconds of an operation.
                Remarks tell how well the free memory serves requests (availability in volatile_heap.hpp)
  entries       5 million entries of 96 bytes made and linked in a heap and committed once; seconds of an entry
  restore       opening that heap in a fresh process, not in the page cache, and going through all of its entries; seconds of a GiB
)";

// --- access

constexpr std::size_t k_accessed_bytes = std::size_t{256} << 20;
constexpr std::size_t k_accesses = 20'000'000;

void measure_access() {
    rem::volatile_heap memory;
    const auto* const bytes = static_cast<std::byte*>(
        std::memset(memory.allocate(k_accessed_bytes + 4096, 4096), 1, k_accessed_bytes + 4096));
    for (const auto& [name, stride, offset] : {std::tuple("on a line", std::size_t{64}, std::size_t{0}),
                                               std::tuple("8 behind a line", std::size_t{64}, std::size_t{8}),
                                               std::tuple("32 behind a line", std::size_t{64}, std::size_t{32}),
                                               std::tuple("on a page", std::size_t{4096}, std::size_t{0}),
                                               std::tuple("32 before a page", std::size_t{4096}, std::size_t{4064})}) {
        std::uint64_t state = 88172645463325252U;
        std::uint64_t sum = 0;
        const bench::stopwatch watch;
        for (std::size_t i = 0; i != k_accesses; ++i) {
            state ^= state << 13U, state ^= state >> 7U, state ^= state << 17U;
            const std::byte* const at = bytes + (state >> 20U) % (k_accessed_bytes / stride) * stride + offset;
            for (std::size_t word = 0; word != 8; ++word) {
                std::uint64_t read = 0;
                std::memcpy(&read, at + 8 * word, sizeof read);
                sum += read;
            }
        }
        const double seconds = watch.seconds() / static_cast<double>(k_accesses);
        if (sum == 0)
            throw std::runtime_error("nothing was read");
        bench::hand_over({name, seconds});
    }
}

// --- allocators

struct allocator {
    std::function<void*(std::size_t)> allocate;
    std::function<void*(void*, std::size_t was, std::size_t)> resize;
    std::function<void(void*, std::size_t)> free;
    std::function<double()> availability;
};

allocator of_volatile(rem::volatile_heap& heap) {
    return {[&](std::size_t bytes) { return heap.try_allocate(bytes); },
            [&](void* block, std::size_t, std::size_t bytes) { return heap.reallocate(block, bytes); },
            [&](void* block, std::size_t) { heap.free(block); }, [&] { return heap.stats().availability; }};
}

allocator of_copying(rem::volatile_heap& heap) {
    allocator made = of_volatile(heap);
    made.resize = [&](void* block, std::size_t was, std::size_t bytes) {
        void* const moved = std::memcpy(heap.allocate(bytes), block, std::min(was, bytes));
        heap.free(block);
        return moved;
    };
    return made;
}

/// Of the pieces in glibc's bins: malloc_info() tells how many there are of each size, or of each range of sizes, and their sum.
double availability_of_glibc() {
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* const stream = ::open_memstream(&text, &length);
    ::malloc_info(0, stream);
    std::fclose(stream);
    rem::alloc::availability_sum pieces;
    for (const char* at = text; (at = std::strstr(at, "<size from=")) != nullptr; ++at) {
        unsigned long from = 0;
        unsigned long to = 0;
        unsigned long total = 0;
        unsigned long count = 0;
        if (std::sscanf(at, "<size from=\"%lu\" to=\"%lu\" total=\"%lu\" count=\"%lu\"", &from, &to, &total, &count) ==
                4 &&
            count != 0)
            pieces.add(total / count, count);
    }
    std::free(text);
    return pieces.value();
}

allocator of_glibc() {
    return {[](std::size_t bytes) { return std::malloc(bytes); },
            [](void* block, std::size_t, std::size_t bytes) { return std::realloc(block, bytes); },
            [](void* block, std::size_t) { std::free(block); }, availability_of_glibc};
}

/// As its header declares it: an area holds blocks of one size.
struct mimalloc_area {
    void* blocks;
    std::size_t reserved;
    std::size_t committed;
    std::size_t used; // blocks
    std::size_t block_size;
};
using mimalloc_visitor = bool(const void* heap, const mimalloc_area* area, void* block, std::size_t bytes,
                              void* context);

/// In use only where it is installed: it is loaded, not linked.
std::optional<allocator> of_mimalloc() {
    void* const library = ::dlopen("libmimalloc.so.2.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return {};
    const auto find = [&](const char* name) { return ::dlsym(library, name); };
    auto* const take = reinterpret_cast<void* (*)(std::size_t)>(find("mi_malloc"));
    auto* const resize = reinterpret_cast<void* (*)(void*, std::size_t)>(find("mi_realloc"));
    auto* const give = reinterpret_cast<void (*)(void*)>(find("mi_free"));
    auto* const own = reinterpret_cast<void* (*)()>(find("mi_heap_get_default"));
    auto* const visit = reinterpret_cast<bool (*)(void*, bool, mimalloc_visitor*, void*)>(find("mi_heap_visit_blocks"));
    return allocator{[=](std::size_t bytes) { return take(bytes); },
                     [=](void* block, std::size_t, std::size_t bytes) { return resize(block, bytes); },
                     [=](void* block, std::size_t) { give(block); },
                     [=] {
                         rem::alloc::availability_sum pieces;
                         visit(
                             own(), false,
                             [](const void*, const mimalloc_area* area, void*, std::size_t, void* context) {
                                 if (area->block_size != 0)
                                     static_cast<rem::alloc::availability_sum*>(context)->add(
                                         area->block_size,
                                         area->committed / area->block_size -
                                             std::min(area->used, area->committed / area->block_size));
                                 return true;
                             },
                             &pieces);
                         return pieces.value();
                     }};
}

allocator of_heap(rem::heap& heap, const fs::path& file) {
    const auto allocate = [&heap](std::size_t bytes) -> void* {
        return heap.get_allocator<std::byte>().allocate(bytes);
    };
    const auto free = [&heap](void* block, std::size_t bytes) {
        heap.get_allocator<std::byte>().deallocate(static_cast<std::byte*>(block), bytes);
    };
    const auto resize = [allocate, free](void* block, std::size_t was, std::size_t bytes) -> void* {
        void* const moved = std::memcpy(allocate(bytes), block, std::min(was, bytes));
        free(block, was);
        return moved;
    };
    return {allocate, resize, free, [&heap, file] {
                heap.commit();
                return rem::inspect::survey_memory(file).memory->availability;
            }};
}

// --- resizing large blocks, and availability

/// Seconds of a resizing. Everything a block has is written each time, outside of what is measured, so that copying copies memory.
double measure_resizing(const allocator& by) {
    constexpr int k_operations = 100;
    constexpr std::size_t k_blocks = 4;
    struct one {
        void* start;
        std::size_t bytes;
    };
    std::mt19937_64 random(3);
    const auto size = [&] { return (std::size_t{48} << 20) + random() % (std::size_t{32} << 20); };
    const auto write = [](const one& of) { std::memset(of.start, 1, of.bytes); };
    std::vector<one> blocks;
    double seconds = 0;
    int count = 0;
    for (int i = 0; i != k_operations; ++i) {
        const std::size_t kind = random() % 100;
        if (blocks.size() < k_blocks && (kind < 12 || blocks.empty())) {
            const std::size_t bytes = size();
            blocks.push_back({by.allocate(bytes), bytes});
            write(blocks.back());
            continue;
        }
        one& chosen = blocks[random() % blocks.size()];
        if (kind >= 88) {
            by.free(chosen.start, chosen.bytes);
            chosen = blocks.back();
            blocks.pop_back();
            continue;
        }
        const std::size_t bytes = size();
        const bench::stopwatch watch;
        chosen.start = by.resize(chosen.start, chosen.bytes, bytes);
        seconds += watch.seconds();
        ++count;
        chosen.bytes = bytes;
        write(chosen);
    }
    return seconds / count;
}

// --- moves

struct c_heap {
    explicit c_heap(const fs::path& file) : path(file) { open(); }
    c_heap(const c_heap&) = delete;
    c_heap& operator=(const c_heap&) = delete;
    ~c_heap() { rem_close(handle); }
    void open() { check(rem_open(path.c_str(), nullptr, &handle)); }
    static void check(rem_status status) {
        if (status != REM_OK)
            throw std::runtime_error(rem_last_error()->message);
    }
    fs::path path;
    rem_heap* handle = nullptr;
};

/// `resize` gets a block that was written, and behind which another lies.
void measure_moves_by(const std::function<void*(std::size_t)>& allocate, const std::function<void(void*)>& free,
                      const std::function<void*(void*, std::size_t was)>& resize,
                      const std::function<void(void*)>& prepare = {}) {
    for (const std::size_t mib : {1U, 8U, 64U, 512U}) {
        const std::size_t bytes = mib << 20U;
        void* const block = std::memset(allocate(bytes), 1, bytes);
        void* const behind = allocate(100'000);
        if (prepare)
            prepare(block);
        const bench::stopwatch watch;
        auto* const moved = static_cast<char*>(resize(block, bytes));
        const double seconds = watch.seconds();
        if (moved == block || std::count(moved, moved + bytes, 1) != static_cast<std::ptrdiff_t>(bytes))
            throw std::runtime_error("a block did not move as it should");
        bench::hand_over({std::to_string(mib) + " MiB", seconds});
        free(moved);
        free(behind);
    }
}

void measure_moves(std::string_view by, const fs::path& file) {
    if (by == "volatile_heap" || by == "memmove") {
        rem::volatile_heap memory;
        return measure_moves_by([&](std::size_t bytes) { return memory.try_allocate(bytes); },
                                [&](void* block) { memory.free(block); },
                                [&](void* block, std::size_t was) -> void* {
                                    if (by == "volatile_heap")
                                        return memory.reallocate(block, 2 * was);
                                    void* const moved = std::memmove(memory.try_allocate(2 * was), block, was);
                                    memory.free(block);
                                    return moved;
                                });
    }
    c_heap heap(file);
    const auto commit = [&](void* block) {
        if (by == "heap, uncommitted")
            return;
        c_heap::check(rem_root_set(heap.handle, "block", block));
        c_heap::check(rem_commit(heap.handle, REM_DURABLE));
        if (by == "heap, committed")
            return;
        c_heap::check(rem_close(heap.handle));
        heap.open();
    };
    measure_moves_by([&](std::size_t bytes) { return rem_alloc(heap.handle, bytes); },
                     [&](void* block) {
                         if (by != "heap, uncommitted")
                             (void)rem_root_remove(heap.handle, "block");
                         c_heap::check(rem_free(block));
                         c_heap::check(rem_commit(heap.handle, REM_DURABLE));
                     },
                     [&](void* block, std::size_t was) { return rem_realloc(heap.handle, block, 2 * was); }, commit);
}

void measure_availability(const allocator& by) {
    constexpr std::size_t k_blocks = 100'000;
    constexpr int k_operations = 1'000'000;
    struct one {
        void* start;
        std::size_t bytes;
    };
    std::mt19937_64 random(4);
    const auto size = [&] { return 8 + random() % 46; };
    std::vector<one> blocks(k_blocks);
    for (one& each : blocks) {
        each.bytes = size();
        each.start = by.allocate(each.bytes);
    }
    const bench::stopwatch watch;
    for (int i = 0; i != k_operations; ++i) {
        one& chosen = blocks[random() % blocks.size()];
        const std::size_t bytes = size();
        if (random() % 100 >= 76) {
            by.free(chosen.start, chosen.bytes);
            chosen.start = by.allocate(bytes);
        } else {
            chosen.start = by.resize(chosen.start, chosen.bytes, bytes);
        }
        chosen.bytes = bytes;
    }
    const double seconds = watch.seconds() / k_operations;
    bench::hand_over({"operation", seconds, {{"availability", by.availability()}}});
}

// --- entries and restoring

constexpr std::uint64_t k_entries = 5'000'000;

void make_entries(const fs::path& file) {
    rem::heap heap = rem::heap::create(file);
    auto& all = heap.root<stock::book>("book");
    const bench::stopwatch watch;
    for (std::uint64_t i = 0; i != k_entries; ++i)
        all.first = heap.make<stock::entry>(all.first, i);
    heap.commit();
    bench::hand_over({"make", watch.seconds() / static_cast<double>(k_entries)});
    heap.close();
}

void restore_entries(const fs::path& file) {
    bench::drop_from_page_cache(file);
    const bench::stopwatch watch;
    rem::heap heap = rem::heap::open_existing(file);
    std::uint64_t count = 0;
    for (const stock::entry* each = heap.find_root<stock::book>("book")->first; each != nullptr; each = each->next)
        ++count;
    const double gibibytes = static_cast<double>(heap.stats().heap_bytes) / (std::size_t{1} << 30U);
    if (count != k_entries)
        throw std::runtime_error("entries are missing");
    bench::hand_over({"restore", watch.seconds() / gibibytes});
}

// --- the benchmark

void run_child(const std::vector<std::string>& words) {
    const std::string& what = words.at(0);
    const std::string& by = words.at(1);
    const fs::path file = words.at(2);
    if (what == "access")
        return measure_access();
    if (what == "entries")
        return make_entries(file);
    if (what == "restore")
        return restore_entries(file);
    if (what == "moves")
        return measure_moves(by, file);
    rem::volatile_heap memory;
    const std::optional<allocator> mimalloc = by == "mimalloc" ? of_mimalloc() : std::nullopt;
    if (what == "resize")
        return bench::hand_over({"resize", measure_resizing(by == "glibc"     ? of_glibc()
                                                            : by == "copying" ? of_copying(memory)
                                                                              : of_volatile(memory))});
    if (by == "heap") {
        rem::heap heap = rem::heap::create(file);
        return measure_availability(of_heap(heap, file));
    }
    if (by != "mimalloc")
        return measure_availability(by == "glibc" ? of_glibc() : of_volatile(memory));
    if (mimalloc)
        measure_availability(*mimalloc);
}

void run_parent(const bench::options& chosen) {
    bench::report report("taiyen", chosen, "");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<std::pair<std::string, std::vector<std::string>>> all = {
        {"access", {"volatile_heap"}},
        {"resize", {"volatile_heap", "glibc", "copying"}},
        {"moves", {"volatile_heap", "heap, uncommitted", "heap, committed", "heap, opened", "memmove"}},
        {"availability", {"heap", "volatile_heap", "glibc", "mimalloc"}},
        {"entries", {"heap"}},
        {"restore", {"heap"}}};
    std::map<std::string, std::vector<double>> availability;
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const auto& [what, systems] : all) {
            const fs::path file = scratch.path() / "heap";
            if (!bench::is_wanted(what, chosen.workloads) &&
                !(what == "entries" && bench::is_wanted("restore", chosen.workloads)))
                continue;
            for (std::size_t i = 0; i != systems.size(); ++i) {
                const std::string& by = systems[(i + run) % systems.size()];
                if (!bench::is_wanted(by, chosen.only))
                    continue;
                bench::note(by + ", " + what);
                for (const bench::measurement& result : bench::run_child({what, by, file})) {
                    report.add(by, what, 1, result);
                    for (const auto& [key, value] : result.more)
                        availability[by].push_back(value);
                }
            }
            if (what != "entries") // restore reads that one
                fs::remove(file);
        }
    }
    for (const auto& [by, values] : availability)
        report.remark(by + ": availability " + std::to_string(bench::median(values)));
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "taiyen", k_purpose, run_parent, run_child); }
