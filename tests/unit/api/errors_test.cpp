// Every error that docs/errors.md lists and that opening can meet, provoked for real through the public API: its code,
// the file and the advice in its text, path and offset; and that nothing committed is lost by it. What is wrong with the
// contents of the files is in errors_of_files_test.cpp, disk full and read-only file systems are in
// tests/process/errors_on_full_disk_test.cpp, sections in sections_test.cpp.
#include "unit/api/fixture.hpp"

#include "os/memory.hpp"

#include <sys/resource.h>

#include <cstdlib>
#include <numeric>

namespace remanence::test {
namespace {

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
    options.memory.base = reinterpret_cast<std::uintptr_t>(h.base());
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
            return told(
                [&] { heap::open(dir / "h", {.read_only = read_only, .memory = {.reserve_bytes = 64 * MiB}}); });
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
                         "that its directory is there"));
    EXPECT_TRUE(is_error(error_of([&] { heap::create(dir / "no/h", small_heap()); }), errc::not_found, dir / "no/h",
                         "that its directory is there"));
    write_file(dir / "file", "x");
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "file/h", small_heap()); }), errc::not_found, dir / "file/h",
                         "that its directory is there"));
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
    EXPECT_TRUE(
        is_error(got, errc::in_use, dir / "h", "another handle of this process holds its lock. Close it there first"));
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
    const std::string holder = "another process, " + std::to_string(::getppid()) + " (";
    EXPECT_TRUE(is_error(error_of_opening(path), errc::in_use, path, holder));
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
    for (heap* h : {&moved, &closed}) { // NOLINT(bugprone-use-after-move): what that does is tested
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
    heap_options options{.memory = {.reserve_bytes = 4 * MiB}};
    heap h = heap::create(dir / "h", options);
    void* behind = static_cast<std::byte*>(h.base()) + 4 * MiB;
    ASSERT_EQ(::mmap(behind, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), behind);
    put_contents(h);
    auto& list = h.root<names>("many");
    std::uint64_t count = 0;
    std::optional<caught> got;
    while (!got) {
        got = error_of([&] {
            list["a string that is too long for the small string buffer " + string(std::to_string(count))] = count;
        });
        if (!got)
            ++count;
    }
    EXPECT_TRUE(is_error(got, errc::exhausted, dir / "h", "reserve_bytes"));
    EXPECT_GT(count, 10000U);
    EXPECT_EQ(list.size(), count);
    h.commit();
    EXPECT_TRUE(has_contents(h));
    list.erase(std::prev(list.end())); // room for a node, and for a key of up to 64 bytes
    list["a string that is too long for the small string buffer, a new"] = 1;
    h.commit();
    h.close();
    ::munmap(behind, 4096);
    h = heap::open(dir / "h", options);
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(h.find_root<names>("many")->size(), count);
    auto& same = h.root<names>("many");
    for (int i = 0; i < 50000; ++i)
        same[string(std::to_string(i))] = 1; // it grows on, now that there is room
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
    heap h = heap::create(dir / "h", {.memory = {.reserve_bytes = 4 * MiB}});
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

// A session's first commit opens the log: where no file can be opened nothing was written yet, and it may be repeated.
// Sanitizers open files of their own.
TEST(no_space_no_sanitizer, a_commit_that_could_open_no_file_may_be_repeated) {
    temp_dir dir;
    make_heap(dir / "old");
    for (const char* name : {"new", "old"}) {
        heap h = heap::open(dir / name, small_heap());
        const auto change = [&] { h.root<std::uint64_t>("more") = 7; };
        rlimit before{};
        ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const rlimit none{0, before.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
        const auto got = error_of(change);
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_TRUE(is_error(got, errc::no_space, "", "raise the limit (ulimit -n)")) << name;
        change();
        h.commit();
        h.close();
        heap again = heap::open_existing(dir / name);
        ASSERT_NE(again.find_root<std::uint64_t>("more"), nullptr) << name;
        EXPECT_EQ(*again.find_root<std::uint64_t>("more"), 7U) << name;
    }
    EXPECT_TRUE(file_has_contents(dir / "old"));
}

TEST(exhausted, nothing_behind_the_reservation_is_touched_whatever_the_chunk_size) {
    temp_dir dir;
    constexpr std::uint64_t k_reserve = 5 * MiB; // ends within the second chunk
    heap h = heap::create(
        dir / "h", {.log = {.log_limit_bytes = 1}, .memory = {.reserve_bytes = k_reserve, .chunk_bytes = 4 * MiB}});
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
                 [&] { h.destroy(h.find_root<numbers>("numbers")); },
                 [&] { h.write([&] { h.find_root<numbers>("numbers")->front() = 1; }); }}) {
            EXPECT_TRUE(is_error(error_of(change), errc::read_only, dir / "h", "Open it for writing"));
        }
        EXPECT_TRUE(has_contents(h));
        h.close();
    }
    EXPECT_EQ(read_file(dir / "h"), before);
}

TEST(invalid_argument, options_out_of_range_leave_no_file) {
    temp_dir dir;
    for (const heap_options& options :
         std::initializer_list<heap_options>{{.memory = {.chunk_bytes = 100000}},
                                             {.memory = {.chunk_bytes = 32 * KiB}},
                                             {.memory = {.chunk_bytes = 8 * MiB}},
                                             {.memory = {.base = 4096}},
                                             {.memory = {.base = std::uintptr_t{1} << 47}},
                                             {.memory = {.reserve_bytes = std::uint64_t{1} << 46}},
                                             {.memory = {.reserve_bytes = ~std::uint64_t{0}}},
                                             {.sharing = {.mode = 04644}}}) {
        EXPECT_TRUE(
            is_error(error_of([&] { heap::open(dir / "h", options); }), errc::invalid_argument, dir / "h", "options."));
    }
    EXPECT_EQ(error_of([&] { heap::open(""); })->code, errc::invalid_argument);
    EXPECT_TRUE(fs::is_empty(dir.path()));
    heap h = heap::open(dir / "h", small_heap());
    int outside = 0;
    EXPECT_TRUE(is_error(error_of([&] { h.touch(&outside, sizeof outside); }), errc::invalid_argument, dir / "h",
                         "does not lie in"));
    // A size so large that the end of the range wraps around, as a negative one does.
    EXPECT_TRUE(is_error(error_of([&] { h.touch(static_cast<std::byte*>(h.base()) + 4096, std::size_t{0} - 8); }),
                         errc::invalid_argument, dir / "h", "does not lie in"));
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
    std::vector<int> values(static_cast<std::size_t>(errc::limit_reached));
    std::iota(values.begin(), values.end(), 1);
    values.push_back(static_cast<int>(errc::no_memory));
    for (const int value : values) {
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
