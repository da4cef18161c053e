#include "testing/simulated_disk.hpp"

#include "support/seed.hpp"
#include "unit/testing/disk_script.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::simulation {
namespace {

class mapping {
public:
    explicit mapping(std::size_t bytes)
        : bytes_(bytes), at_(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    ~mapping() { ::munmap(at_, bytes_); }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    [[nodiscard]] char* at() const { return static_cast<char*>(at_); }

private:
    std::size_t bytes_;
    void* at_;
};

TEST(simulated_disk, reads_back_what_was_written_and_refuses_to_read_past_the_end) {
    simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    ASSERT_TRUE(file->write("w", 3, bytes_of("abc")));
    EXPECT_EQ(*file->size(), 6U);
    EXPECT_EQ(text_of(disk, "f"), std::string("\0\0\0abc", 6));
    std::byte one[7];
    const auto past = file->read(0, one);
    ASSERT_FALSE(past);
    EXPECT_EQ(past.why().code, errc::truncated);
}

TEST(simulated_disk, resize_reserve_and_punch_do_what_the_interface_says) {
    simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    ASSERT_TRUE(file->write("w", 0, bytes_of("abcdef")));
    ASSERT_TRUE(file->reserve("r", 0, 8));
    EXPECT_EQ(text_of(disk, "f"), std::string("abcdef\0\0", 8));
    ASSERT_TRUE(file->reserve("r", 0, 4)); // never shrinks
    EXPECT_EQ(*file->size(), 8U);
    ASSERT_TRUE(file->punch("p", 1, 2));
    EXPECT_EQ(text_of(disk, "f"), std::string("a\0\0def\0\0", 8));
    ASSERT_TRUE(file->punch("p", 4, 100)); // does not grow
    EXPECT_EQ(*file->size(), 8U);
    ASSERT_TRUE(file->resize("s", 2));
    ASSERT_TRUE(file->resize("s", 4));
    EXPECT_EQ(text_of(disk, "f"), std::string("a\0\0\0", 4));
}

TEST(simulated_disk, a_file_as_large_as_a_damaged_number_says_shrinks_at_once) {
    simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    ASSERT_TRUE(file->write("w", 0, bytes_of("abc")));
    ASSERT_TRUE(file->resize("s", std::uint64_t{1} << 62));
    ASSERT_TRUE(file->resize("s", 2)); // page by page it would take years
    EXPECT_EQ(text_of(disk, "f"), "ab");
    ASSERT_TRUE(file->resize("s", 5000));
    EXPECT_EQ(text_of(disk, "f"), "ab" + std::string(4998, '\0'));
    EXPECT_FALSE(file->write("w", std::uint64_t{1} << 62, bytes_of("abc"))); // nor is there memory for that
    EXPECT_EQ(*file->size(), 5000U);
}

TEST(simulated_disk, directory_operations_behave) {
    simulated_disk disk;
    EXPECT_EQ(disk.open("a", os::access::read_only).why().code, errc::not_found);
    ASSERT_TRUE((*disk.open_or_create("a", 0600))->write("w", 0, bytes_of("A")));
    ASSERT_TRUE(disk.open_or_create("b", 0600));
    EXPECT_EQ(disk.rename_to_new("r", "a", "b").why().code, errc::exists);
    EXPECT_EQ(disk.rename_to_new("r", "c", "d").why().code, errc::not_found);
    auto file = std::move(*disk.open("a", os::access::read_write));
    EXPECT_EQ(disk.rename_over("r", "c", "b").why().code, errc::not_found);
    ASSERT_TRUE(disk.rename_to_new("r", "a", "c"));
    EXPECT_FALSE(*disk.exists("a"));
    EXPECT_EQ(text_of(disk, "c"), "A");
    EXPECT_TRUE(*file->is_at("c"));
    EXPECT_FALSE(*file->is_at("b"));
    EXPECT_EQ(file->find_name()->path, "c");
    ASSERT_TRUE(disk.remove("r", "b", *file)); // another file's: nothing is done
    EXPECT_TRUE(*disk.exists("b"));
    ASSERT_TRUE(disk.remove("r", "c"));
    ASSERT_TRUE(disk.remove("r", "c")); // absent: no error
    EXPECT_FALSE(*file->is_at("c"));
    EXPECT_FALSE(file->find_name()->exists);
    EXPECT_EQ(*file->size(), 1U); // still open
    ASSERT_TRUE((*disk.open_or_create("d", 0600))->write("w", 0, bytes_of("D")));
    ASSERT_TRUE(disk.rename_over("r", "d", "b"));
    EXPECT_FALSE(*disk.exists("d"));
    EXPECT_EQ(text_of(disk, "b"), "D");
}

TEST(simulated_disk, a_file_open_for_reading_refuses_writes) {
    simulated_disk disk;
    ASSERT_TRUE(disk.open_or_create("f", 0600));
    auto file = std::move(*disk.open("f", os::access::read_only));
    EXPECT_FALSE(file->write("w", 0, bytes_of("x")));
    EXPECT_FALSE(file->resize("w", 1));
}

TEST(simulated_disk, locks_belong_to_the_open_file) {
    simulated_disk disk;
    auto one = std::move(*disk.open_or_create("f", 0600));
    auto two = std::move(*disk.open("f", os::access::read_only));
    EXPECT_TRUE(*one->try_lock(os::lock_kind::shared));
    EXPECT_TRUE(*two->try_lock(os::lock_kind::shared));
    EXPECT_FALSE(*one->try_lock(os::lock_kind::exclusive));
    two = std::move(*disk.open("f", os::access::read_only)); // closes the one that had it
    EXPECT_TRUE(*one->try_lock(os::lock_kind::exclusive));   // converts
    EXPECT_FALSE(*two->try_lock(os::lock_kind::shared));
    one.reset(); // as the death of the process
    EXPECT_TRUE(*two->try_lock(os::lock_kind::exclusive));
}

TEST(simulated_disk, a_private_mapping_copies_on_write_and_follows_the_file_in_untouched_pages) {
    simulated_disk disk;
    const mapping view(3 * k_page_bytes);
    {
        auto file = std::move(*disk.open_or_create("f", 0600));
        ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(3 * k_page_bytes, 'o'))));
        ASSERT_TRUE(file->map_private(view.at(), 2 * k_page_bytes, k_page_bytes, os::access::read_write));
        EXPECT_EQ(view.at()[0], 'o');
        view.at()[0] = 'm';
        EXPECT_EQ(text_of(disk, "f")[k_page_bytes], 'o');
        ASSERT_TRUE(file->write("w", k_page_bytes, bytes_of("nn")));
        ASSERT_TRUE(file->write("w", 2 * k_page_bytes, bytes_of("nn")));
        EXPECT_EQ(view.at()[1], 'o') << "a page written through the mapping is its own";
        EXPECT_EQ(view.at()[k_page_bytes], 'n') << "an untouched one is the file's";
    }
    EXPECT_EQ(view.at()[k_page_bytes + 1], 'n') << "the mapping outlives the file object";
}

TEST(simulated_disk, rewind_restores_contents_sizes_names_and_holes) {
    simulated_disk disk;
    { // a big hole between data, so that the long ranges are saved by extents
        auto file = std::move(*disk.open_or_create("f", 0600));
        ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(1000, 'a'))));
        ASSERT_TRUE(file->write("w", 300 * KiB, bytes_of(std::string(1000, 'b'))));
    }
    const std::string before = text_of(disk, "f");
    const auto point = disk.now();
    {
        auto file = std::move(*disk.open("f", os::access::read_write));
        ASSERT_TRUE(file->write("w", 10, bytes_of(std::string(400 * KiB, 'x'))));
        ASSERT_TRUE(file->punch("p", 0, 200 * KiB));
        ASSERT_TRUE(file->resize("s", 250 * KiB));
        ASSERT_TRUE(file->reserve("r", 0, 500 * KiB));
        ASSERT_TRUE(disk.rename_to_new("r", "f", "g"));
        ASSERT_TRUE((*disk.open_or_create("f", 0600))->write("w", 0, bytes_of("new")));
        ASSERT_TRUE(disk.remove("r", "g"));
    }
    EXPECT_EQ(text_of(disk, "f"), "new");
    EXPECT_EQ(text_of(disk, "g"), "<absent>");
    disk.rewind(point);
    EXPECT_EQ(text_of(disk, "f"), before);
    EXPECT_EQ(disk.trace().size(), 3U);
}

TEST(simulated_disk, rewinding_random_operations_restores_every_byte) {
    std::srand(static_cast<unsigned>(test::seed_or(7)));
    const auto random = [](std::uint64_t below) { return static_cast<std::uint64_t>(std::rand()) % below; };
    simulated_disk disk;
    disk.limit_space(4 * MiB); // so that the accounting is undone as well
    std::map<std::string, std::uint64_t> fingerprints;
    std::set<std::uint64_t> different;
    for (int round = 0; round < 40; round++) {
        const std::string before = text_of(disk, "f");
        fingerprints.emplace(before, disk.fingerprint());
        different.insert(disk.fingerprint());
        ASSERT_EQ(disk.fingerprint(), fingerprints[before]);
        ASSERT_EQ(different.size(), fingerprints.size());
        const std::uint64_t used = disk.space_used();
        const auto point = disk.now();
        {
            auto file = std::move(*disk.open_or_create("f", 0600));
            for (int i = 0; i < 20; i++) {
                const std::uint64_t offset = random(300 * KiB);
                const std::uint64_t bytes = random(i % 4 == 0 ? 200 * KiB : 2000);
                switch (random(5)) {
                case 0:
                    ASSERT_TRUE(file->punch("p", offset, bytes));
                    break;
                case 1:
                    ASSERT_TRUE(file->resize("s", offset));
                    break;
                case 2:
                    ASSERT_TRUE(file->reserve("r", offset, bytes));
                    break;
                default:
                    ASSERT_TRUE(file->write("w", offset, bytes_of(std::string(bytes, static_cast<char>('a' + i)))));
                }
            }
        }
        if (round % 2 == 0)
            continue; // keep, and go on from here
        disk.rewind(point);
        ASSERT_EQ(text_of(disk, "f"), before);
        ASSERT_EQ(disk.space_used(), used);
    }
    ASSERT_GT(different.size(), 10U);
}

TEST(simulated_disk, the_fingerprint_is_of_names_sizes_and_bytes) {
    simulated_disk disk;
    std::set<std::uint64_t> seen{disk.fingerprint()};
    const auto is_new = [&] { return seen.insert(disk.fingerprint()).second; };
    {
        auto file = std::move(*disk.open_or_create("f", 0600));
        EXPECT_TRUE(is_new());
        ASSERT_TRUE(file->write("w", 5000, bytes_of("abc")));
        EXPECT_TRUE(is_new());
        ASSERT_TRUE(file->write("w", 5000, bytes_of("abd")));
        EXPECT_TRUE(is_new());
        ASSERT_TRUE(file->write("w", 5000, bytes_of("abc")));
        EXPECT_FALSE(is_new());
        const std::uint64_t before = disk.fingerprint();
        ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(3000, '\0')))); // a hole before
        EXPECT_EQ(disk.fingerprint(), before);
        ASSERT_TRUE(file->resize("s", 5004));
        EXPECT_TRUE(is_new());
        ASSERT_TRUE(file->resize("s", 3 * k_page_bytes));
        EXPECT_TRUE(is_new());
        ASSERT_TRUE(file->punch("p", 0, 2 * k_page_bytes)); // the same page elsewhere
        ASSERT_TRUE(file->write("w", 5000 + k_page_bytes, bytes_of("abc")));
        EXPECT_TRUE(is_new());
    }
    ASSERT_TRUE(disk.rename_to_new("r", "f", "g"));
    EXPECT_TRUE(is_new());
    ASSERT_TRUE(disk.open_or_create("e", 0600));
    EXPECT_TRUE(is_new());
}

TEST(simulated_disk, performing_a_trace_again_gives_the_same_files) {
    simulated_disk disk;
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open_or_create("f", 0600));
        ASSERT_TRUE(file->write("w", 100, bytes_of("hello")));
        ASSERT_TRUE(file->reserve("r", 0, 200));
        ASSERT_TRUE(file->punch("p", 101, 1));
        ASSERT_TRUE(file->resize("s", 150));
        ASSERT_TRUE(disk.rename_to_new("r", "f", "g"));
        ASSERT_TRUE(disk.open_or_create("h", 0600));
        ASSERT_TRUE(disk.remove("r", "h"));
    }
    const std::string expected = text_of(disk, "g");
    const auto trace = disk.take_trace();
    disk.rewind(start);
    EXPECT_EQ(disk.describe_files(), "");
    for (const auto& operation : trace)
        disk.apply(operation);
    EXPECT_EQ(text_of(disk, "g"), expected);
    EXPECT_EQ(text_of(disk, "h"), "<absent>");
    EXPECT_TRUE(disk.trace().empty());
}

TEST(simulated_disk, the_nth_operation_fails_without_effect_and_only_that_one) {
    for (std::uint64_t n = 0;; n++) {
        simulated_disk disk;
        disk.fail_at(n, errc::io);
        const bool created = static_cast<bool>(disk.open_or_create("f", 0600));
        EXPECT_EQ(created, n != 0);
        if (!created)
            continue;
        auto file = std::move(*disk.open("f", os::access::read_write));
        const auto written = file->write("w", 0, bytes_of("abc"));
        const auto synced = file->sync("s");
        if (!written) {
            EXPECT_EQ(written.why().os_error, EIO);
        }
        EXPECT_EQ(static_cast<bool>(written), n != 1);
        EXPECT_EQ(static_cast<bool>(synced), n != 2);
        EXPECT_EQ(text_of(disk, "f"), n == 1 ? "" : "abc");
        EXPECT_EQ(disk.trace().size(), 3U);
        if (disk.failure_is_ahead())
            break;
    }
}

TEST(simulated_disk, nothing_is_done_or_recorded_after_a_death_until_it_works_again) {
    simulated_disk disk;
    disk.die_at(1);
    auto file = std::move(*disk.open_or_create("f", 0600));
    EXPECT_TRUE(disk.failure_is_ahead());
    EXPECT_FALSE(file->write("w", 0, bytes_of("abc")));
    EXPECT_FALSE(disk.failure_is_ahead());
    EXPECT_FALSE(file->sync("s"));
    EXPECT_FALSE(disk.remove("r", "f"));
    EXPECT_EQ(disk.trace().size(), 1U);
    EXPECT_EQ(text_of(disk, "f"), "");
    disk.work_again();
    EXPECT_TRUE(file->write("w", 0, bytes_of("abc")));
    EXPECT_EQ(text_of(disk, "f"), "abc");
}

TEST(simulated_disk, a_full_disk_refuses_new_blocks_but_takes_writes_into_reserved_ones) {
    simulated_disk disk;
    disk.limit_space(16 * KiB);
    auto file = std::move(*disk.open_or_create("f", 0600));
    ASSERT_TRUE(file->resize("s", 1 * GiB)); // a hole takes up nothing
    ASSERT_TRUE(file->reserve("r", 0, 16 * KiB));
    EXPECT_EQ(file->reserve("r", 8 * KiB, 16 * KiB).why().code, errc::no_space);
    EXPECT_EQ(file->write("w", 512 * MiB, bytes_of("x")).why().code, errc::no_space);
    EXPECT_TRUE(file->write("w", 8 * KiB, bytes_of(std::string(8 * KiB, 'x'))));
    ASSERT_TRUE(file->punch("p", 0, 4 * KiB));
    EXPECT_TRUE(file->write("w", 512 * MiB, bytes_of("x")));
    EXPECT_EQ(disk.space_used(), 16 * KiB);
    file.reset();
    ASSERT_TRUE(disk.remove("r", "f"));
    EXPECT_EQ(disk.space_used(), 0U);
}

TEST(simulated_disk, sectors_are_those_of_the_file_not_of_the_write) {
    simulated_disk disk;
    const auto write = [](std::uint64_t offset, std::uint64_t bytes) {
        return disk_operation{.what = disk_operation::kind::write,
                              .offset = offset,
                              .bytes = bytes,
                              .data = std::vector<std::byte>(bytes, std::byte{'w'})};
    };
    EXPECT_EQ(write(0, 512).sectors(), 1U);
    EXPECT_EQ(write(511, 2).sectors(), 2U);
    EXPECT_EQ(write(0, 0).sectors(), 0U);
    disk.apply({.what = disk_operation::kind::create, .path = "f"});
    disk.apply(write(500, 600), {.operation = 0, .sectors_end = 1});
    EXPECT_EQ(text_of(disk, "f"), std::string(500, '\0') + std::string(12, 'w'));
    disk.apply(write(500, 600), {.operation = 0, .sectors_begin = 2});
    EXPECT_EQ(text_of(disk, "f"),
              std::string(500, '\0') + std::string(12, 'w') + std::string(512, '\0') + std::string(76, 'w'));
}

TEST(simulated_disk, data_and_size_of_a_write_may_persist_apart) {
    const disk_operation write{.what = disk_operation::kind::write,
                               .offset = 0,
                               .bytes = 4,
                               .data = std::vector<std::byte>(4, std::byte{'w'})};
    simulated_disk disk;
    disk.apply({.what = disk_operation::kind::create, .path = "f"});
    disk.apply({.what = disk_operation::kind::resize, .bytes = 2});
    disk.apply(write, {.operation = 0, .size = false});
    EXPECT_EQ(text_of(disk, "f"), "ww");
    disk.apply(write, {.operation = 0, .data = false});
    EXPECT_EQ(text_of(disk, "f"), std::string("ww\0\0", 4));
}

TEST(simulated_disk, dropped_syncs_leave_no_trace) {
    simulated_disk disk;
    disk.drop_at("one");
    auto file = std::move(*disk.open_or_create("f", 0600));
    ASSERT_TRUE(file->sync("one"));
    ASSERT_TRUE(file->sync("two"));
    ASSERT_EQ(disk.trace().size(), 2U);
    EXPECT_EQ(std::string(disk.trace()[1].where), "two");
}

} // namespace
} // namespace remanence::simulation
