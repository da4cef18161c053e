// Chunks that are rewritten and move to their other copy, on a real file, whose mappings are the kernel's.

#include "api/heap_impl.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/api/fixture.hpp"

#include <random>
#include <string>

namespace remanence::test {
namespace {

class rewritten : public testing::TestWithParam<tracking> {
protected:
    heap open() { return heap::open(dir_ / "h", options()); }
    static heap_options options() {
        heap_options chosen = small_heap();
        chosen.memory.chunk_bytes = 64 * KiB;
        chosen.log.log_limit_bytes = 300 * KiB;
        chosen.tracker = GetParam();
        return chosen;
    }
    /// Bytes on the disk, holes left out.
    [[nodiscard]] std::uint64_t disk_bytes() const {
        struct stat facts{};
        EXPECT_EQ(::stat((dir_ / "h").c_str(), &facts), 0);
        return static_cast<std::uint64_t>(facts.st_blocks) * 512;
    }
    temp_dir dir_;
};

INSTANTIATE_TEST_SUITE_P(trackers, rewritten, testing::Values(tracking::automatic, tracking::trap, tracking::fallback));

// Beside checkpoints, which give memory back and map chunks anew.
TEST_P(rewritten, memory_agrees_with_a_model_whatever_is_done) {
    constexpr std::uint64_t k_numbers = 2 * MiB / sizeof(std::uint64_t);
    std::mt19937_64 random(test::random_seed());
    std::vector<std::uint64_t> now(k_numbers);
    std::vector<std::uint64_t> committed;
    auto h = std::make_unique<heap>(open());
    h->write([&] { h->root<numbers>("numbers").resize(k_numbers); });
    committed = now;
    std::uint64_t rewrites = 0;
    for (int step = 0; step < 120; ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        auto& stored = *h->find_root<numbers>("numbers");
        ASSERT_TRUE(std::ranges::equal(stored, now));
        switch (random() % 8) {
        case 0:
        case 1:
        case 2: { // some of it, or all
            const std::uint64_t from = random() % 2 * (random() % (k_numbers / 2));
            for (std::uint64_t i = from; i < k_numbers; ++i)
                now[i] = stored[i] = random();
            ++rewrites;
            break;
        }
        case 3:
            for (int i = 0; i < 50; ++i) {
                const std::uint64_t at = random() % k_numbers;
                now[at] = stored[at] = random() % 3;
            }
            break;
        case 4:
        case 5:
            h->commit();
            committed = now;
            break;
        case 6:
            h->rollback();
            now = committed;
            break;
        default:
            if (random() % 3 == 0)
                h->checkpoint();
            if (random() % 3 != 0)
                break;
            h->close();
            h = std::make_unique<heap>(open());
            now = committed;
        }
    }
    EXPECT_GT(rewrites, 0U);
    EXPECT_TRUE(h->verify().problems.empty());
    h->close();
}

TEST_P(rewritten, a_file_takes_no_more_room_for_it_once_it_is_closed) {
    std::uint64_t before = 0;
    for (std::uint64_t round = 0; round < 4; ++round) {
        heap h = open();
        h.write([&] { h.root<numbers>("numbers").assign(4 * MiB / sizeof(std::uint64_t), round + 1); });
        h.close();
        if (round == 0)
            before = disk_bytes();
        EXPECT_LE(disk_bytes(), before + MiB) << round;
    }
    heap h = open();
    EXPECT_TRUE(std::ranges::all_of(*h.find_root<numbers>("numbers"), [](std::uint64_t each) { return each == 4; }));
}

// Else a thread makes the checksums of so much while it is written.
TEST(large_commits, are_sound_where_no_thread_can_be_started) {
    EXPECT_EQ(as_nobody([]() -> std::string {
                  simulation::simulated_disk disk;
                  heap h = detail::open(disk, "/disk/h", small_heap());
                  refuse_threads();
                  auto& stored = h.root<numbers>("numbers");
                  for (std::uint64_t round = 1; round <= 2; ++round) {
                      stored.assign(8 * MiB / sizeof(std::uint64_t), round);
                      h.commit();
                  }
                  return h.verify().clean() ? "clean" : "not clean";
              }),
              "clean");
}

} // namespace
} // namespace remanence::test
