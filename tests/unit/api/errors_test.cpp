// Every error that docs/errors.md lists and that opening can meet, provoked for real through the public API: its code,
// the file and the advice in its text, path and offset; and that nothing committed is lost by it. Disk full and
// read-only file systems are in tests/process/errors_on_full_disk_test.cpp, sections in sections_test.cpp.

#include "unit/api/fixture.hpp"

#include "format/log_record.hpp"
#include "os/memory.hpp"

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
            for (auto open : {&heap::open, &heap::open_existing}) {
                const heap_options options{.reserve_bytes = 64 * MiB, .read_only = read_only};
                EXPECT_EQ(in_child([&] {
                              ::alarm(20);
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
            ::alarm(20);
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
         {change([](auto& s) { s.features_incompat = 4; }), change([](auto& s) { s.features_ro_compat = 1; }),
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

TEST(unsupported_format, a_newer_format_is_refused_even_beside_a_superblock_of_this_one) {
    temp_dir dir;
    make_heap(dir / "h");
    edit_superblock(dir / "h", [](auto& s) { s.format_version = 2; }); // as a release that upgrades in place leaves it
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
        std::strcpy(s.abi.data(), "another library");
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
        EXPECT_TRUE(is_error(got, errc::type_mismatch, dir / "h", "use another name"));
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
        home = newest_superblock(dir / "h").regions[0].home_offset + align_up(offset, k_page_bytes);
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

TEST(base_taken, names_the_mapping_that_holds_it) {
    temp_dir dir;
    make_heap(dir / "h");
    write_file(dir / "holder", std::string(4096, 'x'));
    auto base = newest_superblock(dir / "h").base;
    int fd = ::open((dir / "holder").c_str(), O_RDONLY);
    void* wanted = reinterpret_cast<void*>(base + 8192);
    ASSERT_EQ(::mmap(wanted, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0), wanted);
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::base_taken, dir / "h", "reserve_bytes"));
    EXPECT_NE(got->what.find((dir / "holder").string()), std::string::npos) << got->what;
    EXPECT_EQ(got->path, dir / "h");
    ::munmap(wanted, 4096);
    ::close(fd);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(base_taken, by_a_copy_of_the_heap) {
    temp_dir dir;
    make_heap(dir / "h");
    fs::copy_file(dir / "h", dir / "copy");
    heap h = heap::open(dir / "h", small_heap());
    auto got = error_of_opening(dir / "copy");
    EXPECT_TRUE(is_error(got, errc::base_taken, dir / "copy", "reserve_bytes"));
    EXPECT_NE(got->what.find((dir / "h").string() + ". "), std::string::npos) << got->what;
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_TRUE(file_has_contents(dir / "copy"));
}

TEST(base_taken, creating_at_a_taken_base_leaves_no_file) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    heap_options options = small_heap();
    options.base = reinterpret_cast<std::uintptr_t>(h.base());
    EXPECT_EQ(error_of([&] { heap::create(dir / "second", options); })->code, errc::base_taken);
    EXPECT_FALSE(fs::exists(dir / "second"));
    EXPECT_FALSE(fs::exists(new_of(dir / "second")));
}

TEST(permission_denied, for_reading_writing_creating_and_logging) {
    temp_dir dir;
    fs::permissions(dir.path(), fs::perms::all);
    make_heap(dir / "h");
    auto opening = [&](bool read_only) {
        return as_nobody([&, read_only] {
            return told([&] { heap::open(dir / "h", {.reserve_bytes = 64 * MiB, .read_only = read_only}); });
        });
    };
    const std::string denied =
        std::to_string(static_cast<int>(errc::permission_denied)) + ": cannot open " + (dir / "h").string();
    fs::permissions(dir / "h", fs::perms::owner_all);
    EXPECT_EQ(opening(true).substr(0, denied.size()), denied);
    EXPECT_NE(opening(false).find("Give this user access"), std::string::npos);
    fs::permissions(dir / "h", fs::perms::others_read | fs::perms::group_read | fs::perms::owner_read);
    EXPECT_EQ(opening(true), "nothing thrown");
    EXPECT_EQ(opening(false).substr(0, denied.size()), denied);

    // The file may be written, but no log beside it: commit says so and may be repeated.
    fs::permissions(dir / "h", fs::perms::all);
    fs::permissions(dir.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    EXPECT_EQ(as_nobody([&] {
                  heap h = heap::open(dir / "h", small_heap());
                  h.find_root<numbers>("numbers")->front() = 5;
                  auto first = error_of([&] { h.commit(); });
                  auto second = error_of([&] { h.commit(); });
                  if (!is_error(first, errc::permission_denied, log_of(dir / "h"), "Give this user access"))
                      return std::string("no");
                  if (!second || second->code != errc::permission_denied)
                      return std::string("not twice");
                  if (h.find_root<numbers>("numbers")->front() != 5)
                      return std::string("memory changed");
                  h.rollback();
                  return std::string(has_contents(h) ? "as it should be" : "contents lost");
              }),
              "as it should be");
    EXPECT_NE(as_nobody([&] {
                  return told([&] { heap::create(dir / "mine", small_heap()); });
              }).find("Give this user access"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(new_of(dir / "mine")));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(not_found, missing_file_and_missing_directory) {
    temp_dir dir;
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::not_found, dir / "h", "Check the name"));
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "h", {.read_only = true}); }), errc::not_found, dir / "h",
                         "no such file"));
    EXPECT_FALSE(fs::exists(dir / "h"));
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "no/h", small_heap()); }), errc::not_found, dir / "no/h",
                         "create the directory first"));
    EXPECT_TRUE(is_error(error_of([&] { heap::create(dir / "no/h", small_heap()); }), errc::not_found, dir / "no/h",
                         "create the directory first"));
    write_file(dir / "file", "x");
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "file/h", small_heap()); }), errc::not_found, dir / "file/h",
                         "create the directory first"));
    fs::create_directory(dir / "no");
    EXPECT_TRUE(heap::open(dir / "no/h", small_heap()).is_open());
}

TEST(exists, create_refuses_and_leaves_the_heap_alone) {
    temp_dir dir;
    make_heap(dir / "h");
    EXPECT_TRUE(is_error(error_of([&] { heap::create(dir / "h", small_heap()); }), errc::exists, dir / "h",
                         "choose another name"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(in_use, by_this_process) {
    temp_dir dir;
    make_heap(dir / "h");
    heap h = heap::open(dir / "h", small_heap());
    auto got = error_of_opening(dir / "h");
    EXPECT_TRUE(is_error(got, errc::in_use, dir / "h", "Close it there first"));
    EXPECT_TRUE(is_error(error_of_opening(dir / "h", [](heap_options& o) { o.read_only = true; }), errc::in_use,
                         dir / "h", "Close it there first"));
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(in_use, readers_share_it_and_exclude_writers) {
    temp_dir dir;
    make_heap(dir / "h");
    heap_options reading = small_heap();
    reading.read_only = true;
    heap h = heap::open(dir / "h", reading);
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::in_use, dir / "h", "Close it there first"));
    EXPECT_EQ(
        in_child([&]() -> std::string { // a child has no memory of the parent's to collide with, once it gave it up
            {
                heap given_up = std::move(h);
            }
            heap other = heap::open(dir / "h", reading);
            return has_contents(other) ? "read" : "wrong";
        }),
        "read");
    EXPECT_TRUE(has_contents(h));
}

// Not a test of its own: the other process of the next one.
TEST(in_use, other_process) {
    const char* path = std::getenv("REMANENCE_TEST_HEAP");
    if (path == nullptr)
        GTEST_SKIP() << "runs as the second process of by_another_process";
    EXPECT_TRUE(is_error(error_of_opening(path), errc::in_use, path, "another process"));
}

TEST(in_use, by_another_process) {
    temp_dir dir;
    make_heap(dir / "h");
    heap h = heap::open(dir / "h", small_heap());
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("REMANENCE_TEST_HEAP", (dir / "h").c_str(), 1);
        ::execl("/proc/self/exe", "unit_api", "--gtest_filter=in_use.other_process", "--gtest_brief=1", nullptr);
        ::_exit(1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(closed, every_member_of_a_closed_or_moved_from_handle_says_so) {
    temp_dir dir;
    heap moved = heap::create(dir / "h", small_heap());
    heap target = std::move(moved);
    put_contents(target);
    heap closed = heap::create(dir / "closed", small_heap());
    closed.close();
    for (heap* h : {&moved, &closed}) {
        EXPECT_FALSE(h->is_open());
        for (auto&& use : std::initializer_list<std::function<void()>>{[&] { h->commit(); },
                                                                       [&] { h->rollback(); },
                                                                       [&] { h->checkpoint(); },
                                                                       [&] { h->close(); },
                                                                       [&] { h->write([] {}); },
                                                                       [&] { h->read([] {}); },
                                                                       [&] { h->lock(); },
                                                                       [&] { (void)h->try_lock(); },
                                                                       [&] { h->lock_shared(); },
                                                                       [&] { (void)h->try_lock_shared(); },
                                                                       [&] { h->root<int>("x"); },
                                                                       [&] { (void)h->find_root<int>("x"); },
                                                                       [&] { h->remove_root<int>("x"); },
                                                                       [&] { (void)h->roots(); },
                                                                       [&] { (void)h->make<int>(); },
                                                                       [&] { (void)h->get_allocator(); },
                                                                       [&] { (void)h->version(); },
                                                                       [&] { (void)h->stats(); },
                                                                       [&] { (void)h->verify(); },
                                                                       [&] { (void)h->path(); },
                                                                       [&] { (void)h->base(); },
                                                                       [&] { h->touch(h, 1); }}) {
            auto got = error_of(use);
            ASSERT_TRUE(got);
            EXPECT_EQ(got->code, errc::closed);
            EXPECT_NE(got->what.find("Open it again"), std::string::npos);
        }
        h->unlock(); // never throw
        h->unlock_shared();
    }
    EXPECT_EQ(heap_of(target.base()), &target);
    EXPECT_TRUE(has_contents(target));
}

TEST(closed, allocating_in_a_closed_heap) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto where = h.get_allocator<int>();
    h.close();
    EXPECT_EQ(error_of([&] { (void)where.allocate(1); })->code, errc::closed);
}

TEST(exhausted, the_heap_stays_usable) {
    temp_dir dir;
    heap_options options{.reserve_bytes = 4 * MiB};
    heap h = heap::create(dir / "h", options);
    void* behind = static_cast<std::byte*>(h.base()) + 4 * MiB;
    ASSERT_EQ(::mmap(behind, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), behind);
    put_contents(h);
    auto& list = h.root<names>("many");
    std::uint64_t count = 0;
    std::optional<caught> got;
    while (!got) {
        got = error_of([&] {
            list["a string that is too long for the small string buffer " + string(std::to_string(count).c_str())] =
                count;
        });
        if (!got)
            ++count;
    }
    EXPECT_TRUE(is_error(got, errc::exhausted, dir / "h", "reserve_bytes"));
    EXPECT_GT(count, 10000U);
    EXPECT_EQ(list.size(), count);
    h.commit();
    EXPECT_TRUE(has_contents(h));
    list.erase(list.begin());
    list["a string that is too long for the small string buffer, once more"] = 1;
    h.commit();
    h.close();
    ::munmap(behind, 4096);
    h = heap::open(dir / "h", options);
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(h.find_root<names>("many")->size(), count);
    auto& same = h.root<names>("many");
    for (int i = 0; i < 50000; ++i)
        same[string(std::to_string(i).c_str())] = 1; // it grows on, now that there is room
    h.commit();
}

TEST(exhausted, a_request_that_no_heap_can_hold_names_the_heap) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    try {
        static_cast<void>(h.get_allocator().allocate(std::size_t{1} << 50));
        FAIL() << "there is no such memory";
    } catch (const heap_exhausted& why) {
        EXPECT_NE(std::string_view(why.what()).find((dir / "h").string()), std::string_view::npos) << why.what();
        EXPECT_NE(std::string_view(why.what()).find("split the data"), std::string_view::npos) << why.what();
    }
    put_contents(h);
    EXPECT_TRUE(has_contents(h));
}

TEST(exhausted, the_heap_grows_up_to_what_is_in_the_way) {
    temp_dir dir;
    heap h = heap::create(dir / "h", {.reserve_bytes = 4 * MiB});
    void* behind = static_cast<std::byte*>(h.base()) + 40 * MiB;
    ASSERT_EQ(::mmap(behind, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), behind);
    auto where = h.get_allocator<>();
    std::uint64_t got = 0;
    while (!error_of([&] { (void)where.allocate(256 * KiB); }))
        got += 256 * KiB;
    EXPECT_GT(got, 36 * MiB);
    h.rollback();
    put_contents(h);
    EXPECT_TRUE(has_contents(h));
    h.close();
    ::munmap(behind, 4096);
}

TEST(exhausted, nothing_behind_the_reservation_is_touched_whatever_the_chunk_size) {
    temp_dir dir;
    constexpr std::uint64_t k_reserve = 5 * MiB; // ends within the second chunk
    heap h = heap::create(dir / "h", {.reserve_bytes = k_reserve, .chunk_bytes = 4 * MiB, .log_limit_bytes = 1});
    auto* behind = static_cast<std::byte*>(h.base()) + align_up(k_reserve, 4 * MiB);
    std::byte* in_the_way = nullptr;
    for (std::byte* at = static_cast<std::byte*>(h.base()) + k_reserve; at <= behind && in_the_way == nullptr;
         at += MiB) {
        void* got = ::mmap(at, MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == at)
            in_the_way = at;
    }
    ASSERT_NE(in_the_way, nullptr);
    std::memset(in_the_way, 7, MiB);
    std::vector<std::byte*> blocks;
    auto where = h.get_allocator<>();
    while (!error_of([&] { blocks.push_back(where.allocate(64 * KiB)); }))
        std::memset(blocks.back(), 1, 64 * KiB);
    h.commit();
    h.commit();
    EXPECT_EQ(std::count(in_the_way, in_the_way + MiB, std::byte{7}), static_cast<std::ptrdiff_t>(MiB));
    h.close();
    ::munmap(in_the_way, MiB);
}

TEST(read_only, every_change_is_refused) {
    temp_dir dir;
    make_heap(dir / "h");
    const auto before = read_file(dir / "h");
    {
        heap_options options = small_heap();
        options.read_only = true;
        heap h = heap::open(dir / "h", options);
        EXPECT_TRUE(has_contents(h));
        for (auto&& change : std::initializer_list<std::function<void()>>{
                 [&] { h.commit(); }, [&] { h.checkpoint(); }, [&] { h.root<int>("new"); },
                 [&] { h.remove_root<numbers>("numbers"); }, [&] { (void)h.make<int>(); },
                 [&] { h.write([&] { h.find_root<numbers>("numbers")->front() = 1; }); }}) {
            EXPECT_TRUE(is_error(error_of(change), errc::read_only, dir / "h", "Open it for writing"));
        }
        EXPECT_TRUE(has_contents(h));
        h.close();
    }
    EXPECT_EQ(read_file(dir / "h"), before);
}

TEST(recovery_needed, a_crashed_heap_is_not_opened_read_only) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    auto got = error_of_opening(dir / "h", [](heap_options& o) { o.read_only = true; });
    EXPECT_TRUE(is_error(got, errc::recovery_needed, dir / "h", "Open it for writing once"));
    EXPECT_TRUE(file_has_contents(dir / "h"));
    heap_options options = small_heap();
    options.read_only = true;
    heap h = heap::open(dir / "h", options);
    EXPECT_TRUE(has_contents(h));
}

TEST(not_supported, what_later_releases_bring) {
    temp_dir dir;
    EXPECT_EQ(error_of([&] { heap::open(dir / "h", {.access = sharing::processes}); })->code, errc::not_supported);
    EXPECT_EQ(error_of([&] { heap::open(dir / "h", {.commits = durability::lazy}); })->code, errc::not_supported);
    EXPECT_EQ(error_of([&] { heap::open(dir / "h", {.commits = durability::none}); })->code, errc::not_supported);
    EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(invalid_argument, options_out_of_range_leave_no_file) {
    temp_dir dir;
    for (const heap_options& options : std::initializer_list<heap_options>{{.chunk_bytes = 100000},
                                                                           {.chunk_bytes = 32 * KiB},
                                                                           {.chunk_bytes = 8 * MiB},
                                                                           {.base = 4096},
                                                                           {.base = std::uintptr_t{1} << 47},
                                                                           {.reserve_bytes = std::uint64_t{1} << 46},
                                                                           {.reserve_bytes = ~std::uint64_t{0}}}) {
        EXPECT_EQ(error_of([&] { heap::open(dir / "h", options); })->code, errc::invalid_argument);
    }
    EXPECT_TRUE(fs::is_empty(dir.path()));
    heap h = heap::open(dir / "h", small_heap());
    int outside = 0;
    EXPECT_TRUE(is_error(error_of([&] { h.touch(&outside, sizeof outside); }), errc::invalid_argument, dir / "h",
                         "does not lie in"));
    h.touch(h.base(), 4096);
    h.touch(&outside, 0);
}

TEST(unnameable_type, of_a_root) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    struct local {
        int x;
    };
    auto got = error_of([&] { h.root<local>("x"); });
    EXPECT_TRUE(is_error(got, errc::unnameable_type, dir / "h", "Declare it in a named namespace"));
    EXPECT_TRUE(h.roots().empty());
}

// A relative name means what it meant when the heap was opened: the log must not land in another directory.
TEST(path, a_change_of_directory_does_not_part_the_heap_from_its_log) {
    temp_dir dir;
    const fs::path start = fs::current_path();
    fs::create_directory(dir / "elsewhere");
    fs::current_path(dir.path());
    {
        heap h = heap::open("h", small_heap());
        EXPECT_EQ(h.path(), "h");
        fs::current_path(dir / "elsewhere");
        put_contents(h);
        EXPECT_TRUE(fs::exists(log_of(dir / "h")));
        h.close();
    }
    EXPECT_TRUE(fs::is_empty(dir / "elsewhere"));
    fs::current_path(start);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(in_use, by_a_second_read_only_handle_of_the_same_process) {
    temp_dir dir;
    heap::create(dir / "h", small_heap()).close();
    heap_options reading;
    reading.read_only = true;
    heap first = heap::open_existing(dir / "h", reading);
    try {
        heap second = heap::open_existing(dir / "h", reading);
        FAIL() << "it opened";
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::in_use) << e.what();
    }
}

TEST(path, a_heap_opened_through_a_link_has_its_log_beside_the_heap_itself) {
    temp_dir dir;
    heap::create(dir / "h", small_heap()).close();
    fs::create_directory(dir / "links");
    fs::create_symlink(dir / "h", dir / "links" / "l");
    heap h = heap::open(dir / "links" / "l");
    put_contents(h);
    EXPECT_TRUE(fs::exists(log_of(dir / "h")));
    EXPECT_FALSE(fs::exists(log_of(dir / "links" / "l")));
}

TEST(error_codes, each_has_a_sentence_of_its_own_and_its_documented_number) {
    std::vector<std::string> seen;
    for (int value = 1; value <= static_cast<int>(errc::rolled_back); ++value) {
        std::error_code code = static_cast<errc>(value);
        EXPECT_EQ(code.value(), value);
        EXPECT_EQ(std::string(code.category().name()), "remanence");
        EXPECT_NE(code.message(), "unknown error") << value;
        EXPECT_EQ(std::count(seen.begin(), seen.end(), code.message()), 0) << code.message();
        seen.push_back(code.message());
    }
    EXPECT_EQ(make_error_code(static_cast<errc>(99)).message(), "unknown error");
}

} // namespace
} // namespace remanence::test
