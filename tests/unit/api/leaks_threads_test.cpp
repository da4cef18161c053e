// check_options::leak_frames with threads that allocate and free at the same time.
#include "fixture.hpp"

#include <cstddef>
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

} // namespace remanence::test
