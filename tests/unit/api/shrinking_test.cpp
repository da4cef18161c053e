// How long the heap's file is when memory was freed.
#include "fixture.hpp"

#include "support/seed.hpp"

#include <remanence/arena.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace remanence::test::shrinking {

namespace {

class shrinking : public testing::Test {
protected:
    [[nodiscard]] std::uint64_t file_bytes() const { return fs::file_size(path_); }
    /// Makes the heap longer region by region, and frees all but `kept`.
    static void grow_and_free(heap& h) {
        auto& grown = h.root<vector<numbers>>("grown");
        for (std::uint64_t i = 0; i != 24; ++i)
            h.write([&] { grown.emplace_back(256 * KiB / sizeof i, i + 1); });
        h.write([&] { h.remove_root<vector<numbers>>("grown"); });
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
};

constexpr std::uint64_t k_short = 2 * MiB;

TEST_F(shrinking, an_arena_that_came_and_went_leaves_nothing_when_the_heap_closes) {
    {
        heap h = heap::create(path_);
        h.root<numbers>("kept").assign(10'000, 7);
        h.commit();
        const arena big = arena::open(h, "big");
        void* const block = big.get_allocator<char>().allocate(8 * MiB);
        std::memset(block, 1, 8 * MiB);
        h.commit();
        EXPECT_GT(file_bytes(), 1 * GiB);
        arena::destroy(h, "big");
        h.root<numbers>("later").assign(1'000, 8);
        h.commit();
    }
    EXPECT_LT(file_bytes(), k_short);
    heap h = heap::open(path_);
    EXPECT_TRUE(h.verify().clean());
    EXPECT_EQ(h.root<numbers>("kept")[9'999], 7U);
    EXPECT_EQ(h.root<numbers>("later")[999], 8U);
    const arena again = arena::open(h, "big");
    std::memset(again.get_allocator<char>().allocate(1 * MiB), 1, 1 * MiB);
    h.commit();
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(shrinking, ends_the_file_behind_what_is_in_use_while_the_heap_is_open) {
    heap h = heap::create(path_);
    auto& kept = h.root<numbers>("kept");
    kept.assign(10'000, 7);
    grow_and_free(h);
    const std::uint64_t before = file_bytes();
    EXPECT_GT(before, 5 * MiB);
    const std::uint64_t shorter = h.shrink();
    EXPECT_EQ(before - file_bytes(), shorter);
    EXPECT_LT(file_bytes(), k_short);
    EXPECT_EQ(h.shrink(), 0U);
    EXPECT_EQ(kept[9'999], 7U);
    grow_and_free(h);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(shrinking, ends_the_file_where_only_small_blocks_were_freed) {
    heap h = heap::create(path_);
    auto& many = h.root<map<int, string>>("many");
    h.write([&] {
        for (int i = 0; i != 60'000; ++i)
            many[i] = string(300, 'a');
    });
    h.write([&] { many.clear(); });
    EXPECT_GT(h.shrink(), 16 * MiB);
    EXPECT_LT(file_bytes(), k_short);
    h.write([&] { many[1] = string(300, 'b'); });
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(shrinking, needs_no_commit_before) {
    {
        heap h = heap::create(path_);
        h.root<numbers>("kept").assign(10'000, 7);
        h.commit();
    }
    heap h = heap::open(path_);
    EXPECT_EQ(h.shrink(), 0U);
    EXPECT_EQ(h.root<numbers>("kept")[1], 7U);
}

TEST_F(shrinking, is_refused_with_changes_that_are_not_committed) {
    heap h = heap::create(path_);
    auto& kept = h.root<numbers>("kept");
    grow_and_free(h);
    const std::uint64_t before = file_bytes();
    kept.push_back(1);
    EXPECT_EQ(error_of([&] { h.shrink(); })->code, errc::uncommitted);
    EXPECT_EQ(file_bytes(), before);
    h.write([&] {
        kept.push_back(2);
        EXPECT_EQ(error_of([&] { h.shrink(); })->code, errc::uncommitted);
    });
    EXPECT_EQ(kept.size(), 2U);
    EXPECT_GT(h.shrink(), 0U);
}

TEST_F(shrinking, is_refused_where_others_may_need_the_space) {
    heap_options shared;
    shared.access = sharing::processes;
    {
        heap h = heap::open(path_, shared);
        grow_and_free(h);
        EXPECT_TRUE(is_error(error_of([&] { h.shrink(); }), errc::not_supported, path_, "last one that closes it"));
    }
    EXPECT_LT(file_bytes(), k_short) << "the last process that closes the heap gives the space back";
    heap_options with_history;
    with_history.history = {.bytes_max = 64 * MiB};
    heap h = heap::open(path_, with_history);
    grow_and_free(h);
    EXPECT_TRUE(is_error(error_of([&] { h.shrink(); }), errc::not_supported, path_, "rem history --end"));
    h.undo();
    EXPECT_EQ(h.find_root<vector<numbers>>("grown")->size(), 24U);
}

TEST_F(shrinking, is_refused_by_a_heap_that_is_read_only) {
    {
        heap::create(path_).root<numbers>("kept").assign(10'000, 7);
    }
    heap h = heap::open(path_, {.read_only = true});
    EXPECT_EQ(error_of([&] { h.shrink(); })->code, errc::read_only);
}

// Beside a model, with random sizes, in random order.
TEST_F(shrinking, keeps_what_is_in_use) {
    std::mt19937 random(random_seed());
    heap h = heap::create(path_);
    auto& kept = h.root<vector<numbers>>("kept");
    std::vector<std::vector<std::uint64_t>> wanted;
    for (int round = 0; round != 40; ++round) {
        for (int i = 0; i != 6; ++i) {
            if (wanted.empty() || random() % 5 < 2) {
                const std::size_t count = std::size_t{1} << random() % 18;
                wanted.emplace_back(count, random());
                kept.emplace_back(count, wanted.back()[0]);
            } else {
                const std::size_t at = random() % wanted.size();
                wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(at));
                kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        h.commit();
        if (random() % 2 == 0)
            h.shrink();
        if (random() % 4 == 0)
            h.checkpoint();
        ASSERT_EQ(kept.size(), wanted.size());
        for (std::size_t i = 0; i != wanted.size(); ++i)
            ASSERT_TRUE(std::ranges::equal(kept[i], wanted[i])) << "round " << round << ", vector " << i;
    }
    EXPECT_TRUE(h.verify().clean());
}

} // namespace

} // namespace remanence::test::shrinking
