// The allocator against glibc's malloc, both called through a function that is not inlined: ns per operation, the best
// of several rounds. Memory is touched beforehand by a first round; each block gets its first 8 bytes written.
#include "alloc/block_allocator.hpp"
#include "base/units.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace remanence {
namespace {

constexpr std::uint64_t k_limit_bytes = 16 * GiB;

struct heap {
    std::byte* base;
    std::unique_ptr<alloc::block_allocator> allocator;

    heap() {
        void* const got =
            ::mmap(nullptr, k_limit_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED)
            std::abort();
        base = static_cast<std::byte*>(got);
        auto& state = *static_cast<format::alloc_state*>(got);
        alloc::block_allocator::format(state);
        allocator = std::make_unique<alloc::block_allocator>(
            base, state, [](std::uint64_t end) -> result<std::uint64_t> { return align_up(end, MiB); }, k_limit_bytes,
            k_page_bytes);
    }
    ~heap() { ::munmap(base, k_limit_bytes); }
};

heap* g_heap; // what an allocator's allocate() finds by address

struct ours {
    static constexpr const char* k_name = "ours";
    [[gnu::noinline]] static void* allocate(std::size_t bytes) { return g_heap->allocator->allocate(bytes); }
    [[gnu::noinline]] static void deallocate(void* at, std::size_t bytes) { g_heap->allocator->deallocate(at, bytes); }
};

struct glibc {
    static constexpr const char* k_name = "glibc";
    [[gnu::noinline]] static void* allocate(std::size_t bytes) { return std::malloc(bytes); }
    [[gnu::noinline]] static void deallocate(void* at, std::size_t) { std::free(at); }
};

struct request {
    void* at;
    std::size_t bytes;
};

// Of this process: what else runs on the machine does not count, but for its share of the caches.
double cpu_now() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ns_each(std::size_t count, const std::function<void()>& work) {
    const double start = cpu_now();
    work();
    return (cpu_now() - start) / static_cast<double>(count);
}

struct figures {
    double allocate = 1e9;
    double free_random = 1e9;
    double free_in_order = 1e9;
    double churn = 1e9;
};

template <class A>
void allocate_all(std::vector<request>& blocks) {
    for (request& each : blocks) {
        each.at = A::allocate(each.bytes);
        *static_cast<std::uint64_t*>(each.at) = 1;
    }
}

template <class A>
void free_all(const std::vector<request>& blocks) {
    for (const request& each : blocks)
        A::deallocate(each.at, each.bytes);
}

template <class A>
figures measure(std::vector<request> blocks, std::size_t rounds) {
    std::mt19937_64 random(1);
    figures best;
    const std::size_t count = blocks.size();
    std::vector<std::size_t> sizes(count);
    std::transform(blocks.begin(), blocks.end(), sizes.begin(), [](const request& each) { return each.bytes; });
    for (std::size_t i = 0; i < rounds; ++i) {
        const double first = ns_each(count, [&] { allocate_all<A>(blocks); });
        const double in_order = ns_each(count, [&] { free_all<A>(blocks); });
        allocate_all<A>(blocks);
        std::vector<std::uint32_t> turns(count);
        for (auto& turn : turns)
            turn = static_cast<std::uint32_t>(random() % count);
        std::size_t next = 0;
        const double churn = ns_each(count, [&] {
            for (const std::uint32_t turn : turns) {
                request& freed = blocks[turn];
                A::deallocate(freed.at, freed.bytes);
                freed.bytes = sizes[next++ % count];
                freed.at = A::allocate(freed.bytes);
                *static_cast<std::uint64_t*>(freed.at) = 1;
            }
        });
        std::shuffle(blocks.begin(), blocks.end(), random);
        const double free_random = ns_each(count, [&] { free_all<A>(blocks); });
        if (i == 0)
            continue;
        best = {std::min(best.allocate, first), std::min(best.free_random, free_random),
                std::min(best.free_in_order, in_order), std::min(best.churn, churn)};
    }
    return best;
}

template <class A>
void report(const char* what, const std::vector<request>& blocks, std::size_t rounds) {
    const figures f = measure<A>(blocks, rounds);
    std::printf("%-34s %-6s  allocate %6.1f   free in order %6.1f   in random order %6.1f   churn (both) %6.1f\n", what,
                A::k_name, f.allocate, f.free_in_order, f.free_random, f.churn);
}

} // namespace
} // namespace remanence

int main(int argc, char** argv) {
    using namespace remanence; // NOLINT(google-build-using-namespace): the benchmark stands in it
    const std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5;
    if (rounds == 0) {
        const bool asked = std::strcmp(argv[1], "--help") == 0;
        std::fputs("usage: micro_alloc [rounds (5) [ours | glibc]]\nMeasures allocation and freeing of blocks, in ns "
                   "each, best "
                   "of the rounds, beside glibc's malloc.\n",
                   asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    const char* const only = argc > 2 ? argv[2] : nullptr;
    mallopt(M_TRIM_THRESHOLD, 1 << 30); // keeps what it has, as a heap does
    mallopt(M_TOP_PAD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    std::mt19937_64 random(2);
    for (const std::size_t count : {std::size_t{10'000}, std::size_t{1'000'000}}) {
        std::vector<request> fixed(count, request{nullptr, 200});
        std::vector<request> mixed(count);
        for (request& each : mixed)
            each.bytes = 16 + random() % 241;
        heap of_fixed;
        heap of_mixed;
        char title[64];
        for (const bool is_mixed : {false, true}) {
            g_heap = is_mixed ? &of_mixed : &of_fixed;
            std::snprintf(title, sizeof title, "%zu blocks of %s bytes", count, is_mixed ? "16..256" : "200");
            const std::size_t repeat = count < 100'000 ? rounds * 20 : rounds;
            if (only == nullptr || std::strcmp(only, "ours") == 0)
                report<ours>(title, is_mixed ? mixed : fixed, repeat);
            if (only == nullptr || std::strcmp(only, "glibc") == 0)
                report<glibc>(title, is_mixed ? mixed : fixed, repeat);
        }
    }
}
