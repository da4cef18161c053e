// log_options::log_directory: the redo log lies elsewhere than its heap.

#include "unit/api/fixture.hpp"

#include <remanence/inspect.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {

class log_directories : public testing::Test {
protected:
    log_directories() {
        fs::create_directory(dir_ / "fast");
        fs::create_directory(dir_ / "faster");
    }

    [[nodiscard]] static heap_options with_log_in(const fs::path& directory) {
        heap_options made = small_heap();
        made.log.log_directory = directory;
        return made;
    }
    [[nodiscard]] static std::vector<std::string> names_in(const fs::path& directory) {
        std::vector<std::string> found;
        for (const auto& each : fs::directory_iterator(directory))
            found.push_back(each.path().filename().string());
        return found;
    }
    /// As a killed process leaves the heap: with commits that are in the log alone.
    void make_crashed() {
        {
            heap h = heap::create(dir_ / "h", with_log_in(dir_ / "fast"));
            put_contents(h);
            fs::copy_file(dir_ / "h", dir_ / "copy");
            log_ = names_in(dir_ / "fast").at(0);
            fs::copy_file(dir_ / "fast" / log_, dir_ / "log");
        }
        fs::rename(dir_ / "copy", dir_ / "h");
        fs::rename(dir_ / "log", dir_ / "fast" / log_);
    }

    temp_dir dir_;
    std::string log_;
};

TEST_F(log_directories, are_recorded_in_the_heap) {
    {
        heap h = heap::create(dir_ / "h", with_log_in(dir_ / "fast"));
        put_contents(h);
        ASSERT_EQ(names_in(dir_ / "fast").size(), 1U);
        EXPECT_TRUE(names_in(dir_ / "fast")[0].starts_with("h-"));
        EXPECT_FALSE(fs::exists(log_of(dir_ / "h")));
        EXPECT_TRUE(h.verify().clean());
        h.close();
    }
    EXPECT_TRUE(names_in(dir_ / "fast").empty());
    heap h = heap::open_existing(dir_ / "h", small_heap()); // which does not say it again
    EXPECT_TRUE(has_contents(h));
    h.write([&] { h.find_root<numbers>("numbers")->push_back(1); });
    EXPECT_EQ(names_in(dir_ / "fast").size(), 1U);
    EXPECT_FALSE(fs::exists(log_of(dir_ / "h")));
}

TEST_F(log_directories, have_what_a_crash_left) {
    make_crashed();
    EXPECT_FALSE(inspect::verify(dir_ / "h").problems.size());
    EXPECT_TRUE(inspect::look(dir_ / "h").log.present);
    EXPECT_TRUE(file_has_contents(dir_ / "h"));
    EXPECT_TRUE(names_in(dir_ / "fast").empty());
}

TEST_F(log_directories, are_asked_for_when_a_crash_left_commits_there) {
    make_crashed();
    fs::rename(dir_ / "fast", dir_ / "unmounted");
    EXPECT_TRUE(is_error(error_of_opening(dir_ / "h"), errc::log_missing, dir_ / "fast" / log_, "mount it"));
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir_ / "h", with_log_in("")); }), errc::log_missing,
                         dir_ / "fast" / log_, "mount it"));
    fs::rename(dir_ / "unmounted", dir_ / "fast");
    EXPECT_TRUE(file_has_contents(dir_ / "h"));
}

TEST_F(log_directories, that_are_gone_can_be_left_by_a_heap_that_was_closed) {
    {
        heap h = heap::create(dir_ / "h", with_log_in(dir_ / "fast"));
        put_contents(h);
        h.close();
    }
    fs::remove(dir_ / "fast");
    EXPECT_TRUE(is_error(error_of_opening(dir_ / "h"), errc::not_found, dir_ / "fast", "Mount its device"));
    {
        heap_options reading = small_heap();
        reading.read_only = true;
        heap h = heap::open_existing(dir_ / "h", reading); // needs no log
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 1000U);
    }
    {
        heap h = heap::open_existing(dir_ / "h", with_log_in(""));
        EXPECT_TRUE(has_contents(h));
        h.write([&] { h.root<std::uint64_t>("one more") = 1; });
        EXPECT_TRUE(fs::exists(log_of(dir_ / "h")));
        h.close();
    }
    EXPECT_TRUE(file_has_contents(dir_ / "h"));
}

TEST_F(log_directories, change_from_one_session_to_the_next) {
    make_heap(dir_ / "h");
    std::uint64_t count = 0;
    for (const char* directory : {"fast", "faster", "faster", "", "fast"}) {
        heap h = heap::open_existing(dir_ / "h", with_log_in(*directory == '\0' ? fs::path() : dir_ / directory));
        h.write([&] { h.root<std::uint64_t>("count") = ++count; });
        EXPECT_EQ(names_in(dir_ / "fast").size(), std::string_view(directory) == "fast" ? 1U : 0U);
        EXPECT_EQ(names_in(dir_ / "faster").size(), std::string_view(directory) == "faster" ? 1U : 0U);
        EXPECT_EQ(fs::exists(log_of(dir_ / "h")), *directory == '\0');
        h.close();
    }
    EXPECT_TRUE(inspect::verify(dir_ / "h").problems.empty());
    heap h = heap::open_existing(dir_ / "h", small_heap());
    EXPECT_EQ(*h.find_root<std::uint64_t>("count"), 5U);
}

TEST_F(log_directories, serve_heaps_of_equal_names) {
    fs::create_directory(dir_ / "other");
    heap one = heap::create(dir_ / "h", with_log_in(dir_ / "fast"));
    heap other = heap::create(dir_ / "other" / "h", with_log_in(dir_ / "fast"));
    put_contents(one);
    put_contents(other);
    EXPECT_EQ(names_in(dir_ / "fast").size(), 2U);
}

TEST_F(log_directories, keep_the_log_of_a_heap_that_is_renamed) {
    heap h = heap::create(dir_ / "h", with_log_in(dir_ / "fast"));
    put_contents(h);
    fs::rename(dir_ / "h", dir_ / "renamed");
    h.write([&] { h.find_root<numbers>("numbers")->push_back(1); });
    ASSERT_EQ(names_in(dir_ / "fast").size(), 1U);
    EXPECT_TRUE(names_in(dir_ / "fast")[0].starts_with("renamed-"));
    h.close();
    EXPECT_TRUE(names_in(dir_ / "fast").empty());
}

TEST_F(log_directories, are_refused_where_no_log_can_be) {
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir_ / "h", with_log_in(dir_ / "nowhere")); }), errc::not_found,
                         dir_ / "h", "Make it first"));
    write_file(dir_ / "file", "no directory");
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir_ / "h", with_log_in(dir_ / "file")); }), errc::not_found,
                         dir_ / "h", "Make it first"));
    EXPECT_FALSE(fs::exists(dir_ / "h"));
}

TEST_F(log_directories, whose_record_is_damaged_are_no_ones) {
    {
        heap h = heap::create(dir_ / "h", with_log_in(dir_ / "fast"));
        put_contents(h);
        h.close();
    }
    const auto area = newest_superblock(dir_ / "h").log_directory;
    ASSERT_NE(area.offset, 0U);
    flip_byte(dir_ / "h", area.offset + 1);
    EXPECT_TRUE(is_error(error_of_opening(dir_ / "h"), errc::corrupt, dir_ / "h", "the place of the redo log"));
    EXPECT_FALSE(inspect::verify(dir_ / "h").problems.empty());
    flip_byte(dir_ / "h", area.offset + 1);
    EXPECT_TRUE(file_has_contents(dir_ / "h"));
}

TEST_F(log_directories, are_for_the_first_of_several_processes_to_name) {
    heap_options shared = with_log_in(dir_ / "fast");
    shared.access = sharing::processes;
    std::array<int, 2> is_open{};
    std::array<int, 2> is_seen{};
    ASSERT_EQ(::pipe(is_open.data()), 0);
    ASSERT_EQ(::pipe(is_seen.data()), 0);
    char byte = 1;
    const pid_t child = ::fork(); // before the heap is open here, whose addresses it would have
    if (child == 0) {
        try {
            heap first = heap::open(dir_ / "h", shared);
            put_contents(first);
            (void)::write(is_open[1], &byte, 1);
            ::close(is_seen[1]);
            (void)::read(is_seen[0], &byte, 1);
            ::_exit(first.read([&] { return first.find_root<numbers>("numbers")->front(); }) == 5 ? 0 : 1);
        } catch (const std::exception&) {
            ::_exit(2);
        }
    }
    ::close(is_open[1]);
    EXPECT_EQ(::read(is_open[0], &byte, 1), 1);
    EXPECT_EQ(names_in(dir_ / "fast").size(), 1U);
    shared.log.log_directory = dir_ / "faster";
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir_ / "h", shared); }), errc::invalid_argument, dir_ / "h",
                         "stays where it is"));
    shared.log.log_directory.reset();
    {
        heap second = heap::open(dir_ / "h", shared);
        second.write([&] { second.find_root<numbers>("numbers")->front() = 5; });
        EXPECT_EQ(::write(is_seen[1], &byte, 1), 1);
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    for (const int each : {is_open[0], is_seen[0], is_seen[1]})
        ::close(each);
}

} // namespace
} // namespace remanence::test
