// The kinds of heaps, sections, commits and points: what each leaves when the process dies.
#include "fixture.hpp"

#include "types/pointer_check.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

namespace remanence::test {

namespace {

constexpr std::size_t k_page_bytes = 4096;

class c_sections : public c_heap {
protected:
    /// Runs `f` in a process that then dies with the heap open, if `f` has opened it.
    void in_a_process_that_dies(const std::function<void()>& f) {
        const pid_t child = ::fork();
        if (child == 0) {
            f();
            ::_exit(HasFailure() ? 1 : 0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    std::size_t changed_pages() {
        std::size_t pages = 0;
        EXPECT_OK(rem_changed_pages(heap, &pages));
        return pages;
    }
};

TEST_F(c_sections, of_a_transactional_heap_commit_at_their_end) {
    in_a_process_that_dies([&] {
        open();
        account* const a = add_account("a", 1);
        ASSERT_OK(rem_write_begin(heap));
        a->balance = 2;
        ASSERT_OK(rem_write_end(heap));
        ASSERT_OK(rem_write_begin(heap));
        a->balance = 3;
    });
    open();
    ASSERT_NE(account_at("a"), nullptr);
    EXPECT_EQ(account_at("a")->balance, 2);
}

TEST_F(c_sections, of_a_transactional_heap_may_be_undone) {
    open();
    account* const a = add_account("a", 1);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 2;
    void* const block = rem_alloc(heap, 100'000);
    ASSERT_OK(rem_write_abort(heap));
    EXPECT_EQ(a->balance, 1);
    EXPECT_EQ(rem_usable_size(block), 0U);
}

TEST_F(c_sections, of_a_snapshot_heap_commit_when_asked) {
    in_a_process_that_dies([&] {
        open(REM_SNAPSHOT);
        account* const a = add_account("a", 1);
        ASSERT_OK(rem_write_begin(heap));
        a->balance = 2;
        ASSERT_OK(rem_write_end(heap));
        EXPECT_GT(changed_pages(), 0U);
        ASSERT_OK(rem_commit(heap, REM_AS_OPENED));
        EXPECT_EQ(changed_pages(), 0U);
        ASSERT_OK(rem_write_begin(heap));
        a->balance = 3;
        ASSERT_OK(rem_write_end(heap));
    });
    open(REM_SNAPSHOT);
    ASSERT_NE(account_at("a"), nullptr);
    EXPECT_EQ(account_at("a")->balance, 2);
    ASSERT_OK(rem_write_begin(heap));
    account_at("a")->balance = 4;
    EXPECT_STATUS(rem_write_abort(heap), REM_NOT_SUPPORTED);
    ASSERT_OK(rem_write_end_as(heap, REM_DURABLE)); // still open, and commits
    EXPECT_EQ(changed_pages(), 0U);
    account_at("a")->balance = 5; // outside of sections
    ASSERT_OK(rem_rollback(heap));
    EXPECT_EQ(account_at("a")->balance, 4);
    account_at("a")->balance = 6;
    ASSERT_OK(rem_close(heap)); // discards
    open(REM_SNAPSHOT);
    EXPECT_EQ(account_at("a")->balance, 4);
}

TEST_F(c_sections, go_back_to_their_savepoints) {
    for (const rem_kind kind : {REM_TRANSACTIONAL, REM_SNAPSHOT}) {
        open(kind);
        account* const a = add_account("a", 1);
        std::uint64_t point = 0;
        EXPECT_STATUS(rem_savepoint(heap, &point), REM_NO_SECTION);
        ASSERT_OK(rem_write_begin(heap));
        EXPECT_STATUS(rem_savepoint(heap, nullptr), REM_INVALID_ARGUMENT);
        a->balance = 2;
        ASSERT_OK(rem_savepoint(heap, &point));
        a->balance = 3;
        void* const block = rem_alloc(heap, 100'000);
        std::uint64_t later = 0;
        ASSERT_OK(rem_savepoint(heap, &later));
        ASSERT_OK(rem_rollback_to(heap, point));
        EXPECT_EQ(a->balance, 2);
        EXPECT_EQ(rem_usable_size(block), 0U);
        EXPECT_STATUS(rem_rollback_to(heap, later), REM_INVALID_ARGUMENT);
        a->balance = 4;
        ASSERT_OK(rem_savepoint_end(heap, point));
        ASSERT_OK(rem_savepoint_end(heap, point));
        EXPECT_STATUS(rem_rollback_to(heap, point), REM_INVALID_ARGUMENT);
        ASSERT_OK(rem_savepoint(heap, &point));
        ASSERT_OK(rem_write_end(heap));
        EXPECT_STATUS(rem_rollback_to(heap, point), REM_NO_SECTION);
        ASSERT_OK(rem_write_begin(heap));
        EXPECT_STATUS(rem_rollback_to(heap, point), REM_INVALID_ARGUMENT);
        ASSERT_OK(rem_write_end(heap));
        EXPECT_EQ(a->balance, 4);
        ASSERT_OK(rem_close(heap));
        ASSERT_TRUE(std::filesystem::remove(path));
    }
}

TEST_F(c_sections, that_are_nested_go_back_to_a_savepoint_when_they_are_aborted) {
    open();
    account* const a = add_account("a", 1);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 2;
    std::uint64_t point = 0;
    ASSERT_OK(rem_savepoint(heap, &point));
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 3;
    ASSERT_OK(rem_write_abort(heap));
    EXPECT_EQ(a->balance, 2);
    ASSERT_OK(rem_write_end(heap));
    EXPECT_EQ(a->balance, 2);
}

TEST_F(c_sections, of_an_archive_heap_commit_with_its_close_only) {
    open(REM_ARCHIVE);
    account* const a = add_account("a", 1);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 2;
    ASSERT_OK(rem_write_end(heap));
    uint64_t version = 1;
    ASSERT_OK(rem_version(heap, &version));
    EXPECT_EQ(version, 0U);
    ASSERT_OK(rem_close(heap));
    in_a_process_that_dies([&] {
        open(REM_ARCHIVE);
        ASSERT_NE(account_at("a"), nullptr);
        EXPECT_EQ(account_at("a")->balance, 2);
        account_at("a")->balance = 3;
    });
    open(REM_ARCHIVE);
    EXPECT_EQ(account_at("a")->balance, 2);
}

TEST_F(c_sections, nest_and_an_inner_one_that_is_undone_takes_the_outer_with_it) {
    open();
    account* const a = add_account("a", 1);
    ASSERT_OK(rem_write_begin(heap));
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 2;
    ASSERT_OK(rem_write_end(heap));
    ASSERT_OK(rem_read_begin(heap));
    ASSERT_OK(rem_read_end(heap));
    ASSERT_OK(rem_write_end(heap));
    EXPECT_EQ(a->balance, 2);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 3;
    ASSERT_OK(rem_write_begin(heap));
    ASSERT_OK(rem_write_abort(heap));
    EXPECT_EQ(a->balance, 3);
    EXPECT_STATUS(rem_write_end(heap), REM_ROLLED_BACK);
    EXPECT_EQ(a->balance, 2);
    EXPECT_STATUS(rem_write_end(heap), REM_NO_SECTION); // it has ended
}

TEST_F(c_sections, end_only_where_they_began) {
    open();
    for (auto* const end : {&rem_write_end, &rem_write_abort, &rem_read_end})
        EXPECT_STATUS(end(heap), REM_NO_SECTION);
    EXPECT_STATUS(rem_write_end_as(heap, REM_LAZY), REM_NO_SECTION);
    EXPECT_STATUS(rem_write_end_async(heap, nullptr), REM_NO_SECTION);
    ASSERT_OK(rem_read_begin(heap));
    EXPECT_STATUS(rem_write_end(heap), REM_NO_SECTION);
    EXPECT_STATUS(rem_write_begin(heap), REM_SECTION_CONFLICT);
    EXPECT_STATUS(rem_write_try_begin(heap), REM_WOULD_WAIT);
    EXPECT_STATUS(rem_commit(heap, REM_DURABLE), REM_SECTION_CONFLICT);
    EXPECT_STATUS(rem_close(heap), REM_SECTION_OPEN);
    EXPECT_OK(rem_read_try_begin(heap));
    ASSERT_OK(rem_read_end(heap));
    ASSERT_OK(rem_read_end(heap));
    ASSERT_OK(rem_write_try_begin(heap));
    EXPECT_STATUS(rem_close(heap), REM_SECTION_OPEN);
    ASSERT_OK(rem_write_end(heap));
}

TEST_F(c_sections, that_are_declared_commit_what_they_declare) {
    open(REM_TRANSACTIONAL);
    account* const a = add_account("a", 1);
    auto* const far = static_cast<account*>(rem_alloc_aligned(heap, k_page_bytes, sizeof(account)));
    far->balance = 1;
    ASSERT_OK(REM_ROOT_SET(heap, "far", far, struct account));
    ASSERT_OK(rem_close(heap));
    in_a_process_that_dies([&] {
        open();
        ASSERT_OK(rem_write_begin_declared(heap));
        ASSERT_OK(rem_touch(heap, a, sizeof *a));
        a->balance = 2;
        if (!types::checks_pointers())
            far->balance = 2; // not declared
        ASSERT_OK(rem_write_end(heap));
    });
    open();
    EXPECT_EQ(a->balance, 2);
    EXPECT_EQ(far->balance, 1);
    if (types::checks_pointers()) {
        ASSERT_OK(rem_write_begin_declared(heap));
        far->balance = 2;
        EXPECT_STATUS(rem_write_end(heap), REM_UNDECLARED_CHANGE);
        EXPECT_EQ(far->balance, 1);
    }
}

TEST_F(c_sections, touch_takes_what_lies_in_the_heap) {
    open();
    account* const a = add_account("a", 1);
    account outside{};
    EXPECT_OK(rem_touch(heap, a, sizeof *a));
    EXPECT_OK(rem_touch(heap, nullptr, 0));
    EXPECT_STATUS(rem_touch(heap, nullptr, 1), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_touch(heap, &outside, sizeof outside), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_touch(heap, a, ~std::size_t{0}), REM_INVALID_ARGUMENT);
}

TEST_F(c_sections, commit_in_all_durabilities) {
    for (const rem_durability durability : {REM_AS_OPENED, REM_DURABLE, REM_LAZY}) {
        in_a_process_that_dies([&] {
            open();
            account* const a = add_account("a", 1);
            ASSERT_OK(rem_write_begin(heap));
            a->balance = 10 + durability;
            ASSERT_OK(rem_write_end_as(heap, durability));
            ASSERT_OK(rem_write_begin(heap));
            a->balance = 20 + durability;
            ASSERT_OK(rem_commit(heap, durability));
        });
        open();
        EXPECT_EQ(account_at("a")->balance, 20 + durability);
        ASSERT_OK(rem_close(heap));
    }
    in_a_process_that_dies([&] {
        open();
        ASSERT_OK(rem_write_begin(heap));
        account_at("a")->balance = 30;
        ASSERT_OK(rem_write_end_as(heap, REM_NONE)); // lost with the process
    });
    open();
    EXPECT_EQ(account_at("a")->balance, 20 + REM_LAZY);
    ASSERT_OK(rem_write_begin(heap));
    account_at("a")->balance = 40;
    ASSERT_OK(rem_write_end_as(heap, REM_NONE));
    ASSERT_OK(rem_sync(heap));
    EXPECT_STATUS(rem_commit(heap, static_cast<rem_durability>(4)), REM_INVALID_ARGUMENT);
    ASSERT_OK(rem_write_begin(heap));
    EXPECT_STATUS(rem_write_end_as(heap, static_cast<rem_durability>(-1)), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_write_end(heap)); // it was still open
}

TEST_F(c_sections, points_become_durable_by_themselves) {
    in_a_process_that_dies([&] {
        open();
        account* const a = add_account("a", 1);
        uint64_t first = 0;
        uint64_t second = 0;
        ASSERT_OK(rem_write_begin(heap));
        a->balance = 2;
        ASSERT_OK(rem_write_end_async(heap, &first));
        a->balance = 3;
        ASSERT_OK(rem_commit_async(heap, &second));
        EXPECT_EQ(second, first + 1);
        EXPECT_STATUS(rem_point_wait(heap, second + 1), REM_INVALID_ARGUMENT);
        EXPECT_STATUS(rem_point_ready(heap, second + 1), REM_INVALID_ARGUMENT);
        ASSERT_OK(rem_point_wait(heap, second));
        EXPECT_OK(rem_point_ready(heap, second));
        EXPECT_OK(rem_point_ready(heap, first));
        EXPECT_OK(rem_commit_async(heap, nullptr));
    });
    open();
    EXPECT_EQ(account_at("a")->balance, 3);
    ASSERT_OK(rem_write_begin(heap));
    ASSERT_OK(rem_write_begin(heap));
    EXPECT_STATUS(rem_write_end_async(heap, nullptr), REM_SECTION_CONFLICT);
    ASSERT_OK(rem_write_end(heap));
    ASSERT_OK(rem_write_end_async(heap, nullptr));
}

TEST_F(c_sections, a_point_of_which_nothing_changed_is_durable) {
    open();
    uint64_t point = 1;
    ASSERT_OK(rem_commit_async(heap, &point));
    EXPECT_OK(rem_point_wait(heap, point));
    add_account("a", 1);
    reopen();
    ASSERT_OK(rem_commit_async(heap, &point));
    EXPECT_OK(rem_point_wait(heap, point));
    EXPECT_OK(rem_point_ready(heap, point));
}

TEST_F(c_sections, changed_pages_are_those_that_were_written) {
    for (const rem_tracking tracking : {REM_TRACK_AUTOMATIC, REM_TRACK_TRAP, REM_TRACK_FALLBACK}) {
        rem_options options = options_of(REM_SNAPSHOT);
        options.tracking = tracking;
        const std::string name = (dir / ("tracked" + std::to_string(tracking))).string();
        ASSERT_OK(rem_open(name.c_str(), &options, &heap));
        constexpr std::size_t k_pages = 100;
        auto* const bytes = static_cast<char*>(rem_calloc(heap, k_pages, k_page_bytes));
        std::memset(bytes, 'a', k_pages * k_page_bytes);
        EXPECT_GE(changed_pages(), k_pages);
        ASSERT_OK(rem_commit(heap, REM_DURABLE));
        ASSERT_OK(rem_checkpoint(heap)); // for the fallback, which looks no further back
        const std::size_t at_rest = changed_pages();
        EXPECT_LE(at_rest, 2U);
        for (const std::size_t page : {3U, 4U, 50U}) {
            bytes[page * k_page_bytes] = 'x';
            EXPECT_GT(changed_pages(), at_rest);
        }
        EXPECT_GE(changed_pages(), 3U);
        EXPECT_LE(changed_pages(), 3U + 2U + 4U); // traps open some of the pages that follow
        std::size_t count = 0;
        ASSERT_OK(rem_changed_ranges(heap, nullptr, 0, &count));
        EXPECT_GE(count, 2U);
        std::vector<rem_range> ranges(count);
        ASSERT_OK(rem_changed_ranges(heap, ranges.data(), 1, &count));
        EXPECT_EQ(count, ranges.size()); // and the first is filled
        EXPECT_NE(ranges[0].start, nullptr);
        EXPECT_EQ(ranges[1].start, nullptr);
        ASSERT_OK(rem_changed_ranges(heap, ranges.data(), count, &count));
        for (const std::size_t page : {3U, 4U, 50U}) {
            EXPECT_TRUE(std::any_of(ranges.begin(), ranges.end(), [&](const rem_range& each) {
                return static_cast<char*>(each.start) <= bytes + page * k_page_bytes &&
                       bytes + (page + 1) * k_page_bytes <= static_cast<char*>(each.start) + each.bytes;
            })) << page;
        }
        ASSERT_OK(rem_commit(heap, REM_DURABLE)); // asking has lost nothing
        ASSERT_OK(rem_close(heap));
        ASSERT_OK(rem_open(name.c_str(), &options, &heap));
        EXPECT_EQ(bytes[50 * k_page_bytes], 'x');
        ASSERT_OK(rem_close(heap));
    }
}

TEST_F(c_sections, memory_is_rebuilt_behind_the_same_handle) {
    open(REM_SNAPSHOT);
    add_account("a", 12);
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    account* const there = account_at("a");
    const account before = *there;
    std::memset(static_cast<void*>(there), 0x5A, sizeof *there);
    ASSERT_OK(rem_write_begin(heap));
    EXPECT_STATUS(rem_rebuild(heap), REM_SECTION_OPEN);
    ASSERT_OK(rem_write_end(heap));
    std::memset(static_cast<void*>(there), 0x5A, sizeof *there);
    ASSERT_OK(rem_rebuild(heap));
    EXPECT_TRUE(rem_is_open(heap));
    EXPECT_EQ(account_at("a"), there);
    EXPECT_EQ(std::memcmp(there, &before, sizeof before), 0);
}

} // namespace

} // namespace remanence::test
