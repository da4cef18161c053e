// What sharing a heap makes of names that are too long, of limits that are reached, and of processes that differ.

#include "process/other_process.hpp"

#include <sys/resource.h>

#include <string>

namespace remanence::test {
namespace {

TEST(sharing_bad_input, a_name_that_leaves_no_room_for_the_files_beside_it_is_an_error_and_leaves_none) {
    temp_dir dir;
    std::size_t refused = 0;
    for (std::size_t length = 240; length != 257; ++length) {
        const fs::path path = dir / std::string(length, 'n');
        const auto got = error_of([&] { heap::open(path, shared_heap()).close(); });
        if (got) {
            EXPECT_TRUE(is_error(got, errc::io, dir.path(), "Choose a shorter name"));
            ++refused;
        } else {
            fs::remove(path);
        }
        EXPECT_TRUE(fs::is_empty(dir.path())) << length;
    }
    EXPECT_GT(refused, 5U);
    EXPECT_LT(refused, 17U);
}

// UBSan makes a pipe to find out whether memory is there.
TEST(sharing_bad_input_no_sanitizer, at_each_limit_of_descriptors_an_open_succeeds_or_says_what_it_lacks) {
    temp_dir dir;
    heap::open(dir / "h", shared_heap()).close();
    const std::string told = in_child([&]() -> std::string {
        const int first_free = ::dup(0);
        ::close(first_free);
        for (int limit = first_free + 1;; ++limit) {
            const rlimit few{static_cast<rlim_t>(limit), 4096};
            if (::setrlimit(RLIMIT_NOFILE, &few) != 0 || limit > first_free + 64)
                return "no limit was enough";
            const auto got = error_of([&] {
                heap h = heap::open_existing(dir / "h", shared_heap());
                h.write([&] { ++h.root<std::uint64_t>("count"); });
                h.close();
            });
            if (!got)
                return limit > first_free + 1 ? "opened" : "no limit was too low";
            if (got->what.find("Too many open files") == std::string::npos)
                return "another error: " + got->what;
        }
    });
    EXPECT_EQ(told, "opened");
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST(sharing_bad_input, processes_may_have_different_trackers) {
    temp_dir dir;
    heap_options mine = shared_heap();
    mine.tracker = tracking::fallback;
    heap h = heap::open(dir / "h", mine);
    auto& count = h.root<std::uint64_t>("count");
    for (const tracking other : {tracking::trap, tracking::automatic}) {
        other_process writer(h, [&] {
            heap_options theirs = shared_heap();
            theirs.tracker = other;
            heap same = heap::open_existing(dir / "h", theirs);
            for (int i = 0; i < 10; ++i)
                same.write([&] { ++same.root<std::uint64_t>("count"); });
            same.close();
        });
        for (int i = 0; i < 10; ++i)
            h.write([&] { ++count; });
        EXPECT_EQ(writer.wait(), 0);
    }
    h.read([&] { EXPECT_EQ(count, 40U); });
}

TEST(sharing_bad_input, a_process_whose_addresses_are_taken_is_told_and_harms_nobody) {
    temp_dir dir;
    heap h = heap::open(dir / "h", shared_heap());
    auto& list = h.root<numbers>("list");
    void* const base = h.base();
    other_process other(h, [&] {
        if (::mmap(base, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != base)
            throw std::runtime_error("cannot take the address");
        const auto got = error_of([&] { heap::open_existing(dir / "h", shared_heap()); });
        if (!is_error(got, errc::base_taken, dir / "h", "Open the heap before"))
            throw std::runtime_error(got ? got->what : "it was opened");
    });
    EXPECT_EQ(other.wait(), 0);
    h.write([&] { list.push_back(1); });
    h.checkpoint(); // no pin and no slot is left
    h.close();
    EXPECT_FALSE(fs::exists(shm_of(dir / "h")));
}

} // namespace
} // namespace remanence::test
