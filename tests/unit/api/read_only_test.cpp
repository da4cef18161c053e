// Opening without writing: what it shows, that it leaves nothing behind, and who may do it beside whom.

#include "support/seed.hpp"
#include "unit/api/changing_calls.hpp"
#include "unit/api/fixture.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <map>
#include <random>

namespace remanence::test {
namespace {

heap_options read_only_heap() {
    heap_options options = small_heap();
    options.read_only = true;
    return options;
}

std::map<std::string, std::vector<char>> contents_of(const fs::path& directory) {
    std::map<std::string, std::vector<char>> all;
    for (const auto& entry : fs::directory_iterator(directory))
        all[entry.path().filename().string()] = read_file(entry.path());
    return all;
}

/// When each file was accessed, modified and changed.
std::map<std::string, std::array<std::int64_t, 6>> times_of(const fs::path& directory) {
    std::map<std::string, std::array<std::int64_t, 6>> all;
    for (const auto& entry : fs::directory_iterator(directory)) {
        struct stat info{};
        EXPECT_EQ(::stat(entry.path().c_str(), &info), 0);
        all[entry.path().filename().string()] = {info.st_atim.tv_sec,  info.st_atim.tv_nsec, info.st_mtim.tv_sec,
                                                 info.st_mtim.tv_nsec, info.st_ctim.tv_sec,  info.st_ctim.tv_nsec};
    }
    return all;
}

/// As if nobody had looked for long: else the system would not note that somebody does.
void forget_accesses(const fs::path& directory) {
    const timespec times[] = {{.tv_sec = 1'000'000'000, .tv_nsec = 0}, {.tv_sec = 1'500'000'000, .tv_nsec = 0}};
    for (const auto& entry : fs::directory_iterator(directory))
        EXPECT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
}

using lists = map<std::uint64_t, numbers>;

/// A heap as a killed process leaves it, after commits of all kinds on either side of a checkpoint: new memory, memory
/// written anew as a whole, memory given back, small changes. Returns how many numbers each list has.
std::map<std::uint64_t, std::size_t> make_varied_crashed_heap(const fs::path& path, unsigned seed) {
    std::mt19937 random(test::seed_or(seed));
    const fs::path running = path.string() + ".running";
    std::map<std::uint64_t, std::size_t> sizes;
    {
        heap h = heap::create(
            running, {.commits = durability::lazy, .memory = {.reserve_bytes = 256 * MiB, .chunk_bytes = 64 * KiB}});
        auto& all = h.root<lists>("lists");
        for (int i = 0; i < 24; ++i) {
            const std::uint64_t key = random() % 6;
            const std::size_t size = random() % 3 == 0 ? random() % 60'000 : random() % 100;
            h.write([&] {
                all.erase(key);
                all[key].assign(size, key * 1000 + size);
            });
            sizes[key] = size;
            if (i % 16 == 10)
                h.checkpoint();
        }
        fs::copy_file(running, path);
        fs::copy_file(log_of(running), log_of(path));
    }
    fs::remove(running);
    return sizes;
}

testing::AssertionResult has_lists(heap& h, const std::map<std::uint64_t, std::size_t>& sizes) {
    const lists* const all = h.find_root<lists>("lists");
    if (all == nullptr || all->size() != sizes.size())
        return testing::AssertionFailure() << "not all of the lists";
    for (const auto& [key, size] : sizes) {
        const numbers& one = all->at(key);
        if (one.size() != size || std::ranges::any_of(one, [&](auto value) { return value != key * 1000 + size; }))
            return testing::AssertionFailure() << "list " << key << " is not what was committed";
    }
    return testing::AssertionSuccess();
}

TEST(read_only_opening, of_a_crashed_heap_shows_its_last_commit_and_changes_nothing) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        temp_dir dir;
        const auto sizes = make_varied_crashed_heap(dir / "h", seed);
        const auto bytes = contents_of(dir.path());
        forget_accesses(dir.path());
        const auto times = times_of(dir.path());
        {
            heap h = heap::open_existing(dir / "h", read_only_heap());
            EXPECT_TRUE(has_lists(h, sizes));
            EXPECT_GT(h.stats().recovered_commits, 0U);
            EXPECT_EQ(h.stats().written_bytes, 0U);
            EXPECT_TRUE(h.verify().clean());
            h.close();
        }
        EXPECT_EQ(times_of(dir.path()), times);
        EXPECT_EQ(contents_of(dir.path()), bytes);
        heap h = heap::open_existing(dir / "h", small_heap()); // and is recovered as ever
        EXPECT_TRUE(has_lists(h, sizes));
        h.close();
    }
}

TEST(read_only_opening_no_sanitizer, of_a_crashed_heap_refuses_changes) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    heap h = heap::open_existing(dir / "h", read_only_heap());
    EXPECT_TRUE(has_contents(h));
    EXPECT_TRUE(is_error(error_of([&] { h.write([] {}); }), errc::read_only, dir / "h", "Open it for writing"));
    h.close();
    EXPECT_EQ(in_child([&] {
                  heap mine = heap::open_existing(dir / "h", read_only_heap());
                  ::prctl(PR_SET_DUMPABLE, 0);
                  const int quiet = ::open("/dev/null", O_WRONLY);
                  ::dup2(quiet, 2);
                  mine.find_root<numbers>("numbers")->front() = 1;
                  return std::string("was written");
              }),
              "killed by signal 11");
}

TEST(read_only_opening, refuses_each_call_that_would_change_something) {
    temp_dir dir;
    heap_options kept = small_heap();
    kept.history = {.steps_max = 10, .kept_over_sessions = true};
    {
        heap h = heap::create(dir / "kept", kept);
        put_contents(h);
        h.commit();
        h.keep("old");
        h.write([&] { h.find_root<numbers>("numbers")->push_back(1); });
        h.close();
    }
    make_heap(dir / "closed");
    make_crashed_heap(dir / "crashed");
    heap_options old = read_only_heap();
    old.kept_version = "old";
    for (auto [name, options] : {std::pair("closed", read_only_heap()), std::pair("crashed", read_only_heap()),
                                 std::pair("kept", read_only_heap()), std::pair("kept", old)}) {
        SCOPED_TRACE(name + std::string(" ") + options.kept_version);
        options.procedures.add("nothing", [](heap&, std::span<const std::byte>) {}, {});
        heap h = heap::open_existing(dir / name, options);
        for (const changing_call& each : changing_calls<numbers>(h, "numbers"))
            EXPECT_TRUE(is_error(error_of(each.call), errc::read_only, dir / name, "Open it for writing")) << each.name;
        EXPECT_TRUE(h.verify().clean());
        h.close();
    }
}

TEST(read_only_opening, takes_its_pages_from_the_file_so_that_processes_share_them) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    const heap h = heap::open_existing(dir / "h", read_only_heap());
    std::ifstream maps("/proc/self/maps");
    bool is_mapped = false;
    for (std::string line; std::getline(maps, line);)
        is_mapped |= line.find(" r--p ") != std::string::npos && line.ends_with((dir / "h").string());
    EXPECT_TRUE(is_mapped);
}

TEST(read_only_opening, of_one_crashed_heap_succeeds_in_many_processes_at_once) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    constexpr int k_processes = 6;
    int opened[2];
    int let_go[2];
    ASSERT_EQ(::pipe(opened), 0);
    ASSERT_EQ(::pipe(let_go), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < k_processes; ++i) {
        children.push_back(::fork());
        if (children.back() != 0)
            continue;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(let_go[1]);
        char told = 'n';
        try {
            heap h = heap::open_existing(dir / "h", read_only_heap());
            told = has_contents(h) ? 'y' : 'n';
            (void)!::write(opened[1], &told, 1);
            (void)!::read(let_go[0], &told, 1); // until all have it open
        } catch (const std::exception&) {
            (void)!::write(opened[1], &told, 1);
        }
        ::_exit(0);
    }
    for (int i = 0; i < k_processes; ++i) {
        char told = 0;
        ASSERT_EQ(::read(opened[0], &told, 1), 1);
        EXPECT_EQ(told, 'y');
    }
    EXPECT_TRUE(is_error(error_of_opening(dir / "h"), errc::in_use, dir / "h", "Close it there"));
    ::close(let_go[1]);
    for (const pid_t child : children)
        ::waitpid(child, nullptr, 0);
    for (const int each : {opened[0], opened[1], let_go[0]})
        ::close(each);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(read_only_opening, beside_a_writer_is_refused_both_ways) {
    temp_dir dir;
    make_heap(dir / "h");
    {
        const heap writer = heap::open_existing(dir / "h", small_heap());
        EXPECT_EQ(in_child([&] {
                      const auto got = error_of([&] { heap::open_existing(dir / "h", read_only_heap()); });
                      return got && got->code == errc::in_use ? "in use" : "opened";
                  }),
                  "in use");
    }
    const heap reader = heap::open_existing(dir / "h", read_only_heap());
    EXPECT_EQ(in_child([&] {
                  const auto got = error_of([&] { heap::open_existing(dir / "h", small_heap()); });
                  return got && got->code == errc::in_use ? "in use" : "opened";
              }),
              "in use");
}

/// Has the contents of a crashed heap, to a user who may read it and nothing else.
std::string read_by_another_user(const fs::path& heap_file) {
    return in_child([&]() -> std::string {
        if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)
            return "cannot change the user";
        ::prctl(PR_SET_DUMPABLE, 1);
        if (::access(heap_file.c_str(), W_OK) == 0)
            return "may write";
        heap h = heap::open_existing(heap_file, read_only_heap());
        return has_contents(h) ? "read" : "wrong";
    });
}

TEST(read_only_opening, needs_no_more_than_permission_to_read) {
    if (::getuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::permissions(dir / "h", fs::perms(0444));
    fs::permissions(log_of(dir / "h"), fs::perms(0444));
    fs::permissions(dir.path(), fs::perms(0555));
    EXPECT_EQ(read_by_another_user(dir / "h"), "read");
    fs::permissions(log_of(dir / "h"), fs::perms(0400)); // then the last commits are out of his reach
    EXPECT_TRUE(read_by_another_user(dir / "h").find("Permission denied") != std::string::npos);
}

TEST(read_only_opening, works_on_a_read_only_file_system) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    const std::string told = in_child([&]() -> std::string {
        const char* const place = dir.path().c_str();
        if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount(place, place, nullptr, MS_BIND, nullptr) != 0 ||
            ::mount(nullptr, place, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0)
            return "cannot mount";
        if (error_of_opening(dir / "h")->code != errc::read_only_file_system)
            return "it can be written";
        heap h = heap::open_existing(dir / "h", read_only_heap());
        return has_contents(h) ? "read" : "wrong";
    });
    if (told == "cannot mount")
        GTEST_SKIP() << "needs the privilege to mount";
    EXPECT_EQ(told, "read");
}

TEST(read_only_opening, of_a_crashed_heap_that_only_a_newer_release_can_recover_says_so) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    edit_superblock(dir / "h", [](auto& s) { s.features_ro_compat = format::k_feature_versions; });
    const auto before = read_file(dir / "h");
    EXPECT_TRUE(is_error(error_of([&] { heap::open_existing(dir / "h", read_only_heap()); }), errc::recovery_needed,
                         dir / "h", "with a newer release"));
    EXPECT_EQ(read_file(dir / "h"), before);
}

TEST(read_only_opening, of_a_crashed_heap_without_its_log_is_refused_as_ever) {
    temp_dir dir;
    make_crashed_heap(dir / "h");
    fs::remove(log_of(dir / "h"));
    EXPECT_TRUE(is_error(error_of([&] { heap::open_existing(dir / "h", read_only_heap()); }), errc::log_missing,
                         dir / "h", "Put the log back"));
}

} // namespace
} // namespace remanence::test
