// Threads that load one heap together, in one write section: wall time for each block, over all threads, the median of several rounds.
// Each round has a new heap. Blocks get their first 8 bytes written; the commit at the end does not count.
#include <remanence/remanence.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace {

namespace rem = remanence;

constexpr std::size_t k_blocks_each = 1'000'000;

using bytes_of = rem::allocator<std::byte>;

std::byte* allocate(bytes_of from, std::size_t bytes) {
    std::byte* const block = from.allocate(bytes);
    const std::uint64_t one = 1;
    std::memcpy(block, &one, sizeof one);
    return block;
}

void fill(bytes_of from, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t n = 0; n != k_blocks_each; ++n)
        allocate(from, 16 + random() % 112);
}

/// Replaces one of many blocks, again and again.
void churn(bytes_of from, unsigned seed) {
    struct held {
        std::byte* at;
        std::size_t bytes;
    };
    std::mt19937 random(seed);
    std::vector<held> all(20'000);
    for (held& each : all) {
        each.bytes = 16 + random() % 240;
        each.at = allocate(from, each.bytes);
    }
    for (std::size_t n = 0; n != k_blocks_each; ++n) {
        held& replaced = all[random() % all.size()];
        from.deallocate(replaced.at, replaced.bytes);
        replaced.bytes = 16 + random() % 240;
        replaced.at = allocate(from, replaced.bytes);
    }
}

void insert(bytes_of from, unsigned seed) {
    std::mt19937 random(seed);
    using entry = std::pair<const std::uint64_t, std::uint64_t>;
    using numbers = std::map<std::uint64_t, std::uint64_t, std::less<>, rem::allocator<entry>>;
    auto* const map = new (from.allocate(sizeof(numbers))) numbers(rem::allocator<entry>(from));
    for (std::size_t n = 0; n != k_blocks_each; ++n)
        map->emplace(random(), n);
}

using work = void (*)(bytes_of from, unsigned seed);

double seconds(work what, unsigned threads) {
    const auto path = std::filesystem::temp_directory_path() / "remanence_parallel_load";
    std::filesystem::remove(path);
    double took = 0;
    {
        rem::heap heap = rem::heap::create(path);
        heap.write(rem::durability::none, [&] {
            const auto start = std::chrono::steady_clock::now();
            std::vector<std::thread> all;
            for (unsigned i = 0; i != threads; ++i)
                all.emplace_back([&, i] { what(heap.get_allocator<std::byte>(), i + 1); });
            for (std::thread& each : all)
                each.join();
            took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        });
    }
    std::filesystem::remove(path);
    return took;
}

void report(const char* name, work what, std::size_t rounds) {
    std::printf("%-8s", name);
    for (const unsigned threads : {1U, 2U}) {
        std::vector<double> took(rounds);
        std::ranges::generate(took, [&] { return seconds(what, threads); });
        std::ranges::sort(took);
        std::printf("   %u thread%c %7.1f ns", threads, threads == 1 ? ' ' : 's',
                    took[rounds / 2] * 1e9 / static_cast<double>(k_blocks_each * threads));
    }
    std::printf("\n");
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5;
    if (rounds == 0) {
        const bool asked = std::strcmp(argv[1], "--help") == 0;
        std::fputs("usage: parallel_load [rounds (5)]\nMeasures one thread and two that load a heap in one write "
                   "section, in ns of wall time for "
                   "each block.\n",
                   asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    report("fill", fill, rounds);
    report("churn", churn, rounds);
    report("insert", insert, rounds);
}
