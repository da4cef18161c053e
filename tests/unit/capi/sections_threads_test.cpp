// The C interface with several threads: sections, blocks that go from one thread to another, points, and handles while other heaps
// open and close.
#include "fixture.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace remanence::test {

namespace {

constexpr int k_threads = 4;

class c_sections_threads : public c_heap {
protected:
    template <class F>
    void in_threads(const F& f) {
        std::vector<std::thread> threads;
        for (int i = 0; i < k_threads; ++i)
            threads.emplace_back([&f, i] { f(i); });
        for (std::thread& each : threads)
            each.join();
    }
};

TEST_F(c_sections_threads, writers_exclude_each_other_and_readers_see_whole_sections) {
    open();
    account* const first = add_account("first", 0);
    account* const second = add_account("second", 0);
    constexpr int k_rounds = 200;
    std::atomic<int> unequal = 0;
    in_threads([&](int thread) {
        for (int i = 0; i < k_rounds; ++i) {
            if (thread == 0) {
                EXPECT_OK(rem_read_begin(heap));
                unequal += first->balance + second->balance != 0 ? 1 : 0;
                EXPECT_OK(rem_read_end(heap));
                continue;
            }
            EXPECT_OK(rem_write_begin(heap));
            first->balance += 1;
            second->balance -= 1;
            EXPECT_OK(i % 10 == 0 ? rem_write_abort(heap) : rem_write_end_as(heap, REM_NONE));
        }
    });
    EXPECT_EQ(unequal, 0);
    EXPECT_EQ(first->balance, (k_threads - 1) * k_rounds * 9 / 10);
}

TEST_F(c_sections_threads, who_only_tries_does_not_wait) {
    open();
    ASSERT_OK(rem_write_begin(heap));
    std::thread other([&] {
        EXPECT_STATUS(rem_write_try_begin(heap), REM_WOULD_WAIT);
        EXPECT_STATUS(rem_read_try_begin(heap), REM_WOULD_WAIT);
        EXPECT_STATUS(rem_write_end(heap), REM_NO_SECTION);
        EXPECT_STATUS(rem_close(heap), REM_SECTION_OPEN);
    });
    other.join();
    ASSERT_OK(rem_write_end(heap));
}

TEST_F(c_sections_threads, blocks_are_freed_once_whoever_frees_them) {
    open(REM_SNAPSHOT);
    constexpr std::size_t k_blocks = 500;
    std::vector<void*> blocks(k_blocks);
    for (std::size_t i = 0; i < k_blocks; ++i)
        blocks[i] = rem_alloc(heap, 16 + i % 700);
    std::atomic<std::size_t> freed = 0;
    in_threads([&](int) { // all try to free all, and nobody allocates
        for (void* const block : blocks)
            freed += rem_free(block) == REM_OK ? 1 : 0;
    });
    EXPECT_EQ(freed, k_blocks);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_sections_threads, points_are_waited_for_by_any_thread) {
    open();
    account* const first = add_account("first", 0);
    in_threads([&](int) {
        for (int i = 0; i < 20; ++i) {
            uint64_t point = 0;
            EXPECT_OK(rem_write_begin(heap));
            first->balance += 1;
            EXPECT_OK(rem_write_end_async(heap, &point));
            EXPECT_OK(rem_point_wait(heap, point));
            EXPECT_OK(rem_point_ready(heap, point));
        }
    });
    reopen();
    EXPECT_EQ(account_at("first")->balance, k_threads * 20);
}

TEST_F(c_sections_threads, heaps_open_and_close_beside_others) {
    open();
    account* const first = add_account("first", 7);
    in_threads([&](int thread) {
        const std::string name = (dir / std::to_string(thread)).string();
        for (int i = 0; i < 20; ++i) {
            rem_heap* own = nullptr;
            const rem_options options = options_of(REM_TRANSACTIONAL);
            EXPECT_OK(rem_open(name.c_str(), &options, &own));
            void* const block = rem_alloc(own, 100);
            EXPECT_EQ(rem_heap_of(block), own);
            EXPECT_EQ(account_at("first"), first);
            EXPECT_EQ(rem_heap_of(first), heap);
            EXPECT_OK(rem_close(own));
            EXPECT_FALSE(rem_is_open(own));
            EXPECT_STATUS(rem_close(own), REM_CLOSED);
        }
    });
}

TEST_F(c_sections_threads, pages_are_counted_while_others_write) {
    open(REM_SNAPSHOT);
    auto* const bytes = static_cast<char*>(rem_calloc(heap, 64, 4096));
    ASSERT_OK(rem_root_set(heap, "bytes", bytes));
    ASSERT_OK(rem_commit(heap, REM_LAZY));
    std::atomic<int> writers = k_threads - 1;
    std::atomic<int> snapshots = 0;
    in_threads([&](int thread) {
        if (thread != 0) {
            for (std::size_t i = 0; i < 300; ++i) {
                EXPECT_OK(rem_write_begin(heap));
                ++bytes[i % 64 * 4096];
                EXPECT_OK(rem_write_end(heap));
            }
            --writers;
            return;
        }
        bool is_last = false;
        while (!is_last) {
            is_last = writers == 0;
            std::size_t pages = 0;
            EXPECT_OK(rem_changed_pages(heap, &pages));
            if (pages < 16)
                continue;
            EXPECT_OK(rem_commit(heap, REM_LAZY));
            ++snapshots;
        }
    });
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen(REM_SNAPSHOT);
    int sum = 0;
    for (std::size_t page = 0; page < 64; ++page)
        sum += bytes[page * 4096];
    EXPECT_EQ(sum, (k_threads - 1) * 300);
    EXPECT_GT(snapshots, 0);
}

} // namespace

} // namespace remanence::test
