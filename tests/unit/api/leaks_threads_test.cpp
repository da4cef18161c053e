// check_options::leak_frames with threads that allocate and free at the same time.
#include "fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace remanence::test {

TEST(leaks_threads, blocks_of_all_threads_are_noted) {
    temp_dir dir;
    heap_options options = small_heap();
    options.checks.leak_frames = 4;
    heap h = heap::create(dir / "leaks.rem", options);
    constexpr std::size_t k_threads = 4;
    constexpr std::size_t k_blocks = 300;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != k_threads; ++i) {
        threads.emplace_back([&h] {
            auto chars = h.get_allocator<char>();
            for (std::size_t n = 0; n != k_blocks; ++n) {
                char* const first = chars.allocate(100);
                (void)chars.allocate(24); // leaks
                chars.deallocate(first, 100);
            }
        });
    }
    for (std::thread& each : threads)
        each.join();
    h.commit();
    const leak_report found = h.leaks();
    EXPECT_EQ(found.blocks, k_threads * k_blocks);
    std::uint64_t requested = 0;
    for (const leak_report::place& each : found.places)
        requested += each.requested_bytes;
    EXPECT_EQ(requested, k_threads * k_blocks * 24);
}

TEST(leaks_threads, are_looked_for_beside_write_sections) {
    temp_dir dir;
    heap_options options = small_heap();
    options.checks.leak_frames = 4;
    heap h = heap::create(dir / "leaks.rem", options);
    auto& kept = h.root<list<string>>("kept");
    constexpr std::uint64_t k_sections = 50;
    std::vector<std::thread> threads;
    for (int i = 0; i != 2; ++i) {
        threads.emplace_back([&] {
            for (std::uint64_t n = 0; n != k_sections; ++n) {
                h.write(durability::none, [&] {
                    kept.emplace_back("a text that is too long for the object itself");
                    (void)h.make<std::uint64_t>(n); // leaks
                });
            }
        });
    }
    std::uint64_t before = 0;
    for (int i = 0; i != 20; ++i) {
        const std::uint64_t now = h.leaks().blocks;
        EXPECT_GE(now, before);
        before = now;
    }
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(h.leaks().blocks, 2 * k_sections);
}

} // namespace remanence::test
