// What a commit waits for: durable, lazy, none, chosen for the heap or for the commit; and what a dead process leaves.

#include "api/heap_impl.hpp"
#include "support/failing_files.hpp"
#include "support/waiting.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/api/fixture.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;

heap_options committing(durability commits) {
    heap_options options = small_heap();
    options.commits = commits;
    options.log.lazy_interval = 1h; // nothing happens by itself
    return options;
}

/// Opens the heap in a process that dies without closing it, once `use` has made its commits.
std::string in_dying_process(const fs::path& path, durability commits,
                             const std::function<void(heap&, std::uint64_t&)>& use) {
    return in_child([&] {
        auto* left_open = new heap(heap::open(path, committing(commits)));
        use(*left_open, left_open->root<std::uint64_t>("value"));
        return std::string("dies");
    });
}

std::uint64_t value_in(const fs::path& path) {
    heap h = heap::open_existing(path, small_heap());
    const auto* value = h.find_root<std::uint64_t>("value");
    EXPECT_TRUE(h.verify().clean());
    return value != nullptr ? *value : ~std::uint64_t{0};
}

TEST(durability_of_commits, lazy_ones_survive_the_process) {
    temp_dir dir;
    EXPECT_EQ(in_dying_process(dir / "h", durability::lazy,
                               [](heap& h, std::uint64_t& value) {
                                   for (std::uint64_t i = 1; i <= 20; ++i)
                                       h.write([&] { value = i; });
                               }),
              "dies");
    EXPECT_EQ(value_in(dir / "h"), 20U);
}

TEST(durability_of_commits, those_that_wait_for_nothing_are_lost_with_the_process_unless_another_follows) {
    temp_dir dir;
    const auto durable_then_none = [](heap& h, std::uint64_t& value) {
        h.write(durability::durable, [&] { value = 1; });
        h.write([&] { value = 2; });
        h.write([&] { value = 3; });
    };
    EXPECT_EQ(in_dying_process(dir / "a", durability::none, durable_then_none), "dies");
    EXPECT_EQ(value_in(dir / "a"), 1U);
    for (const durability next : {durability::lazy, durability::durable}) {
        EXPECT_EQ(in_dying_process(dir / "b", durability::none,
                                   [&](heap& h, std::uint64_t& value) {
                                       durable_then_none(h, value);
                                       value = 4;
                                       h.commit(next);
                                   }),
                  "dies");
        EXPECT_EQ(value_in(dir / "b"), 4U);
    }
    EXPECT_EQ(in_dying_process(dir / "c", durability::none,
                               [&](heap& h, std::uint64_t& value) {
                                   durable_then_none(h, value);
                                   h.sync();
                               }),
              "dies");
    EXPECT_EQ(value_in(dir / "c"), 3U);
}

TEST(durability_of_commits, whatever_it_is_close_and_destructor_keep_them) {
    temp_dir dir;
    for (const bool closes : {true, false}) {
        heap h = heap::open(dir / "h", committing(durability::none));
        auto& value = h.root<std::uint64_t>("value");
        h.write(durability::lazy, [&] { ++value; });
        h.write([&] { ++value; });
        h.checkpoint();
        h.write([&] { ++value; });
        const std::uint64_t expected = value;
        if (closes)
            h.close();
        else
            heap(std::move(h));
        EXPECT_EQ(value_in(dir / "h"), expected);
    }
}

TEST(durability_of_commits, a_rollback_leads_to_the_last_commit_of_whatever_durability) {
    temp_dir dir;
    heap h = heap::open(dir / "h", committing(durability::none));
    auto& value = h.root<std::uint64_t>("value");
    h.write([&] { value = 7; });
    value = 8;
    h.rollback();
    EXPECT_EQ(value, 7U);
    EXPECT_TRUE(h.verify().clean()); // although the log lacks the commit so far
    EXPECT_EQ(h.version(), h.stats().commits);
}

/// A heap on a simulated disk; what is done with the log is counted, by any thread.
class durability_on_disk : public testing::Test {
protected:
    void SetUp() override {
        files_.before_each([this](std::string_view call) {
            const std::lock_guard guard(mutex_);
            if (call == "sync")
                ++syncs_;
            if (call == "write_durable")
                ++durable_writes_;
            changed_.notify_all();
        });
    }
    heap open(const heap_options& options) { return detail::open(files_, "/disk/h", options); }
    int syncs() {
        const std::lock_guard guard(mutex_);
        return syncs_;
    }
    bool await_syncs(int n) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(k_hang_seconds), [&] { return syncs_ >= n; });
    }

    simulation::simulated_disk disk_;
    failing_files files_{disk_};
    std::mutex mutex_;
    std::condition_variable changed_;
    int syncs_ = 0;
    int durable_writes_ = 0;
};

TEST_F(durability_on_disk, is_chosen_commit_by_commit) {
    heap h = open(committing(durability::durable));
    auto& value = h.root<std::uint64_t>("value");
    h.write(durability::lazy, [&] { value = 1; });
    const int before = syncs();
    EXPECT_EQ(h.write(durability::lazy, [&] { return value = 2; }), 2U);
    value = 3;
    h.commit(durability::none);
    EXPECT_EQ(syncs(), before);
    h.commit(); // nothing new, but all before it
    EXPECT_EQ(syncs(), before + 1);
    h.sync();
    EXPECT_EQ(syncs(), before + 1);
    h.write(durability::lazy, [&] { // the outermost counts
        h.write(durability::durable, [&] { value = 4; });
        h.write([&] { value = 5; });
    });
    EXPECT_EQ(syncs(), before + 1);
    h.sync();
    EXPECT_EQ(syncs(), before + 2);
    const int writes = durable_writes_;
    h.write([&] { value = 6; }); // nothing lazy is left: one durable write
    EXPECT_EQ(syncs(), before + 2);
    EXPECT_EQ(durable_writes_, writes + 1);
}

TEST_F(durability_on_disk, lazy_commits_are_synced_after_a_while_without_further_calls) {
    heap_options options = committing(durability::lazy);
    options.log.lazy_interval = 20ms;
    heap h = open(options);
    auto& value = h.root<std::uint64_t>("value");
    for (std::uint64_t i = 0; i < 5; ++i) {
        h.write([&] { value = i; });
        const int before = syncs();
        EXPECT_TRUE(await_syncs(before + 1));
    }
}

TEST_F(durability_on_disk, lazy_commits_are_synced_by_themselves_although_a_close_failed) {
    const std::thread::id closer = std::this_thread::get_id();
    heap_options options = committing(durability::lazy);
    options.log.lazy_interval = 200ms;
    options.commit_at_close = true;
    heap h = open(options);
    auto& value = h.root<std::uint64_t>("value");
    EXPECT_TRUE(await_syncs(syncs() + 1)); // of the root
    files_.before_each([&](std::string_view call) {
        const std::lock_guard guard(mutex_);
        if (call == "sync" && std::this_thread::get_id() != closer)
            ++syncs_;
        changed_.notify_all();
    });
    const int before = syncs();
    h.write([&] { value = 1; });
    const std::span<char> large(h.get_allocator<char>().allocate(3 * MiB), 3 * MiB);
    std::fill(large.begin(), large.end(), 'x');
    disk_.limit_space(1); // no block more
    EXPECT_EQ(error_of([&] { h.close(); })->code, errc::no_space);
    EXPECT_TRUE(await_syncs(before + 1));
    disk_.limit_space(0);
    h.close();
}

TEST_F(durability_on_disk, a_failed_sync_of_lazy_commits_poisons) {
    heap_options options = committing(durability::durable);
    options.log.lazy_interval = 50ms;
    heap h = open(options);
    auto& value = h.root<std::uint64_t>("value");
    const std::uint64_t durable = h.version();
    const int before = syncs();
    disk_.fail_at(1, errc::io); // the record's write succeeds
    h.write(durability::lazy, [&] { value = 1; });
    ASSERT_TRUE(await_syncs(before + 1));
    std::optional<caught> got;
    ASSERT_TRUE(comes_true([&] { // once the thread has told of it; who waits for the same sync hears of that
        got = error_of([&] { h.sync(); });
        return got && got->code != errc::io;
    }));
    EXPECT_TRUE(is_error(got, errc::poisoned, "/disk/h", "Close it and open it again"));
    EXPECT_EQ(error_of([&] { h.write([&] { value = 2; }); })->code, errc::poisoned);
    EXPECT_EQ(h.version(), durable);
    EXPECT_EQ(error_of([&] { h.close(); })->code, errc::poisoned);
    heap again = open(small_heap());
    EXPECT_LE(*again.find_root<std::uint64_t>("value"), 1U);
    EXPECT_TRUE(again.verify().clean());
}

// Else they would never reach the disk by themselves.
TEST(durability_of_commits, lazy_ones_wait_for_the_disk_where_no_thread_can_be_started) {
    EXPECT_EQ(as_nobody([&]() -> std::string {
                  simulation::simulated_disk disk;
                  heap h = detail::open(disk, "/disk/h", committing(durability::lazy));
                  refuse_threads();
                  h.root<std::uint64_t>("value") = 1;
                  disk.take_trace();
                  h.commit();
                  return disk.trace().back().describe();
              }).substr(0, 12),
              "sync_written");
}

TEST(durability_of_commits, an_interval_out_of_range_is_refused) {
    temp_dir dir;
    for (const std::chrono::milliseconds interval : {-1ms, 0ms, std::chrono::milliseconds(1h) + 1ms}) {
        heap_options options = small_heap();
        options.log.lazy_interval = interval;
        EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "h", options); }), errc::invalid_argument, dir / "h",
                             "options.log.lazy_interval"));
    }
    EXPECT_TRUE(fs::is_empty(dir.path()));
}

// The child has neither the thread nor what it waits with, and must come to no harm by that.
TEST(durability_of_commits, a_forked_child_may_destroy_a_heap_with_lazy_commits) {
    temp_dir dir;
    heap_options options = committing(durability::lazy);
    options.log.lazy_interval = 1ms;
    std::optional<heap> h = heap::open(dir / "h", options);
    auto& value = h->root<std::uint64_t>("value");
    for (std::uint64_t i = 1; i <= 20; ++i) {
        h->write([&] { value = i; });
        EXPECT_EQ(in_child([&] {
                      h.reset();
                      return std::string("gone");
                  }),
                  "gone");
    }
    h->close();
    EXPECT_EQ(value_in(dir / "h"), 20U);
}

} // namespace
} // namespace remanence::test
