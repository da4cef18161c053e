// Heaps whose files are renamed, replaced or removed while they are open. tests/unit/txn/names_sweep_test.cpp does each of it
// between any two calls; here is what a program sees.
#include "fixture.hpp"

#include <csignal>

namespace remanence::test::names_of_files {
namespace {

using table = map<std::uint64_t, string>;

void put(heap& h, std::uint64_t key, const char* text) {
    h.write([&] { h.root<table>("table")[key] = text; });
}

std::size_t size_of_table(const fs::path& path) {
    heap h = heap::open_existing(path, small_heap());
    return h.root<table>("table").size();
}

[[noreturn]] void die() {
    ::kill(::getpid(), SIGKILL);
    ::_exit(1);
}

/// Runs `f`, which ends by die(): nothing is closed.
void in_killed_process(const std::function<void()>& f) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            f();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it did not come to its end";
}

// "Start afresh": the former heap is closed by the assignment, after the new one was opened under its name.
TEST(names, a_heap_whose_files_were_removed_leaves_the_log_of_its_successor_alone) {
    temp_dir dir;
    const fs::path path = dir / "h";
    in_killed_process([&] {
        heap book = heap::open(path, small_heap());
        put(book, 0, "before");
        fs::remove(path);
        fs::remove(log_of(path));
        heap next = heap::open(path, small_heap());
        put(next, 1, "after");
        book = std::move(next);
        if (!fs::exists(log_of(path)))
            throw std::runtime_error("the log is gone");
        for (std::uint64_t i = 0; i < 1000; ++i)
            put(book, i, "after");
        die();
    });
    EXPECT_EQ(size_of_table(path), 1000U);
}

TEST(names, a_first_commit_empties_no_log_that_came_after_the_heap_was_opened) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    heap other = heap::open(dir / "other", small_heap());
    put(other, 0, "acknowledged");
    fs::rename(dir / "other", dir / "moved");
    fs::rename(log_of(dir / "other"), log_of(dir / "h"));
    EXPECT_TRUE(is_error(error_of([&] { put(h, 0, "x"); }), errc::in_use, log_of(dir / "h"), "Close that one first"));
    other = heap::open(dir / "third", small_heap());
    fs::remove(log_of(dir / "h"));
    write_file(log_of(dir / "h"), "what somebody keeps here");
    EXPECT_TRUE(is_error(error_of([&] { put(h, 0, "x"); }), errc::log_foreign, log_of(dir / "h"), "Move it back"));
    EXPECT_EQ(fs::file_size(log_of(dir / "h")), 24U);
    fs::remove(log_of(dir / "h"));
    put(h, 0, "x");
    h.close();
    EXPECT_EQ(size_of_table(dir / "h"), 1U);
}

TEST(names, a_heap_that_was_renamed_goes_on_and_its_log_follows) {
    temp_dir dir;
    fs::create_directory(dir / "elsewhere");
    const fs::path moved = dir / "elsewhere" / "moved";
    in_killed_process([&] {
        heap h = heap::open(dir / "h", small_heap());
        put(h, 0, "before");
        fs::rename(dir / "h", moved);
        put(h, 1, "after");
        h.write(durability::lazy, [&] { h.root<table>("table")[2] = "later"; });
        h.sync();
        die();
    });
    EXPECT_FALSE(fs::exists(log_of(dir / "h")));
    EXPECT_EQ(size_of_table(moved), 3U);
    heap h = heap::open_existing(moved, small_heap());
    put(h, 3, "again");
    fs::rename(moved, dir / "h");
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::in_use, dir / "h", "Close it there first"));
    put(h, 4, "and again");
    fs::rename(dir / "elsewhere", dir / "nowhere"); // nothing of it is there any more
    h.close();
    EXPECT_FALSE(fs::exists(log_of(dir / "h")) || fs::exists(log_of(moved)));
    EXPECT_EQ(size_of_table(dir / "h"), 5U);
}

TEST(names, a_heap_that_was_renamed_before_its_first_commit_has_its_log_beside_it) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    fs::rename(dir / "h", dir / "moved");
    put(h, 0, "x");
    EXPECT_TRUE(fs::exists(log_of(dir / "moved")));
    EXPECT_FALSE(fs::exists(log_of(dir / "h")));
    fs::rename(dir / "moved", dir / "h");
    h.close();
    EXPECT_EQ(size_of_table(dir / "h"), 1U);
    EXPECT_FALSE(fs::exists(log_of(dir / "moved")));
}

TEST(names, a_heap_that_was_renamed_and_not_committed_to_since_says_which_log_it_misses) {
    temp_dir dir;
    in_killed_process([&] {
        heap h = heap::open(dir / "h", small_heap());
        put(h, 0, "x");
        fs::rename(dir / "h", dir / "moved");
        die();
    });
    EXPECT_TRUE(is_error(error_of_opening(dir / "moved"), errc::log_missing, log_of(dir / "moved"),
                         "the log may have the heap's former name"));
    fs::rename(log_of(dir / "h"), log_of(dir / "moved"));
    EXPECT_EQ(size_of_table(dir / "moved"), 1U);
}

TEST(names, a_log_that_cannot_follow_keeps_commits_from_being_acknowledged_until_it_can) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put(h, 0, "before");
    write_file(log_of(dir / "moved"), "somebody's");
    fs::rename(dir / "h", dir / "moved");
    EXPECT_TRUE(
        is_error(error_of([&] { put(h, 1, "x"); }), errc::log_foreign, log_of(dir / "h"), "Move that file away"));
    EXPECT_EQ(h.root<table>("table").size(), 1U);
    EXPECT_TRUE(is_error(error_of([&] { h.checkpoint(); }), errc::log_foreign, log_of(dir / "moved"), "Move that"));
    fs::remove(log_of(dir / "moved"));
    put(h, 1, "after");
    EXPECT_TRUE(fs::exists(log_of(dir / "moved")));
    write_file(log_of(dir / "third"), "somebody's");
    fs::rename(dir / "moved", dir / "third");
    EXPECT_TRUE(
        is_error(error_of([&] { h.close(); }), errc::log_foreign, log_of(dir / "third"), "has all its commits"));
    EXPECT_EQ(fs::file_size(log_of(dir / "third")), 10U);
    EXPECT_FALSE(fs::exists(log_of(dir / "moved")));
    fs::remove(log_of(dir / "third"));
    EXPECT_EQ(size_of_table(dir / "third"), 2U);
}

TEST(names, two_heaps_that_were_swapped_go_on_once_their_logs_are) {
    temp_dir dir;
    const auto swap = [&](const fs::path& a, const fs::path& b) {
        fs::rename(a, dir / "between");
        fs::rename(b, a);
        fs::rename(dir / "between", b);
    };
    heap first = heap::open(dir / "first", small_heap());
    heap second = heap::open(dir / "second", small_heap());
    put(first, 0, "x");
    put(second, 0, "y");
    put(second, 1, "y");
    swap(dir / "first", dir / "second");
    EXPECT_TRUE(is_error(error_of([&] { put(first, 1, "x"); }), errc::log_foreign, dir / "second", "Move that file"));
    EXPECT_TRUE(is_error(error_of([&] { put(second, 2, "y"); }), errc::log_foreign, dir / "first", "Move that file"));
    swap(log_of(dir / "first"), log_of(dir / "second"));
    put(first, 1, "x");
    put(second, 2, "y");
    first.close();
    EXPECT_TRUE(fs::exists(log_of(dir / "first"))); // the other one's
    second.close();
    EXPECT_EQ(size_of_table(dir / "first"), 3U);
    EXPECT_EQ(size_of_table(dir / "second"), 2U);
}

TEST(names, no_way_to_commit_to_a_heap_without_a_name_succeeds_and_memory_stays_readable) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put(h, 0, "before");
    h.write(durability::lazy, [&] { h.root<table>("table")[1] = "lazily"; });
    fs::remove(dir / "h");
    const auto change = [&] { h.root<table>("table")[2] = "after"; };
    const char* const advice = "Copy what you need to another heap";
    for (const durability how : {durability::durable, durability::lazy, durability::none})
        EXPECT_TRUE(is_error(error_of([&] { h.write(how, change); }), errc::unlinked, dir / "h", advice));
    EXPECT_TRUE(is_error(error_of([&] { h.write_async(change).wait(); }), errc::unlinked, dir / "h", advice));
    EXPECT_TRUE(is_error(error_of([&] { h.sync(); }), errc::unlinked, dir / "h", advice));
    EXPECT_TRUE(is_error(error_of([&] { h.checkpoint(); }), errc::unlinked, dir / "h", advice));
    EXPECT_EQ(h.root<table>("table").size(), 2U);
    change();
    EXPECT_TRUE(is_error(error_of([&] { h.commit(); }), errc::unlinked, dir / "h", "was removed while it was open"));
    EXPECT_EQ(h.root<table>("table").size(), 3U); // memory keeps its changes
    h.rollback();
    EXPECT_EQ(h.root<table>("table").size(), 2U);
    EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::unlinked, dir / "h", advice));
    EXPECT_TRUE(fs::exists(log_of(dir / "h"))); // a copy of the heap may need it
}

TEST(names, a_heap_that_was_replaced_says_so_and_leaves_nothing_beside_the_other) {
    temp_dir dir;
    make_heap(dir / "other");
    heap h = heap::open(dir / "h", small_heap());
    put(h, 0, "before");
    fs::rename(dir / "other", dir / "h");
    EXPECT_TRUE(is_error(error_of([&] { put(h, 1, "x"); }), errc::unlinked, dir / "h", "replaced by another file"));
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::log_foreign, log_of(dir / "h"), "another heap"));
    EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::unlinked, dir / "h", "replaced by another file"));
    EXPECT_FALSE(fs::exists(log_of(dir / "h")));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(names, a_heap_with_another_hard_link_goes_on) {
    temp_dir dir;
    in_killed_process([&] {
        heap h = heap::open(dir / "h", small_heap());
        put(h, 0, "before");
        fs::create_hard_link(dir / "h", dir / "link");
        fs::remove(dir / "h");
        put(h, 1, "after");
        die();
    });
    fs::rename(log_of(dir / "h"), log_of(dir / "link")); // the system does not tell the link's name
    EXPECT_EQ(size_of_table(dir / "link"), 2U);
    heap h = heap::open(dir / "link", small_heap());
    fs::create_hard_link(dir / "link", dir / "h");
    fs::remove(dir / "link");
    EXPECT_TRUE(is_error(error_of([&] { put(h, 2, "x"); }), errc::unlinked, dir / "link", "Give it this one again"));
    fs::rename(dir / "h", dir / "link");
    put(h, 2, "x");
    h.close();
    EXPECT_EQ(size_of_table(dir / "link"), 3U);
}

TEST(names, a_log_that_was_removed_keeps_commits_from_being_acknowledged_and_close_brings_all_into_the_heap) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put(h, 0, "before");
    fs::remove(log_of(dir / "h"));
    EXPECT_TRUE(is_error(error_of([&] { put(h, 1, "x"); }), errc::unlinked, log_of(dir / "h"), "Close the heap"));
    h.close();
    EXPECT_EQ(size_of_table(dir / "h"), 1U);
}

TEST(names, a_log_that_was_replaced_by_its_copy_is_told_and_does_not_keep_the_heap_from_being_opened) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put(h, 0, "before");
    fs::copy_file(log_of(dir / "h"), dir / "copy");
    fs::rename(dir / "copy", log_of(dir / "h"));
    EXPECT_TRUE(is_error(error_of([&] { put(h, 1, "x"); }), errc::unlinked, log_of(dir / "h"), "Close the heap"));
    EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::log_foreign, log_of(dir / "h"),
                         "unless it is a copy of that log, the heap does not open beside it"));
    EXPECT_EQ(size_of_table(dir / "h"), 1U);
}

TEST(names, a_log_that_was_renamed_is_brought_back) {
    temp_dir dir;
    in_killed_process([&] {
        heap h = heap::open(dir / "h", small_heap());
        put(h, 0, "before");
        fs::rename(log_of(dir / "h"), dir / "log");
        put(h, 1, "after");
        die();
    });
    EXPECT_FALSE(fs::exists(dir / "log"));
    EXPECT_EQ(size_of_table(dir / "h"), 2U);
}

TEST(names, a_log_of_an_open_heap_is_not_taken_by_a_copy_of_that_heap) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put(h, 0, "x");
    fs::copy_file(dir / "h", dir / "copy");
    fs::rename(dir / "h", dir / "moved");
    fs::rename(dir / "copy", dir / "h"); // with the UUID and the epoch of the log that is beside it now
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::in_use, log_of(dir / "h"), "Close that one first"));
    put(h, 1, "x");
    h.close();
    EXPECT_EQ(size_of_table(dir / "moved"), 2U);
}

TEST(names, a_link_that_leads_elsewhere_by_now_makes_no_difference) {
    temp_dir dir;
    fs::create_directory(dir / "first");
    fs::create_directory(dir / "second");
    fs::create_directory_symlink(dir / "first", dir / "link");
    make_heap(dir / "second" / "h");
    heap h = heap::open(dir / "link" / "h", small_heap());
    put(h, 0, "before");
    fs::remove(dir / "link");
    fs::create_directory_symlink(dir / "second", dir / "link");
    put(h, 1, "after");
    h.close();
    EXPECT_EQ(size_of_table(dir / "first" / "h"), 2U);
    EXPECT_TRUE(file_has_contents(dir / "link" / "h"));
}

TEST(names, two_handles_for_reading_are_told_of_each_other_after_a_renaming) {
    temp_dir dir;
    make_heap(dir / "h");
    heap_options reading = small_heap();
    reading.read_only = true;
    heap h = heap::open_existing(dir / "h", reading);
    fs::rename(dir / "h", dir / "moved");
    EXPECT_TRUE(is_error(error_of([&] { heap::open_existing(dir / "moved", reading); }), errc::in_use, dir / "moved",
                         "Use that handle"));
}

} // namespace
} // namespace remanence::test::names_of_files
