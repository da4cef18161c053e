// The runtime's blocks and its places that allocate, without the marks, which sanitizers leave no room for: built with them by softpm_test.py, and run alone.
// Threads allocate, fill, check and free blocks of all sizes of one arena, and look for those of each other; another one learns and forgets places.
#include "runtime/arena.hpp"
#include "runtime/call_sites.hpp"
#include "runtime/shadow.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace remanence::softpm {

namespace {
std::atomic<std::uint64_t> cleared = 0;
}

void clear_marks(const void*, std::size_t bytes) { cleared += bytes; }

namespace {

constexpr std::uint32_t k_pages = 16384;
constexpr int k_threads = 4;
constexpr int k_steps = 60'000;

void check(bool is_so, const char* what) {
    if (is_so)
        return;
    std::fprintf(stderr, "arena_test: %s\n", what);
    std::exit(1);
}

struct held {
    std::byte* begin;
    std::size_t bytes;
    std::byte pattern;
};

void check_and_free(arena& of, const held& which) {
    check(which.begin[0] == which.pattern && which.begin[which.bytes - 1] == which.pattern, "a block was written over");
    const block found = of.find(address_of(which.begin) + which.bytes / 2);
    check(found.begin == which.begin && found.bytes >= which.bytes, "a block is not found");
    check(of.free(which.begin), "a block is not there");
}

void work(arena& of, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<held> mine;
    for (int step = 0; step < k_steps; ++step) {
        if (mine.size() > 200 || (!mine.empty() && random() % 3 == 0)) {
            const std::size_t which = random() % mine.size();
            check_and_free(of, mine[which]);
            mine[which] = mine.back();
            mine.pop_back();
            continue;
        }
        const bool is_large = random() % 64 == 0;
        const std::size_t bytes = 1 + random() % (is_large ? 200'000 : 2'000);
        const std::size_t alignment = std::size_t{16} << (random() % 8);
        auto* const got = static_cast<std::byte*>(of.allocate(bytes, alignment));
        check(got != nullptr, "there is room, and no block");
        check(address_of(got) % alignment == 0, "a block is not aligned");
        const auto pattern = static_cast<std::byte>(random());
        std::memset(got, static_cast<int>(pattern), bytes);
        note_call_site(got, 1 + random() % 1000);
        mine.push_back({got, bytes, pattern});
        arena* const known = arena_of_call_site(1 + random() % 1000);
        check(known == nullptr || known == &of, "a place has an arena that is none");
    }
    for (const held& each : mine)
        check_and_free(of, each);
}

template <class T>
T* mapped(std::size_t bytes) {
    void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(got != MAP_FAILED, "mmap");
    return static_cast<T*>(got);
}

int run(unsigned seed) {
    std::uint64_t used = 0;
    const arena::parts parts = {mapped<std::byte>(k_pages * k_page_bytes), k_pages,
                                mapped<std::uint32_t>(k_pages * sizeof(std::uint32_t)), &used};
    arena blocks(parts);
    std::atomic<bool> is_over = false;
    std::thread other([&] { // as points do
        std::mt19937 random(seed);
        while (!is_over) {
            auto* const block = blocks.allocate(48);
            note_call_site(block, 1 + random() % 1000);
            learn_call_site_of(block, blocks);
            if (random() % 64 == 0)
                forget_call_sites_of(blocks);
            check(blocks.free(block), "the block of a place is not there");
        }
    });
    std::vector<std::thread> all;
    for (unsigned i = 0; i < k_threads; ++i)
        all.emplace_back([&, i] { work(blocks, seed + i); });
    for (std::thread& each : all)
        each.join();
    is_over = true;
    other.join();
    blocks.for_each([](const block&) { check(false, "a block is left"); });
    check(blocks.is_sound() && cleared > 0, "the page table is not sound");

    forget_call_sites_of(blocks);

    // A restore: what is reachable is found again by the page table, and what is not is free.
    std::vector<std::byte*> kept;
    for (int i = 0; i < 1000; ++i)
        if (auto* const one = static_cast<std::byte*>(blocks.allocate(100)); i % 3 == 0)
            kept.push_back(one);
    arena again(parts);
    for (std::byte* const each : kept) {
        bool is_new = false;
        check(again.revive(address_of(each) + 50, is_new).begin == each && is_new, "a block is not revived");
    }
    again.finish_restore();
    std::size_t there = 0;
    again.for_each([&](const block&) { ++there; });
    check(there == kept.size(), "other blocks are there than those that were revived");
    work(again, seed);
    arena all_of_it(parts);
    all_of_it.revive_all();
    for (std::byte* const each : kept)
        check(all_of_it.find(address_of(each)).begin == each, "a block is not there when all are taken for used");
    work(all_of_it, seed);
    std::puts("blocks are as they were");
    return 0;
}

} // namespace

} // namespace remanence::softpm

int main(int count, char** arguments) {
    return remanence::softpm::run(count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 1);
}
