// heap::rebuild(): memory is dropped, and the last commit read anew.

#include "api/heap_impl.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/api/fixture.hpp"

#include <cstring>

namespace remanence::test {
namespace {

struct rebuilding : testing::Test {
    simulation::simulated_disk disk;
    heap open(const heap_options& options = small_heap()) { return detail::open(disk, "/disk/h", options); }
};

TEST_F(rebuilding, brings_back_what_was_committed_where_it_was) {
    heap h = open();
    put_contents(h);
    auto& list = *h.find_root<numbers>("numbers");
    const void* const base = h.base();
    const std::uint64_t version = h.version();
    list.push_back(1);
    std::memset(static_cast<std::byte*>(h.base()) + 64, 0xA5, 100'000); // header, allocator, roots
    h.rebuild();
    EXPECT_EQ(h.base(), base);
    EXPECT_EQ(h.version(), version);
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(h.find_root<numbers>("numbers"), &list);
    h.write([&] { list.push_back(2); });
    EXPECT_EQ(list.size(), 1001U);
    h.close();
    heap again = open();
    EXPECT_EQ(again.find_root<numbers>("numbers")->size(), 1001U);
}

TEST_F(rebuilding, takes_an_empty_name_of_a_version_for_none) {
    heap_options options = small_heap();
    options.history = {.steps_max = 5, .kept_over_sessions = true};
    options.version = std::nullopt;
    options.kept_version = std::string();
    heap h = open(options);
    put_contents(h);
    h.rebuild();
    EXPECT_TRUE(has_contents(h));
}

TEST_F(rebuilding, keeps_commits_that_were_not_durable) {
    heap h = open();
    auto& value = h.root<std::uint64_t>("value");
    h.write(durability::none, [&] { value = 1; });
    commit_ticket point = [&] {
        value = 2;
        return h.commit_async();
    }();
    h.rebuild();
    EXPECT_EQ(value, 2U);
    EXPECT_TRUE(point.ready());
    point.wait();
}

TEST_F(rebuilding, mends_a_heap_that_was_poisoned) {
    heap h = open();
    auto& value = h.root<std::uint64_t>("value");
    h.write([&] { value = 1; });
    disk.fail_at(1, errc::io); // the record's write succeeds
    EXPECT_EQ(error_of([&] { h.write([&] { value = 2; }); })->code, errc::io);
    EXPECT_EQ(error_of([&] { h.write([&] { value = 3; }); })->code, errc::poisoned);
    h.rebuild();
    EXPECT_TRUE(value == 1 || value == 2) << value;
    h.write([&] { value = 4; });
    h.close();
    heap again = open();
    EXPECT_EQ(*again.find_root<std::uint64_t>("value"), 4U);
    EXPECT_TRUE(again.verify().clean());
}

/// Flips all bits behind the superblocks; done twice, it is as it was.
void flip(const fs::path& path) {
    constexpr std::size_t k_superblocks = 8192;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    ASSERT_GT(bytes.size(), k_superblocks);
    for (std::size_t i = k_superblocks; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(~bytes[i]);
    file.clear();
    file.seekp(0);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST_F(rebuilding, goes_on_after_a_rollback_that_failed) {
    temp_dir dir;
    {
        heap h = heap::open(dir / "h", small_heap());
        put_contents(h);
        h.close();
    }
    heap h = heap::open(dir / "h", small_heap());
    auto& list = *h.find_root<numbers>("numbers");
    h.write([&] { list.push_back(0); });
    h.write([&] { list.pop_back(); });
    for (auto& each : list)
        each = 3;
    flip(dir / "h");
    EXPECT_EQ(error_of([&] { h.rollback(); })->code, errc::corrupt);
    EXPECT_EQ(error_of([&] { h.commit(); })->code, errc::poisoned);
    flip(dir / "h");
    h.rebuild();
    EXPECT_TRUE(has_contents(h));
}

TEST_F(rebuilding, is_refused_within_sections_and_changes_nothing) {
    heap h = open();
    auto& value = h.root<std::uint64_t>("value");
    h.write([&] {
        value = 5;
        EXPECT_EQ(error_of([&] { h.rebuild(); })->code, errc::section_open);
    });
    h.read([&] { EXPECT_EQ(error_of([&] { h.rebuild(); })->code, errc::section_open); });
    EXPECT_EQ(value, 5U);
}

TEST_F(rebuilding, is_refused_where_the_file_has_lost_its_name) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put_contents(h);
    fs::rename(dir / "h", dir / "other");
    EXPECT_EQ(error_of([&] { h.rebuild(); })->code, errc::unlinked);
    EXPECT_TRUE(has_contents(h));
    fs::rename(dir / "other", dir / "h");
    h.rebuild();
    EXPECT_TRUE(has_contents(h));
}

TEST_F(rebuilding, is_refused_to_heaps_that_processes_share) {
    temp_dir dir;
    heap_options options = small_heap();
    options.access = sharing::processes;
    heap h = heap::open(dir / "h", options);
    EXPECT_EQ(error_of([&] { h.rebuild(); })->code, errc::invalid_argument);
}

TEST_F(rebuilding, that_fails_closes_the_heap) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    put_contents(h);
    h.checkpoint();
    flip(dir / "h");
    EXPECT_EQ(error_of([&] { h.rebuild(); })->code, errc::corrupt);
    EXPECT_FALSE(h.is_open());
    flip(dir / "h");
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST_F(rebuilding, reads_again_what_nobody_may_change) {
    temp_dir dir;
    {
        heap h = heap::open(dir / "h", small_heap());
        put_contents(h);
        h.close();
    }
    heap_options options = small_heap();
    options.read_only = true;
    heap h = heap::open_existing(dir / "h", options);
    h.rebuild();
    EXPECT_TRUE(has_contents(h));
}

} // namespace
} // namespace remanence::test
