// Files that earlier builds, of any compiler, have written: they open, hold what the program put there, and take more; those of
// an older format once they are upgraded, and not before.
#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "format/log_record.hpp"
#include "format/superblock.hpp"
#include "golden.hpp"
#include "os/memory.hpp"
#include "recover/scan.hpp"
#include "recover/upgrade.hpp"
#include "store/heap_file.hpp"
#include "support/sample_heap.hpp"
#include "support/temp_dir.hpp"
#include "types/root_directory.hpp"

#include <remanence/arena.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::compat {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> formats() {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(GOLDEN_FILES))
        found.push_back(entry.path().filename().string());
    return found;
}

class golden_files : public testing::TestWithParam<std::string> {
protected:
    std::string unpack(const std::string& name) {
        const auto bytes = read_compressed((fs::path(GOLDEN_FILES) / GetParam() / (name + ".gz")).string());
        const std::string path = (directory_.path() / name).string();
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }
    std::string unpack_pages(const std::string& name) {
        const std::string path = (directory_.path() / name).string();
        std::ofstream file(path, std::ios::binary);
        for (const auto& [offset, page] :
             read_compressed_pages((fs::path(GOLDEN_FILES) / GetParam() / (name + ".pages.gz")).string())) {
            file.seekp(static_cast<std::streamoff>(offset));
            file.write(reinterpret_cast<const char*>(page.data()), static_cast<std::streamsize>(page.size()));
        }
        return path;
    }
    static bool is_older() { return GetParam() != "format-" + std::to_string(format::k_format_version); }
    /// Of a heap that this release does not open as it is. Returns the commits that were recovered.
    static std::uint64_t upgrade(const std::string& path) {
        try {
            (void)heap::open_existing(path);
            ADD_FAILURE() << "it was opened";
        } catch (const error& why) {
            EXPECT_EQ(why.reason(), errc::unsupported_format) << why.what();
            EXPECT_TRUE(std::string_view(why.what()).ends_with(path)) << why.what();
            EXPECT_NE(std::string_view(why.what()).find("Convert it: rem upgrade"), std::string_view::npos)
                << why.what();
        }
        const auto done = recover::upgrade(os::posix_file_system(), path, {});
        EXPECT_TRUE(done) << done.why().message;
        EXPECT_EQ("format-" + std::to_string(done->format_before), GetParam());
        EXPECT_TRUE(done->changed);
        const auto again = recover::upgrade(os::posix_file_system(), path, {});
        EXPECT_TRUE(again && !again->changed);
        return done->recovered_commits;
    }
    static void expect_sample(heap& opened) {
        const auto different = sample::difference(opened);
        EXPECT_FALSE(different) << *different;
        const auto report = opened.verify();
        EXPECT_TRUE(report.clean()) << report.problems.front().what;
        EXPECT_GT(report.pages_checked, 10U);
        EXPECT_EQ(opened.leaks().blocks, 0U);
    }
    static std::size_t roots_by_algorithm(heap& opened, std::uint32_t algorithm) {
        std::size_t count = 0;
        txn::engine& engine = detail::registry::find(opened.base())->engine();
        EXPECT_TRUE(types::root_directory(engine.memory()).for_each([&](const types::root_view& root) {
            count += root.fingerprint_algorithm == algorithm ? 1 : 0;
        }));
        return count;
    }
    static format::record_header last_record_of(const std::string& path) {
        auto store = store::heap_file::open(os::posix_file_system(), path, os::access::read_only);
        EXPECT_TRUE(store) << store.why().message;
        auto log = recover::open_log(os::posix_file_system(), **store, os::access::read_only);
        EXPECT_TRUE(log) << log.why().message;
        const auto records = recover::scan(**log, (*store)->supers());
        EXPECT_TRUE(records) << records.why().message;
        format::record_header header{};
        std::memcpy(&header, records->back().bytes.data(), sizeof header);
        return header;
    }
    static void expect_it_works_on(const std::string& path) {
        {
            heap opened = heap::open_existing(path);
            opened.write([&] { opened.root<numbers_added>("added later").assign(20'000, 7); });
            opened.write([&] { opened.root<sample::numbers>("numbers").push_back(1); });
            opened.close();
        }
        heap opened = heap::open_existing(path);
        EXPECT_EQ(opened.find_root<numbers_added>("added later")->at(19'999), 7U);
        EXPECT_EQ(opened.find_root<sample::numbers>("numbers")->back(), 1U);
        EXPECT_TRUE(opened.verify().clean());
    }

    using numbers_added = vector<unsigned>;
    test::temp_dir directory_;
};

TEST_P(golden_files, of_a_closed_heap_hold_what_was_written_and_take_more) {
    const std::string path = unpack("closed.rem");
    if (is_older()) {
        EXPECT_EQ(upgrade(path), 0U);
    }
    {
        heap opened = heap::open_existing(path, {.read_only = true});
        expect_sample(opened);
    }
    {
        heap opened = heap::open_existing(path);
        EXPECT_EQ(opened.stats().recovered_commits, 0U);
        expect_sample(opened);
    }
    expect_it_works_on(path);
}

TEST_P(golden_files, of_a_killed_program_hold_every_commit_and_take_more) {
    const std::string path = unpack("unapplied.rem");
    unpack("unapplied.rem-log");
    std::uint64_t recovered = is_older() ? upgrade(path) : 0;
    EXPECT_EQ(recovered, is_older() ? 3U : 0U);
    {
        heap opened = heap::open_existing(path);
        recovered += opened.stats().recovered_commits;
        EXPECT_EQ(recovered, 3U);
        expect_sample(opened);
    }
    expect_it_works_on(path);
}

TEST_P(golden_files, of_a_program_killed_while_it_gave_chunks_back_hold_every_commit_and_take_more) {
    if (is_older())
        GTEST_SKIP() << "no record of an older format gives chunks back";
    const std::string path = unpack("giving_back.rem");
    unpack("giving_back.rem-log");
    ASSERT_EQ(last_record_of(path).features, format::k_feature_given_back);
    const std::uintmax_t bytes = fs::file_size(path);
    {
        heap opened = heap::open_existing(path);
        EXPECT_EQ(opened.stats().recovered_commits, 6U);
        expect_sample(opened);
    }
    EXPECT_LT(fs::file_size(path), bytes);
    expect_it_works_on(path);
}

TEST_P(golden_files, of_a_heap_with_an_arena_hold_what_lies_in_it_and_take_more) {
    if (is_older())
        GTEST_SKIP() << "no heap of an older format has arenas";
    const std::string path = unpack_pages("arena.rem");
    {
        heap opened = heap::open_existing(path);
        auto& numbers = *opened.find_root<sample::numbers>("numbers");
        ASSERT_EQ(numbers.size(), sample::k_numbers_in_arena);
        for (std::uint64_t i = 0; i != numbers.size(); ++i)
            ASSERT_EQ(numbers[i], i + 1);
        EXPECT_TRUE(opened.verify().clean());
        const auto before = arena::all(opened);
        ASSERT_EQ(before.size(), 1U);
        EXPECT_EQ(before[0].name, "numbers");
        opened.write([&] { numbers.resize(20'000, 7); });
        EXPECT_GT(arena::all(opened)[0].allocated_bytes, before[0].allocated_bytes);
        opened.close();
    }
    heap opened = heap::open_existing(path);
    EXPECT_EQ(opened.find_root<sample::numbers>("numbers")->back(), 7U);
    EXPECT_TRUE(arena::destroy(opened, "numbers"));
    EXPECT_TRUE(opened.roots().empty());
    EXPECT_TRUE(opened.verify().clean());
}

// Earlier builds knew neither names nor places of members. Which roots are of which type, the program says by finding them.
TEST_P(golden_files, get_the_present_fingerprints_with_the_next_commit) {
    const std::string path = unpack("closed.rem");
    if (is_older())
        upgrade(path);
    {
        heap opened = heap::open_existing(path);
        expect_sample(opened);
        const std::uint32_t algorithm = GetParam() == "format-2" ? 1 : detail::k_fingerprint_algorithm;
        EXPECT_EQ(roots_by_algorithm(opened, algorithm), opened.roots().size());
        opened.write([&] { opened.root<sample::numbers>("numbers").push_back(1); });
        opened.write([&] { opened.root<sample::numbers>("numbers").pop_back(); });
        opened.close();
    }
    heap opened = heap::open_existing(path);
    EXPECT_EQ(roots_by_algorithm(opened, detail::k_fingerprint_algorithm), opened.roots().size());
    expect_sample(opened);
}

// Their roots do not say whether they hold addresses.
TEST_P(golden_files, of_a_closed_heap_are_mapped_nowhere_else) {
    const std::string path = unpack("closed.rem");
    if (is_older())
        upgrade(path);
    const void* const base = heap::open_existing(path, {.read_only = true}).base();
    const auto taken = os::reservation::at(reinterpret_cast<std::uint64_t>(base), os::k_base_alignment);
    ASSERT_TRUE(taken);
    try {
        (void)heap::open_existing(path);
        FAIL() << "it was opened";
    } catch (const error& why) {
        EXPECT_EQ(why.reason(), errc::base_taken) << why.what();
    }
}

// Without a folder there would be no test above, and nobody would miss it.
TEST(golden_formats, has_the_one_that_this_build_writes) {
    const auto all = formats();
    EXPECT_NE(std::find(all.begin(), all.end(), "format-" + std::to_string(format::k_format_version)), all.end());
}

INSTANTIATE_TEST_SUITE_P(formats, golden_files, testing::ValuesIn(formats()), [](const auto& instance) {
    std::string name = instance.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

} // namespace
} // namespace remanence::compat
