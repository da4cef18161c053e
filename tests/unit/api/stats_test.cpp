// What heap.stats() counts.

#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <chrono>
#include <cmath>
#include <random>

namespace remanence::test {
namespace {

using std::chrono::nanoseconds;

TEST(latency_histogram, quantiles_are_never_too_short_and_at_most_half_too_long) {
    std::mt19937_64 random(test::random_seed());
    for (int round = 0; round < 100; ++round) {
        latency_histogram histogram;
        std::vector<std::int64_t> times(1 + random() % 300);
        for (std::int64_t& time : times) {
            time = static_cast<std::int64_t>(random() >> (23 + random() % 41));
            histogram.add(nanoseconds(time));
        }
        std::sort(times.begin(), times.end());
        EXPECT_EQ(histogram.count(), times.size());
        EXPECT_EQ(histogram.max().count(), times.back());
        EXPECT_EQ(histogram.quantile(1), histogram.max());
        for (const double share : {0.01, 0.5, 0.9, 0.99}) {
            const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(times.size())));
            const std::int64_t exact = times[std::max<std::size_t>(rank, 1) - 1];
            const std::int64_t told = histogram.quantile(share).count();
            EXPECT_GE(told, exact) << share;
            EXPECT_LE(told, exact + exact / 2) << share;
        }
        std::uint64_t in_buckets = 0;
        nanoseconds before{-1};
        for (const latency_histogram::bucket& each : histogram.buckets()) {
            EXPECT_LT(before, each.up_to);
            before = each.up_to;
            in_buckets += each.count;
        }
        EXPECT_EQ(in_buckets, times.size());
    }
}

TEST(latency_histogram, is_all_zeros_without_times_and_takes_any) {
    latency_histogram histogram;
    EXPECT_EQ(histogram.quantile(0.5), nanoseconds(0));
    EXPECT_EQ(histogram.max(), nanoseconds(0));
    EXPECT_TRUE(histogram.buckets().empty());
    for (const auto time : {nanoseconds(-1), nanoseconds(0), nanoseconds(1), nanoseconds::max()})
        histogram.add(time);
    EXPECT_EQ(histogram.count(), 4U);
    EXPECT_EQ(histogram.max(), nanoseconds::max());
    EXPECT_EQ(histogram.quantile(0.5), nanoseconds(0));
}

TEST(stats, count_what_commits_change_write_and_wait_for) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", {.log = {.log_limit_bytes = 50'000}, .memory = {.reserve_bytes = 64 * MiB}});
    auto& list = h.root<numbers>("list", std::size_t{100'000}, std::uint64_t{1});
    h.checkpoint();
    list[0] = 0;
    h.commit(); // the first change of that page reserves room
    const heap_stats before = h.stats();
    EXPECT_GE(before.changed_bytes, 800'000U);
    EXPECT_EQ(before.commit_times.count(), before.commits);
    EXPECT_EQ(before.log_limit_bytes, 50'000U);
    for (std::uint64_t i = 2; i < 12; ++i) {
        list[0] = i;
        h.commit();
    }
    h.commit(); // nothing
    const heap_stats after = h.stats();
    EXPECT_EQ(after.commits, before.commits + 10);
    EXPECT_EQ(after.commit_times.count(), after.commits);
    EXPECT_EQ(after.changed_bytes, before.changed_bytes + 10 * 8);
    EXPECT_EQ(after.logged_bytes, before.logged_bytes + 10 * 512U);
    EXPECT_EQ(after.written_bytes, before.written_bytes + 10 * 512U);
    EXPECT_EQ(after.syncs, before.syncs + 10);
    EXPECT_EQ(after.log_used_bytes, before.log_used_bytes + 10 * 512U);
    EXPECT_GT(after.commit_times.quantile(0.5), nanoseconds(0));
    EXPECT_LE(after.commit_times.quantile(0.5), after.commit_times.max());

    h.checkpoint();
    const heap_stats applied = h.stats();
    EXPECT_EQ(applied.log_used_bytes, 0U);
    EXPECT_EQ(applied.image_bytes, after.image_bytes + 4096);
    EXPECT_GT(applied.written_bytes, after.written_bytes + 4096 + 4096); // a page, a superblock and tables
    EXPECT_EQ(applied.syncs, after.syncs + 2);                           // before the superblock, and of it
    EXPECT_EQ(applied.commit_times.count(), after.commit_times.count());
}

TEST(stats, begin_anew_with_each_open) {
    const temp_dir dir;
    make_heap(dir / "h");
    heap h = heap::open_existing(dir / "h", small_heap());
    const heap_stats stats = h.stats();
    EXPECT_EQ(stats.commits + stats.changed_bytes + stats.commit_times.count(), 0U);
    EXPECT_EQ(stats.written_bytes, 0U) << "opening a closed heap writes nothing";
}

TEST(stats, count_no_memory_that_was_freed_and_not_committed_yet) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.commit();
    const std::uint64_t before = h.stats().allocated_bytes;
    auto* made = h.make<std::uint64_t>(5U);
    EXPECT_EQ(h.stats().allocated_bytes, before + 8);
    h.destroy(made);
    EXPECT_EQ(h.stats().allocated_bytes, before);
}

} // namespace
} // namespace remanence::test
