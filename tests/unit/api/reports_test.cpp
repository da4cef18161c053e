// What users of comparable libraries reported to these, tried here. Each test names its source; bench/results/reports.md has the
// list with the results.
#include "unit/api/fixture.hpp"

#include <remanence/containers/btree_set.hpp>
#include <remanence/containers/hash_set.hpp>
#include <remanence/containers/vector_pi.hpp>

#include <sys/time.h>

#include <csignal>
#include <stdexcept>

namespace remanence::test {

/// Throws when it is made from one certain number.
struct fragile_number {
    static constexpr int k_bad = 777;
    int value;
    string text;

    fragile_number(int number) // NOLINT(google-explicit-constructor): ranges of numbers are inserted
        : value(number), text("a text that is too long for the small string buffer") {
        if (number == k_bad)
            throw std::runtime_error("not this one");
    }
    friend bool operator==(const fragile_number& a, const fragile_number& b) { return a.value == b.value; }
    friend auto operator<=>(const fragile_number& a, const fragile_number& b) { return a.value <=> b.value; }
};

struct hash_of_number {
    std::size_t operator()(const fragile_number& n) const noexcept { return static_cast<std::size_t>(n.value); }
};

struct alignas(128) wide {
    int value = 0;
};

} // namespace remanence::test

template <>
inline constexpr bool remanence::enable_persistable<remanence::test::fragile_number> = true;

namespace remanence::test {
namespace {

// cberner/redb#547: a database whose program was killed right after its creation could not be opened.
TEST(reports, a_heap_whose_program_was_killed_right_after_creating_it_opens) {
    temp_dir dir;
    EXPECT_EQ(in_child([&]() -> std::string {
                  heap h = heap::create(dir / "h", small_heap());
                  ::raise(SIGKILL);
                  return "alive";
              }),
              "killed by signal 9");
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_TRUE(h.roots().empty());
    put_contents(h);
    EXPECT_TRUE(has_contents(h));
}

// cberner/redb#1468: an open that failed kept its locks, so that the next one waited for ever.
TEST(reports, an_open_that_failed_holds_nothing) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::rename(log_of(dir / "h"), dir / "aside");
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(error_of_opening(dir / "h"));
    fs::rename(dir / "aside", log_of(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

// cberner/redb#1166: compacting a densely packed database made its file longer.
TEST(reports, checkpoints_of_a_dense_heap_do_not_make_its_file_longer) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.write([&] { h.root<vector_pi<std::uint64_t>>("dense").resize(MiB, 1); });
    h.checkpoint();
    const auto length = fs::file_size(dir / "h");
    for (int i = 0; i < 5; ++i) {
        h.write([&] { h.root<std::uint64_t>("count") += 1; });
        h.checkpoint();
    }
    EXPECT_LE(fs::file_size(dir / "h"), length + 256 * KiB); // the chunk that the first count may have needed
    h.close();
    EXPECT_LE(fs::file_size(dir / "h"), length + 256 * KiB);
}

// jnwatson/py-lmdb#230: the same file, opened twice by one process under two names, ended in a segmentation fault.
TEST(reports, a_heap_that_is_open_is_in_use_by_every_name_of_its_file) {
    temp_dir dir;
    make_heap(dir / "h");
    fs::create_hard_link(dir / "h", dir / "hard");
    fs::create_symlink(dir / "h", dir / "soft");
    heap h = heap::open_existing(dir / "h", small_heap());
    for (const char* name : {"hard", "soft", "./h"})
        EXPECT_TRUE(is_error(error_of_opening(dir / name), errc::in_use, dir.path(), "")) << name;
    EXPECT_TRUE(has_contents(h));
}

// DataBiosphere/toil#2947: SQLite, opened through a hard link, missed the journal beside the other name, and showed half a transaction.
TEST(reports, a_hard_link_does_not_open_a_heap_without_the_log_beside_its_other_name) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::create_directory(dir / "elsewhere");
    fs::create_hard_link(dir / "h", dir / "elsewhere" / "h");
    EXPECT_TRUE(is_error(error_of_opening(dir / "elsewhere" / "h"), errc::log_missing, dir / "elsewhere" / "h", "log"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

// boostorg/interprocess#250: since a release, one aligned block could have no more than half of the segment.
TEST(reports, one_aligned_block_may_take_most_of_the_reservation) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.write([&] {
        allocator<wide> wides = h.get_allocator<wide>();
        const std::size_t count = 48 * MiB / sizeof(wide);
        wide* block = wides.allocate(count);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(wide), 0U);
        wides.deallocate(block, count);
    });
}

// llnl/metall#328: a vector that grew step by step beyond the capacity ended in a segmentation fault instead of bad_alloc.
TEST(reports, a_vector_that_outgrows_the_heap_throws_and_keeps_its_elements) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    taken_addresses behind(static_cast<std::byte*>(h.base()) + 64 * MiB);
    auto& grown = h.root<vector<std::uint64_t>>("grown");
    std::size_t size = 0;
    EXPECT_THROW(for (;; size = grown.size()) h.write([&] { grown.resize(grown.size() + MiB / 8, 7); }),
                 std::bad_alloc);
    EXPECT_GE(size, std::size_t{16} * MiB / 8);
    EXPECT_EQ(grown.size(), size);
    EXPECT_EQ(grown.back(), 7U);
    EXPECT_TRUE(h.verify().clean());
}

template <class Set>
void insert_a_range_that_throws(heap& h) {
    Set& set = h.root<Set>("set");
    h.write([&] {
        for (int i = 0; i < 20; ++i)
            set.insert(fragile_number(i));
    });
    std::vector<int> range(50);
    for (int i = 0; i < 50; ++i)
        range[static_cast<std::size_t>(i)] = i == 40 ? fragile_number::k_bad : 100 + i;
    h.write([&] { EXPECT_THROW(set.insert(range.begin(), range.end()), std::runtime_error); });
    EXPECT_TRUE(h.verify().clean());
    for (int number : {0, 19, 100, 139})
        EXPECT_NE(set.find(fragile_number(number)), set.end()) << number;
    EXPECT_EQ(set.find(fragile_number(141)), set.end());
    EXPECT_THROW(h.write([&] { set.insert(range.rbegin(), range.rend()); }), std::runtime_error);
    EXPECT_EQ(set.find(fragile_number(149)), set.end()); // rolled back with its section
    EXPECT_TRUE(h.verify().clean());
    h.remove_root<Set>("set");
}

// boostorg/json#1188: an element that threw in the midst of a range left its predecessors, destroyed, in the buckets.
TEST(reports, a_range_insertion_that_throws_leaves_a_whole_container) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    insert_a_range_that_throws<hash_set<fragile_number, hash_of_number>>(h);
    insert_a_range_that_throws<btree_set<fragile_number>>(h);
    insert_a_range_that_throws<remanence::set<fragile_number>>(h);
}

// etcd-io/bbolt#760: a program that has locked all of its memory. Commits could not give back pages then. Sanitizers ignore
// mlockall().
TEST(reports_no_sanitizer, memory_that_is_locked_is_committed_and_rolled_back_as_any_other) {
    temp_dir dir;
    const std::string told_by_child = in_child([&]() -> std::string {
        if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
            return "not allowed to lock memory";
        heap h = heap::create(dir / "h", small_heap());
        put_contents(h);
        try {
            h.write([&] {
                h.root<numbers>("numbers").clear();
                throw std::domain_error("on purpose");
            });
        } catch (const std::domain_error&) {
            h.write([&] { h.root<std::uint64_t>("rolled back") = 1; });
        }
        h.checkpoint();
        h.close();
        return "done";
    });
    if (told_by_child == "not allowed to lock memory")
        GTEST_SKIP() << "the limit of locked memory (ulimit -l) is too low here";
    EXPECT_EQ(told_by_child, "done");
    EXPECT_TRUE(file_has_contents(dir / "h"));
    EXPECT_EQ(heap::open_existing(dir / "h", small_heap()).root<std::uint64_t>("rolled back"), 1U);
}

// No report, but the neighbour of many: timers without SA_RESTART interrupt every system call.
TEST(reports, a_timer_that_interrupts_system_calls_fails_no_commit) {
    temp_dir dir;
    EXPECT_EQ(in_child([&]() -> std::string {
                  struct sigaction nothing{};
                  nothing.sa_handler = [](int) {};
                  ::sigaction(SIGALRM, &nothing, nullptr);
                  const itimerval often{{0, 300}, {0, 300}};
                  ::setitimer(ITIMER_REAL, &often, nullptr);
                  heap_options options = small_heap();
                  options.log.log_limit_bytes = MiB;
                  heap h = heap::create(dir / "h", options);
                  put_contents(h);
                  auto& count = h.root<std::uint64_t>("count");
                  for (int i = 0; i < 300; ++i)
                      h.write(i % 3 == 0 ? durability::durable : durability::lazy, [&] { ++count; });
                  h.checkpoint();
                  h.close();
                  return "done";
              }),
              "done");
    EXPECT_TRUE(file_has_contents(dir / "h"));
    EXPECT_EQ(heap::open_existing(dir / "h", small_heap()).root<std::uint64_t>("count"), 300U);
}

} // namespace
} // namespace remanence::test
