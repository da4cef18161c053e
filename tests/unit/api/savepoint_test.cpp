// Savepoints of write sections.

#include "api/heap_impl.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {

heap_options small_heap_with(tracking how) {
    heap_options options = small_heap();
    options.tracker = how;
    return options;
}

class savepoints : public testing::TestWithParam<tracking> {
protected:
    heap open() { return heap::open(dir_ / "h", small_heap_with(GetParam())); }
    /// The memory of the heap, allocator included, as the next commit would see it.
    static std::vector<std::byte> memory_of(heap& h) {
        txn::heap_memory& memory = detail::impl_of(h).memory();
        memory.allocator().flush();
        return {memory.base(), memory.base() + memory.accessible_bytes()};
    }
    /// What the heap has grown by since holds nothing.
    static bool has_memory(heap& h, std::vector<std::byte> expected) {
        std::vector<std::byte> found = memory_of(h);
        expected.resize(found.size());
        return found == expected;
    }

    temp_dir dir_;
};

TEST_P(savepoints, come_after_a_point_that_is_in_flight) {
    heap h = open();
    detail::impl_of(h).engine().copy_points_from(1);
    auto& list = h.root<numbers>("numbers", 20'000, 1U);
    h.commit();
    for (unsigned value = 2; value < 20; ++value) {
        std::fill(list.begin(), list.end(), value);
        (void)h.commit_async();
        h.write([&] {
            savepoint here = h.savepoint();
            std::fill(list.begin(), list.end(), 0U);
            here.rollback();
            EXPECT_EQ(static_cast<std::size_t>(std::count(list.begin(), list.end(), value)), list.size());
        });
    }
}

TEST_P(savepoints, bring_back_objects_roots_and_allocator) {
    heap h = open();
    put_contents(h);
    h.write([&] {
        auto& list = *h.find_root<numbers>("numbers");
        list.push_back(1);
        savepoint here = h.savepoint();
        const auto before = memory_of(h);
        list.assign(50'000, 3);
        h.root<numbers>("other").resize(100);
        h.find_root<names>("names")->clear();
        here.rollback();
        EXPECT_TRUE(has_memory(h, before));
        EXPECT_EQ(list.size(), 1001U);
        EXPECT_EQ(h.find_root<numbers>("other"), nullptr);
        EXPECT_EQ(h.find_root<names>("names")->size(), 1U);
        list.pop_back();
    });
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_TRUE(file_has_contents(dir_ / "h"));
}

TEST_P(savepoints, of_what_was_never_committed) {
    heap h = open();
    h.write([&] {
        savepoint empty = h.savepoint();
        auto& list = h.root<numbers>("numbers");
        savepoint with_root = h.savepoint();
        list.resize(10'000, 7);
        with_root.rollback();
        EXPECT_TRUE(list.empty());
        empty.rollback();
        EXPECT_FALSE(with_root.is_open());
        EXPECT_TRUE(h.roots().empty());
    });
    put_contents(h);
    EXPECT_TRUE(has_contents(h));
}

TEST_P(savepoints, can_be_gone_back_to_again_and_again) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        list.push_back(1);
        savepoint here = h.savepoint();
        for (std::uint64_t i = 0; i < 5; ++i) {
            list.push_back(i);
            list.resize(1000 * (i + 2));
            here.rollback();
            ASSERT_EQ(list.size(), 1U);
        }
        list.push_back(2);
    });
    EXPECT_EQ(list.size(), 2U);
    EXPECT_EQ(list[1], 2U);
}

TEST_P(savepoints, keep_what_was_changed_when_they_are_released) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        savepoint outer = h.savepoint();
        list.push_back(1);
        {
            savepoint inner = h.savepoint();
            list.push_back(2);
        }
        savepoint released = h.savepoint();
        list.push_back(3);
        released.release();
        EXPECT_FALSE(released.is_open());
        EXPECT_EQ(list.size(), 3U);
        outer.rollback();
        EXPECT_TRUE(list.empty());
        list.push_back(4);
    });
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0], 4U);
}

TEST_P(savepoints, save_the_outer_section_from_an_inner_one_that_throws) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        list.push_back(1);
        const savepoint here = h.savepoint();
        for (int i = 0; i < 2; ++i) {
            try {
                h.write([&] {
                    list.push_back(2);
                    savepoint within = h.savepoint();
                    list.push_back(3);
                    throw std::runtime_error("no");
                });
                ADD_FAILURE();
            } catch (const std::runtime_error&) {
                EXPECT_EQ(list.size(), 1U);
            }
        }
        EXPECT_TRUE(here.is_open());
        list.push_back(5);
    });
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[1], 5U);
}

TEST_P(savepoints, that_have_ended_save_nobody) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    const auto fails_within = [&] {
        try {
            h.write([&]() -> void { throw std::runtime_error("no"); });
        } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): on purpose
        }
    };
    EXPECT_EQ(reason_of([&] {
                  h.write([&] {
                      list.push_back(1);
                      h.savepoint().release();
                      fails_within();
                  });
              }),
              errc::rolled_back);
    EXPECT_EQ(reason_of([&] {
                  h.write([&] {
                      fails_within(); // before there is one
                      savepoint late = h.savepoint();
                      late.rollback();
                  });
              }),
              errc::rolled_back);
    EXPECT_TRUE(list.empty());
}

TEST_P(savepoints, end_with_their_section_and_say_so) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    EXPECT_EQ(reason_of([&] { (void)h.savepoint(); }), errc::outside_section);
    std::vector<savepoint> kept;
    h.write([&] { kept.push_back(h.savepoint()); });
    h.write([&] {
        kept.push_back(h.savepoint());
        list.push_back(1);
        h.commit();
    });
    h.lock();
    kept.push_back(h.savepoint());
    list.push_back(2);
    h.rollback();
    h.unlock();
    h.write([&] {
        list.push_back(3);
        for (savepoint& each : kept) {
            EXPECT_FALSE(each.is_open());
            EXPECT_EQ(reason_of([&] { each.rollback(); }), errc::invalid_argument);
        }
    });
    ASSERT_EQ(list.size(), 2U);
    h.close();
    EXPECT_EQ(reason_of([&] { kept[0].rollback(); }), errc::closed);
    EXPECT_FALSE(kept[0].is_open());
}

TEST_P(savepoints, make_a_declared_section_an_ordinary_one) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    auto& word = h.root<std::uint64_t>("word");
    h.write(declared, [&] {
        list.push_back(1);
        savepoint here = h.savepoint();
        list.push_back(2);
        here.rollback();
        word = 3; // undeclared
    });
    h.rollback();
    EXPECT_EQ(list.size(), 1U);
    EXPECT_EQ(word, 3U);
}

TEST_P(savepoints, are_dead_in_a_forked_child) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        savepoint here = h.savepoint();
        list.push_back(1);
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(reason_of([&] { here.rollback(); }) == errc::closed && !here.is_open() ? 0 : 1);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        here.rollback();
        EXPECT_TRUE(list.empty());
    });
}

/// Edits of several kinds, with savepoints made, left and gone back to in between, against copies of the whole memory.
TEST_P(savepoints, are_exact_whatever_was_done_in_between) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    auto& index = h.root<names>("names");
    auto& table = h.root<hash_map<std::uint64_t, string>>("table");
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        std::mt19937_64 random(test::seed_or(seed));
        h.write([&] {
            struct kept {
                savepoint point;
                std::vector<std::byte> memory;
            };
            std::vector<kept> open_ones;
            for (int step = 0; step < 120; ++step) {
                const std::uint64_t n = random();
                switch (n % 9) {
                case 0:
                case 1:
                    list.resize(n / 9 % 20'000, n);
                    break;
                case 2:
                    for (std::uint64_t& each : list)
                        ++each;
                    break;
                case 3:
                case 4:
                    for (std::uint64_t i = 0; i < 40; ++i)
                        index[string(std::to_string(random() % 500) + " is a name that has memory of its own")] = i;
                    break;
                case 5:
                    for (std::uint64_t i = 0; i < 40 && !index.empty(); ++i)
                        index.erase(index.begin());
                    break;
                case 6:
                    for (std::uint64_t i = 0; i < 40; ++i)
                        table[random() % 500] = string(static_cast<std::size_t>(random() % 300), 'x');
                    break;
                case 7:
                    open_ones.push_back({h.savepoint(), {}});
                    open_ones.back().memory = memory_of(h);
                    break;
                default:
                    if (!open_ones.empty()) {
                        const std::size_t which = n / 9 % open_ones.size();
                        open_ones[which].point.rollback();
                        open_ones.erase(open_ones.begin() + static_cast<std::ptrdiff_t>(which) + 1, open_ones.end());
                        ASSERT_TRUE(has_memory(h, open_ones[which].memory)) << "seed " << seed << ", step " << step;
                    }
                }
            }
        });
        ASSERT_TRUE(h.verify().clean());
        const auto committed = memory_of(h);
        h.rollback();
        ASSERT_TRUE(has_memory(h, committed));
    }
    const std::vector<std::uint64_t> copy(list.begin(), list.end());
    const std::size_t names_count = index.size();
    h.close();
    h = open();
    const auto& again = *h.find_root<numbers>("numbers");
    EXPECT_EQ(std::vector<std::uint64_t>(again.begin(), again.end()), copy);
    EXPECT_EQ(h.find_root<names>("names")->size(), names_count);
    EXPECT_TRUE(h.verify().clean());
}

INSTANTIATE_TEST_SUITE_P(trackers, savepoints,
                         testing::Values(tracking::automatic, tracking::trap, tracking::fallback));

TEST(savepoints_of_shared_heaps, leave_nothing_for_others_to_see) {
    temp_dir dir;
    heap_options options = small_heap();
    options.access = sharing::processes;
    heap h = heap::open(dir / "h", options);
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        list.push_back(1);
        savepoint here = h.savepoint();
        list.resize(10'000);
        here.rollback();
    });
    h.read([&] { EXPECT_EQ(list.size(), 1U); });
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST(savepoints_whose_committed_content_is_damaged, poison_the_heap) {
    temp_dir dir;
    const fs::path path = dir / "h";
    constexpr std::uint64_t k_mark = 0x5ab0'7e1e'f00d'cafe;
    {
        heap h = heap::open(path, small_heap());
        h.write([&] { h.root<numbers>("numbers").resize(100'000, k_mark); });
        h.close();
    }
    heap h = heap::open(path, small_heap());
    auto& list = h.root<numbers>("numbers");
    h.lock();
    savepoint here = h.savepoint();
    std::ranges::fill(list, 1);
    std::string file(static_cast<std::size_t>(fs::file_size(path)), '\0');
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.read(file.data(), static_cast<std::streamsize>(file.size()));
    const std::size_t at =
        file.find(std::string(reinterpret_cast<const char*>(&k_mark), sizeof k_mark), file.size() / 2);
    ASSERT_NE(at, std::string::npos);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put('!').flush();
    EXPECT_EQ(reason_of([&] { here.rollback(); }), errc::corrupt);
    EXPECT_EQ(reason_of([&] { h.commit(); }), errc::poisoned);
    testing::internal::CaptureStderr();
    h.unlock();
    EXPECT_NE(testing::internal::GetCapturedStderr().find("could not commit"), std::string::npos);
}

TEST(savepoints_of_large_sections, keep_changes_in_memory_and_are_refused_when_some_were_spilled) {
    temp_dir dir;
    heap_options options = small_heap();
    options.memory.dirty_limit_bytes = 4 * MiB;
    heap h = heap::open(dir / "h", options);
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        savepoint here = h.savepoint();
        list.resize(MiB, 1);
        EXPECT_EQ(h.stats().spilled_bytes, 0U);
        here.rollback();
        EXPECT_TRUE(list.empty());
    });
    h.write([&] {
        for (int i = 0; i < 10; ++i)
            list.resize(list.size() + MiB / 8, 1);
        ASSERT_NE(h.stats().spilled_bytes, 0U);
        EXPECT_THROW((void)h.savepoint(), heap_exhausted);
    });
    EXPECT_EQ(list.size(), 10 * MiB / 8);
    EXPECT_TRUE(h.verify().clean());
}

// Memory that is in use by what was committed is spilled like changes.
TEST(savepoints_of_large_sections, do_without_what_was_spilled_and_is_as_committed) {
    temp_dir dir;
    heap_options options = small_heap();
    options.memory.chunk_bytes = 64 * KiB;
    options.memory.dirty_limit_bytes = 512 * KiB;
    heap h = heap::open(dir / "h", options);
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(MiB / 2, 1); });
    h.checkpoint();
    txn::engine& engine = detail::impl_of(h).engine();
    h.write([&] {
        std::fill(list.begin() + 64 * 1024, list.end(), 2);
        while (engine.spilled_chunks().size() < 10)
            ASSERT_FALSE(engine.spill_excess());
        std::fill(list.begin() + 64 * 1024, list.end(), 1);
        list[7] = 4; // all else is as it was committed
        ASSERT_FALSE(engine.spilled_chunks().empty());
        auto here = h.savepoint();
        list[8] = 5;
        here.rollback();
        EXPECT_EQ(list[7], 4U);
        EXPECT_EQ(list[8], 1U);
    });
    EXPECT_TRUE(h.verify().clean());
    h.close();
    h = heap::open(dir / "h", options);
    const auto& found = *h.find_root<numbers>("numbers");
    EXPECT_EQ(found[7], 4U);
    EXPECT_EQ(std::count(found.begin(), found.end(), 1U), static_cast<std::ptrdiff_t>(MiB / 2) - 1);
}

} // namespace
} // namespace remanence::test
