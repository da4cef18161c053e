// Errors that the contents of the files call for, provoked for real through the public API: the code, the file and the
// advice in the text, path and offset; and that nothing committed is lost. errors_test.cpp has the others.
#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include "format/log_record.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>

namespace remanence::test {
namespace {

/// A socket with a name among the files.
class unix_socket {
public:
    explicit unix_socket(const fs::path& path) : descriptor_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
        path.string().copy(name.sun_path, sizeof name.sun_path - 1);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    }
    unix_socket(const unix_socket&) = delete;
    unix_socket& operator=(const unix_socket&) = delete;
    ~unix_socket() { ::close(descriptor_); }

private:
    int descriptor_;
};

TEST(not_a_heap, an_empty_file_is_none) {
    temp_dir dir;
    write_file(dir / "h", "");
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::not_a_heap, dir / "h", "name another file"));
    EXPECT_EQ(got->path, dir / "h");
    EXPECT_EQ(fs::file_size(dir / "h"), 0U);
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "h"); }), errc::not_a_heap, dir / "h", "Remove it"));
}

TEST(not_a_heap, other_files_are_none_and_stay_as_they_are) {
    temp_dir dir;
    for (std::size_t bytes : {1U, 7U, 100U, 4096U, 8192U, 100000U}) {
        std::string text(bytes, 'x');
        write_file(dir / "h", text);
        auto got = error_of_opening(dir / "h");
        EXPECT_TRUE(is_error(got, errc::not_a_heap, dir / "h", "Name another file")) << bytes;
        EXPECT_EQ(read_file(dir / "h"), std::vector<char>(text.begin(), text.end()));
    }
}

// A FIFO would wait for its other end, and merely to open a device may do something.
TEST(not_a_heap, what_is_no_regular_file_is_none_and_is_refused_at_once) {
    temp_dir dir;
    fs::create_directory(dir / "directory");
    ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
    unix_socket bound(dir / "socket");
    fs::create_symlink(dir / "fifo", dir / "link");
    const std::vector<fs::path> all = {dir / "directory", dir / "fifo", dir / "link", dir / "socket",
                                       "/dev/null",       "/dev/zero",  "/dev/tty"};
    for (const fs::path& path : all) {
        for (const bool read_only : {false, true}) {
            for (auto open : std::initializer_list<heap (*)(const fs::path&, const heap_options&)>{
                     &heap::open, &heap::open_existing}) {
                const heap_options options{.read_only = read_only, .memory = {.reserve_bytes = 64 * MiB}};
                EXPECT_EQ(in_child([&] {
                              ::alarm(k_hang_seconds);
                              auto got = error_of([&] { open(path, options); });
                              auto right =
                                  is_error(got, errc::not_a_heap, fs::weakly_canonical(path), "name another path");
                              return std::string(right ? "refused" : right.message());
                          }),
                          "refused")
                    << path << (read_only ? " read-only" : "");
            }
        }
        EXPECT_TRUE(is_error(error_of([&] { heap::create(path, small_heap()); }), errc::exists, path.parent_path(),
                             "choose another name"));
    }
    EXPECT_TRUE(fs::is_empty(dir / "directory"));
    EXPECT_TRUE(fs::is_fifo(dir / "fifo"));
    for (const fs::path& path : all) {
        EXPECT_FALSE(fs::exists(new_of(path)) || fs::exists(log_of(path))) << path;
    }
}

TEST(not_a_heap, a_fifo_in_place_of_the_log_or_of_a_heap_being_made_is_refused_at_once) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::rename(log_of(dir / "h"), dir / "saved");
    auto opening = [&](const fs::path& path) {
        return in_child([&] {
            ::alarm(k_hang_seconds);
            return told([&] { heap::open(path, small_heap()); });
        });
    };
    const auto refused = [](const fs::path& path) {
        return std::to_string(static_cast<int>(errc::not_a_heap)) + ": " + path.string() + " is not a regular file";
    };
    ASSERT_EQ(::mkfifo(log_of(dir / "h").c_str(), 0600), 0);
    EXPECT_TRUE(opening(dir / "h").starts_with(refused(log_of(dir / "h")))) << opening(dir / "h");
    ASSERT_EQ(::mkfifo(new_of(dir / "other").c_str(), 0600), 0);
    EXPECT_TRUE(opening(dir / "other").starts_with(refused(new_of(dir / "other")))) << opening(dir / "other");
    EXPECT_TRUE(fs::is_fifo(log_of(dir / "h")) && fs::is_fifo(new_of(dir / "other")));
    fs::rename(dir / "saved", log_of(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(truncated, says_where_the_file_ends_and_opens_again_once_it_is_whole) {
    temp_dir dir;
    make_heap(dir / "h");
    fs::copy_file(dir / "h", dir / "copy");
    for (std::uint64_t bytes : {std::uint64_t{100}, std::uint64_t{5000}, std::uint64_t{8192}, std::uint64_t{20000},
                                fs::file_size(dir / "h") - 1}) {
        fs::resize_file(dir / "h", bytes);
        auto got = error_of_opening(dir / "h");
        EXPECT_TRUE(is_error(got, errc::truncated, dir / "h", "Restore it from a copy")) << bytes;
        EXPECT_EQ(got->path, dir / "h");
        EXPECT_EQ(got->offset, bytes);
        fs::copy_file(dir / "copy", dir / "h", fs::copy_options::overwrite_existing);
        EXPECT_TRUE(file_has_contents(dir / "h"));
    }
}

TEST(unsupported_format, unknown_features_are_refused_and_nothing_is_changed) {
    temp_dir dir;
    make_heap(dir / "h");
    fs::copy_file(dir / "h", dir / "copy");
    using change = std::function<void(format::superblock&)>;
    for (const change& each :
         {change([](auto& s) { s.features_incompat = 8; }), change([](auto& s) { s.features_ro_compat = 1; }),
          change([](auto& s) { s.checksum_algorithm = 9; }), change([](auto& s) { s.endianness = 0x04030201; }),
          change([](auto& s) { s.versions.count = 1; })}) {
        edit_superblock(dir / "h", each);
        auto before = read_file(dir / "h");
        auto got = error_of_opening(dir / "h");
        EXPECT_TRUE(is_error(got, errc::unsupported_format, dir / "h", "Use a newer release"));
        EXPECT_EQ(got->offset % format::k_superblock_bytes, 0U);
        EXPECT_EQ(read_file(dir / "h"), before);
        fs::copy_file(dir / "copy", dir / "h", fs::copy_options::overwrite_existing);
    }
    edit_superblock(dir / "h", [](auto& s) { s.features_compat = 1; }); // may be ignored
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(unsupported_format, a_feature_that_only_writers_must_know_leaves_the_heap_readable) {
    temp_dir dir;
    make_heap(dir / "h");
    edit_superblock(dir / "h", [](auto& s) { s.features_ro_compat = format::k_feature_versions; });
    const auto before = read_file(dir / "h");
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::unsupported_format, dir / "h", "Open it read-only"));
    {
        heap h = heap::open_existing(dir / "h", {.read_only = true});
        EXPECT_TRUE(has_contents(h));
        EXPECT_TRUE(h.verify().clean());
    }
    EXPECT_EQ(read_file(dir / "h"), before);
}

TEST(unsupported_format, a_newer_format_is_refused_even_beside_a_superblock_of_this_one) {
    temp_dir dir;
    make_heap(dir / "h");
    edit_superblock(dir / "h", [](auto& s) {
        s.format_version = format::k_format_version + 1;
    }); // as a release that upgrades in place leaves it
    EXPECT_TRUE(
        is_error(error_of_opening(dir / "h"), errc::unsupported_format, dir / "h", "Use the release that wrote it"));
    edit_superblock(dir / "h", [](auto& s) { s.format_version = format::k_format_version; });
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(abi_mismatch, names_both) {
    temp_dir dir;
    make_heap(dir / "h");
    format::superblock original = newest_superblock(dir / "h");
    edit_superblock(dir / "h", [](auto& s) {
        s.abi.fill('\0');
        std::string_view("another library").copy(s.abi.data(), s.abi.size());
    });
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::abi_mismatch, dir / "h", "Build it with the same standard library"));
    EXPECT_NE(got->what.find("another library"), std::string::npos);
    EXPECT_NE(got->what.find(original.abi.data()), std::string::npos);
    edit_superblock(dir / "h", [&](auto& s) { s.abi = original.abi; });
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(type_mismatch, names_both_types_and_leaves_the_root_alone) {
    temp_dir dir;
    make_heap(dir / "h");
    heap h = heap::open(dir / "h", small_heap());
    for (auto&& attempt : {std::function<void()>([&] { (void)h.find_root<names>("numbers"); }),
                           std::function<void()>([&] { h.root<names>("numbers"); }),
                           std::function<void()>([&] { h.remove_root<names>("numbers"); })}) {
        auto got = error_of(attempt);
        EXPECT_TRUE(is_error(got, errc::type_mismatch, dir / "h", "under another name"));
        EXPECT_NE(got->what.find("vector<"), std::string::npos) << got->what;
        EXPECT_NE(got->what.find("map<"), std::string::npos) << got->what;
        EXPECT_NE(got->what.find("\"numbers\""), std::string::npos) << got->what;
    }
    EXPECT_TRUE(has_contents(h));
}

/// With this byte of the heap or of its log damaged, opening names the place of the damaged structure, again and again.
/// Mends it afterwards.
void expect_corrupt(const fs::path& heap, const fs::path& file, std::uint64_t byte, std::uint64_t place,
                    std::string_view advice) {
    SCOPED_TRACE(file.string() + " at byte " + std::to_string(byte));
    flip_byte(file, byte);
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto got = error_of_opening(heap);
        ASSERT_TRUE(is_error(got, errc::corrupt, file, advice));
        EXPECT_EQ(got->offset, place);
        EXPECT_EQ(got->path, file);
    }
    flip_byte(file, byte);
}

TEST(corrupt, both_superblocks_damaged) {
    temp_dir dir;
    make_heap(dir / "h");
    flip_byte(dir / "h", 300);
    flip_byte(dir / "h", 4096 + 300);
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::corrupt, dir / "h", "Restore the heap from a copy"));
    EXPECT_EQ(got->offset, 0U);
    EXPECT_EQ(got->path, dir / "h");
    flip_byte(dir / "h", 300);
    flip_byte(dir / "h", 4096 + 300);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(corrupt, the_newer_superblock_damaged_is_never_silent_time_travel) {
    temp_dir dir;
    make_heap(dir / "h");
    const std::uint64_t place = newest_superblock(dir / "h").sequence % 2 * format::k_superblock_bytes;
    expect_corrupt(dir / "h", dir / "h", place + 2000, place, "Restore the heap from a copy");
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(corrupt, the_chunk_map_damaged) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "h", small_heap());
        put_contents(h);
        auto* block = h.get_allocator<>().allocate(8 * MiB); // only its end is ever written, so chunks are skipped
        block[8 * MiB - 1] = std::byte{1};
        h.commit();
        h.close();
    }
    const auto map = newest_superblock(dir / "h").map;
    ASSERT_GT(map.count, 0U);
    const std::uint64_t at = map.area_offset + map.slot * map.slot_bytes;
    expect_corrupt(dir / "h", dir / "h", at + 3, at, "Restore the heap from a copy");
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(corrupt, the_log_damaged_before_its_end) {
    temp_dir dir;
    make_crashed_heap(dir / "h", 3);
    const std::uint64_t first_record = format::k_log_header_bytes;
    expect_corrupt(dir / "h", log_of(dir / "h"), first_record + 200, first_record, "restore heap and log from a copy");
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(corrupt, the_header_of_the_log_damaged) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    for (std::uint64_t offset : {0U, 8U, 20U, 33U, 50U})
        expect_corrupt(dir / "h", log_of(dir / "h"), offset, 0, "restore heap and log from a copy");
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(corrupt, a_page_damaged_is_found_when_it_is_changed_and_by_verify) {
    temp_dir dir;
    make_heap(dir / "h");
    std::uint64_t home = 0;
    {
        heap h = heap::open(dir / "h", small_heap());
        auto* list = h.find_root<numbers>("numbers");
        auto offset =
            static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(list->data()) - static_cast<std::byte*>(h.base()));
        home = newest_superblock(dir / "h").regions[0].copy_a_offset + align_up(offset, k_page_bytes);
    }
    flip_byte(dir / "h", home + 8);
    {
        heap h = heap::open(dir / "h", small_heap());
        auto report = h.verify();
        ASSERT_EQ(report.problems.size(), 1U);
        EXPECT_EQ(report.problems[0].offset, home);
        for (auto& n : *h.find_root<numbers>("numbers"))
            n += 1;
        auto got = error_of([&] { h.commit(); });
        EXPECT_TRUE(is_error(got, errc::corrupt, dir / "h", "Restore the heap from a copy"));
        EXPECT_EQ(got->offset, home);
        EXPECT_EQ(h.find_root<numbers>("numbers")->front(), 1U); // memory keeps its changes
        h.rollback();
        EXPECT_EQ(h.find_root<numbers>("numbers")->front(), 0U);
        h.close();
    }
    flip_byte(dir / "h", home + 8);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(log_missing, the_log_brought_back_brings_the_commits_back) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::rename(log_of(dir / "h"), dir / "elsewhere");
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::log_missing, log_of(dir / "h"), "Put the log back"));
    EXPECT_NE(got->what.find((dir / "h").string() + " was"), std::string::npos) << got->what;
    fs::rename(dir / "elsewhere", log_of(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(truncated, a_log_that_is_needed_and_cut_off_is_refused_and_kept) {
    temp_dir dir;
    make_crashed_heap(dir / "h", 100);
    const auto whole = fs::file_size(log_of(dir / "h"));
    fs::copy_file(log_of(dir / "h"), dir / "saved");
    for (const std::uintmax_t left : {std::uintmax_t{100}, std::uintmax_t{4096}, std::uintmax_t{30'000}, whole - 1}) {
        fs::resize_file(log_of(dir / "h"), left);
        EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::truncated, log_of(dir / "h"), "is cut off")) << left;
        EXPECT_EQ(fs::file_size(log_of(dir / "h")), left);
    }
    fs::rename(dir / "saved", log_of(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

// Its last commits are chunks that only the log knows of, so the superblock does not say how long it must be.
TEST(truncated, a_heap_that_needs_its_log_is_refused_and_both_are_kept) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "running", small_heap());
        auto& all = h.root<vector<std::uint64_t>>("all");
        h.write([&] { all.assign(100'000, 7); });
        fs::copy_file(dir / "running", dir / "h");
        fs::copy_file(log_of(dir / "running"), log_of(dir / "h"));
    }
    fs::copy_file(dir / "h", dir / "saved");
    const auto log = read_file(log_of(dir / "h"));
    for (std::uintmax_t left = 70'000; left < 800'000; left += 4096) {
        fs::resize_file(dir / "h", left);
        EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::truncated, dir / "h", "ends at byte")) << left;
        EXPECT_EQ(fs::file_size(dir / "h"), left);
        EXPECT_EQ(read_file(log_of(dir / "h")), log);
        fs::copy_file(dir / "saved", dir / "h", fs::copy_options::overwrite_existing);
    }
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_EQ(*h.find_root<vector<std::uint64_t>>("all"), vector<std::uint64_t>(100'000, 7));
}

TEST(truncated, a_long_log_that_is_cut_off_among_its_records_is_refused_too) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "running", small_heap());
        auto& all = h.root<vector<std::uint64_t>>("all");
        for (std::uint64_t i = 0; i < 40; ++i)
            h.write([&] { all.assign(16'384, i); }); // 128 KiB of log, most times
        fs::copy_file(dir / "running", dir / "h");
        fs::copy_file(log_of(dir / "running"), log_of(dir / "h"));
    }
    const auto whole = fs::file_size(log_of(dir / "h"));
    ASSERT_GT(whole, 3 * MiB);
    fs::copy_file(log_of(dir / "h"), dir / "saved");
    fs::resize_file(log_of(dir / "h"), whole - 2 * MiB - 300'000);
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::truncated, log_of(dir / "h"), "is cut off"));
    fs::rename(dir / "saved", log_of(dir / "h"));
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_EQ(h.find_root<vector<std::uint64_t>>("all")->back(), 39U);
}

// I3: never silent time travel.
TEST(log_foreign, of_an_earlier_session_of_the_same_heap) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "h", small_heap());
        put_contents(h);
        fs::copy_file(log_of(dir / "h"), dir / "earlier");
    }
    {
        heap h = heap::open_existing(dir / "h", small_heap());
        h.write([&] { h.root<std::uint64_t>("later") = 5; });
        fs::copy_file(dir / "h", dir / "copy");
        fs::copy_file(log_of(dir / "h"), dir / "log of copy");
    }
    fs::rename(dir / "earlier", log_of(dir / "copy"));
    EXPECT_TRUE(is_error(error_of_opening(dir / "copy"), errc::log_foreign, log_of(dir / "copy"), "earlier session"));
    fs::rename(dir / "log of copy", log_of(dir / "copy"));
    heap h = heap::open_existing(dir / "copy", small_heap());
    EXPECT_EQ(*h.find_root<std::uint64_t>("later"), 5U);
}

TEST(corrupt, a_damaged_superblock_that_a_log_follows_is_named_instead_of_the_log) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    const auto super = newest_superblock(dir / "h");
    const std::uint64_t at = super.sequence % 2 * format::k_superblock_bytes;
    flip_byte(dir / "h", at + 100);
    const auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::corrupt, dir / "h", "superblock"));
    EXPECT_EQ(got->offset, at);
    flip_byte(dir / "h", at + 100);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(log_foreign, of_another_heap) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    make_crashed_heap(dir / "other");
    fs::rename(log_of(dir / "h"), dir / "saved");
    fs::copy_file(log_of(dir / "other"), log_of(dir / "h"));
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::log_foreign, log_of(dir / "h"), "Move it back"));
    EXPECT_EQ(got->path, log_of(dir / "h"));
    fs::remove(log_of(dir / "h"));
    fs::rename(dir / "saved", log_of(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "other"));
}

TEST(log_foreign, beside_a_clean_heap_it_is_kept) {
    temp_dir dir;
    make_heap(dir / "h");
    make_crashed_heap(dir / "other");
    fs::rename(log_of(dir / "other"), log_of(dir / "h"));
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::log_foreign, log_of(dir / "h"), "Move it back"));
    fs::rename(log_of(dir / "h"), log_of(dir / "other"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
    EXPECT_TRUE(file_has_contents(dir / "other"));
}

TEST(log_foreign, a_log_in_the_way_of_a_new_heap_is_kept) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::rename(dir / "h", dir / "saved");
    auto got = error_of([&] { heap::open(dir / "h", small_heap()); });
    EXPECT_TRUE(is_error(got, errc::log_foreign, log_of(dir / "h"), "Bring that heap back"));
    EXPECT_FALSE(fs::exists(dir / "h"));
    EXPECT_FALSE(fs::exists(new_of(dir / "h")));
    fs::rename(dir / "saved", dir / "h");
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

} // namespace
} // namespace remanence::test
