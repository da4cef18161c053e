// A disk that is really full, a device that really fails, and a file system that is really read-only: small ext4
// images, mounted through a loop device. Needs the right to mount; where that is missing the tests are skipped, and say
// so.

#include "unit/api/fixture.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdlib>

namespace remanence::test {
namespace {

class small_disk : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "mounting a file system needs root";
        ASSERT_EQ(run("truncate -s 48M '" + image() + "' && mkfs.ext4 -q -m 0 -O ^has_journal '" + image() +
                      "' > /dev/null 2>&1"),
                  0);
        fs::create_directory(disk_);
        if (run("mount -o loop '" + image() + "' '" + disk_.string() + "' 2> /dev/null") != 0) {
            GTEST_SKIP() << "this machine or container does not let us mount a loop device";
        }
        mounted_ = true;
    }
    void TearDown() override {
        if (mounted_) {
            EXPECT_EQ(run("umount '" + disk_.string() + "'"), 0);
        }
    }

    static int run(const std::string& command) {
        return std::system(command.c_str());
    } // NOLINT(cert-env33-c,bugprone-command-processor)
    [[nodiscard]] std::string image() const { return (dir_ / "image").string(); }
    [[nodiscard]] fs::path filler() const { return disk_ / "filler"; }
    [[nodiscard]] fs::path heap_path() const { return disk_ / "h"; }

    std::uint64_t free_bytes() const {
        struct statvfs info{};
        ::statvfs(disk_.c_str(), &info);
        return std::uint64_t{info.f_bavail} * info.f_frsize;
    }
    /// Leaves `bytes` free, or less.
    void fill(std::uint64_t leave) const {
        const int fd = ::open(filler().c_str(), O_WRONLY | O_CREAT, 0600);
        ASSERT_GE(fd, 0) << filler();
        for (std::uint64_t step = 4 * MiB; step >= 4 * KiB; step /= 2) {
            while (free_bytes() >= leave + step) {
                struct stat info{};
                ::fstat(fd, &info);
                if (::fallocate(fd, 0, info.st_size, static_cast<off_t>(step)) != 0)
                    break;
            }
        }
        ::close(fd);
    }
    void make_room() const { fs::remove(filler()); }

    temp_dir dir_;
    fs::path disk_ = dir_ / "disk";
    bool mounted_ = false;
};
class errors_on_full_disk : public small_disk {};
class read_only_disk : public small_disk {};

TEST_F(errors_on_full_disk, creating_leaves_nothing_behind) {
    fill(0);
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto got = error_of([&] { heap::open(heap_path(), small_heap()); });
        EXPECT_TRUE(is_error(got, errc::no_space, heap_path(), "Make room on the disk"));
        EXPECT_EQ(got->os_error, ENOSPC);
        EXPECT_FALSE(fs::exists(heap_path()) || fs::exists(new_of(heap_path())) || fs::exists(log_of(heap_path())));
    }
    make_room();
    make_heap(heap_path());
    EXPECT_TRUE(file_has_contents(heap_path()));
}

TEST_F(errors_on_full_disk, the_first_commit_may_be_repeated) {
    heap h = heap::open(heap_path(), small_heap());
    for (std::uint64_t leave : {0 * KiB, 16 * KiB, 64 * KiB}) { // too little for the pages, or for the log
        fill(leave);
        for (int attempt = 0; attempt < 2; ++attempt) {
            auto got = error_of([&] {
                if (attempt == 0) {
                    put_contents(h); // rolls back
                } else {
                    h.root<numbers>("numbers");
                }
            });
            EXPECT_TRUE(is_error(got, errc::no_space, heap_path(), "Make room on the disk")) << leave;
            EXPECT_TRUE(h.roots().empty());
            EXPECT_EQ(h.version(), 0U);
            EXPECT_FALSE(fs::exists(log_of(heap_path())));
        }
        make_room();
    }
    put_contents(h);
    h.close();
    EXPECT_TRUE(file_has_contents(heap_path()));
}

TEST_F(errors_on_full_disk, a_commit_keeps_memory_and_may_be_repeated) {
    make_heap(heap_path());
    heap h = heap::open(heap_path(), small_heap());
    auto& list = *h.find_root<numbers>("numbers");
    h.write([&] { list[5] = 1; });
    fill(0);
    list[5] = 26;
    numbers& big = *h.make<numbers>(MiB, 3U);
    for (int attempt = 0; attempt < 3; ++attempt) {
        auto got = error_of([&] { h.commit(); });
        EXPECT_TRUE(is_error(got, errc::no_space, heap_path(), "Make room on the disk"));
        EXPECT_EQ(list[5], 26U);
        EXPECT_EQ(std::count(big.begin(), big.end(), 3U), static_cast<std::ptrdiff_t>(MiB));
        big.push_back(3); // the heap is as usable as before
        big.pop_back();
    }
    make_room();
    list[5] = 25;
    h.commit();
    const void* where = &big;
    h.close();
    h = heap::open(heap_path(), small_heap());
    EXPECT_TRUE(has_contents(h));
    const auto& again = *static_cast<const numbers*>(where); // the base address stays
    EXPECT_EQ(std::count(again.begin(), again.end(), 3U), static_cast<std::ptrdiff_t>(MiB));
}

TEST_F(errors_on_full_disk, growing_fails_is_rolled_back_and_gives_the_space_back) {
    make_heap(heap_path());
    heap h = heap::open(heap_path(), small_heap());
    h.write([&] { h.root<std::uint64_t>("first"); });
    const std::uint64_t before = free_bytes();
    auto grow = [&](std::uint64_t bytes) {
        return error_of([&] { h.write([&] { h.root<numbers>("big").assign(bytes / 8, 1); }); });
    };
    EXPECT_TRUE(is_error(grow(60 * MiB), errc::no_space, heap_path(), "Make room on the disk"));
    EXPECT_EQ(h.find_root<numbers>("big"), nullptr);
    EXPECT_TRUE(has_contents(h));
    EXPECT_GT(free_bytes() + 2 * MiB, before);
    ASSERT_FALSE(grow(16 * MiB));
    EXPECT_TRUE(h.verify().clean());
    h.close();
    h = heap::open(heap_path(), small_heap());
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(h.find_root<numbers>("big")->size(), 2 * MiB);
}

/// So much of each page that the log takes it, and not another place in the file.
void change_parts(numbers& list, std::uint64_t value) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i % (4 * KiB / sizeof(value)) < 200)
            list[i] = value;
    }
}

TEST_F(errors_on_full_disk, a_log_that_cannot_grow) {
    make_heap(heap_path());
    heap h = heap::open(heap_path(), small_heap());
    h.write([&] { h.root<numbers>("big").assign(MiB, 1); });
    fill(0);
    auto& big = *h.find_root<numbers>("big");
    auto change = [&](std::uint64_t value) { return error_of([&] { h.write([&] { change_parts(big, value); }); }); };
    auto got = change(2); // 3 MiB for a log that has room for 1
    EXPECT_TRUE(is_error(got, errc::no_space, log_of(heap_path()), "Make room on the disk"));
    EXPECT_EQ(std::count(big.begin(), big.end(), 1U), static_cast<std::ptrdiff_t>(big.size()));
    h.write([&] { big[0] = 9; }); // a small one has room
    make_room();
    EXPECT_FALSE(change(3));
    h.close();
    h = heap::open(heap_path(), small_heap());
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(h.find_root<numbers>("big")->at(1), 3U);
}

// ext4 reserves as much as there is before it says that it is not enough.
TEST_F(errors_on_full_disk, what_was_reserved_in_vain_is_given_back) {
    make_heap(heap_path());
    heap h = heap::open(heap_path(), small_heap());
    auto& list = h.root<numbers>("big");
    h.write([&] { list.assign(MiB, 1); });
    fill(1 * MiB);
    const std::uint64_t before = free_bytes();
    const auto log_before = fs::file_size(log_of(heap_path()));
    ASSERT_GT(before, 800 * KiB);
    auto got = error_of([&] { h.write([&] { change_parts(list, 2); }); }); // a log of 4 MiB
    EXPECT_TRUE(is_error(got, errc::no_space, log_of(heap_path()), "Make room on the disk"));
    EXPECT_EQ(fs::file_size(log_of(heap_path())), log_before);
    EXPECT_GT(free_bytes() + 256 * KiB, before);
    got = error_of([&] { h.write([&] { list.assign(list.size(), 2); }); }); // written whole, to another place
    EXPECT_TRUE(is_error(got, errc::no_space, heap_path(), "Make room on the disk"));
    EXPECT_GT(free_bytes() + 256 * KiB, before);
    for (std::size_t bytes = 2 * MiB; bytes <= 16 * MiB; bytes *= 2) { // fresh chunks, behind all others
        got = error_of([&] { h.write([&] { h.root<numbers>("more").assign(bytes / 8, 3U); }); });
        EXPECT_TRUE(is_error(got, errc::no_space, heap_path(), "Make room on the disk"));
        EXPECT_GT(free_bytes() + 256 * KiB, before) << bytes;
    }
    make_room();
    h.close();
    EXPECT_TRUE(file_has_contents(heap_path()));
}

TEST_F(errors_on_full_disk, checkpoint_and_close_succeed_since_their_space_was_reserved) {
    make_heap(heap_path());
    heap h = heap::open(heap_path(), small_heap());
    auto& list = *h.find_root<numbers>("numbers");
    auto& big = h.root<numbers>("big");
    h.write([&] {
        big.assign(64 * KiB, 1);
        list[7] = 0;
    });
    h.write([&] { big[500] = 2; });
    fill(0);
    h.checkpoint();
    h.write([&] { list[7] = 1; });
    h.checkpoint();
    h.write([&] { list[7] = 49; });
    h.close();
    EXPECT_FALSE(fs::exists(log_of(heap_path())));
    EXPECT_TRUE(file_has_contents(heap_path()));
    EXPECT_LT(free_bytes(), 2 * MiB); // it is still full: but for the log's space
}

// A copy has holes where nothing was written yet, for which no space is reserved on this disk.
TEST_F(errors_on_full_disk, checkpoint_of_a_copied_heap_succeeds_too) {
    make_heap(dir_ / "original");
    ASSERT_EQ(run("cp --sparse=always '" + (dir_ / "original").string() + "' '" + heap_path().string() + "'"), 0);
    heap h = heap::open(heap_path(), small_heap());
    auto& list = *h.find_root<numbers>("numbers");
    for (int round = 0; round < 3; ++round) {
        h.write([&] { list[7] = 1; });
        if (round == 0)
            fill(0);
        h.checkpoint();
        h.write([&] { list[7] = 49; });
        h.checkpoint();
    }
    h.close();
    EXPECT_TRUE(file_has_contents(heap_path()));
}

TEST_F(errors_on_full_disk, recovery_needs_no_space) {
    make_crashed_heap(heap_path(), 4);
    fill(0);
    EXPECT_TRUE(file_has_contents(heap_path()));
}

class commit_at_close_on_full_disk : public small_disk {
protected:
    /// An open heap with a commit of its own behind it, and changes that need more room than the disk has.
    heap changed_heap() const {
        make_heap(heap_path());
        heap_options options = small_heap();
        options.commit_at_close = true;
        heap h = heap::open(heap_path(), options);
        h.write([&] { h.root<std::uint64_t>("earlier") = 7; });
        fill(0);
        *h.find_root<std::uint64_t>("earlier") = 8;
        h.find_root<numbers>("numbers")->resize(k_numbers);
        return h;
    }
    /// What is there after all: the contents and the earlier commit, without a trace of the changes.
    testing::AssertionResult file_has_earlier_commit() const {
        heap h = heap::open_existing(heap_path(), small_heap());
        if (*h.find_root<std::uint64_t>("earlier") != 7)
            return testing::AssertionFailure() << *h.find_root<std::uint64_t>("earlier");
        return has_contents(h);
    }
    static constexpr std::size_t k_numbers = MiB;
};

TEST_F(commit_at_close_on_full_disk, close_reports_stays_open_and_may_be_repeated) {
    heap h = changed_heap();
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto got = error_of([&] { h.close(); });
        EXPECT_TRUE(is_error(got, errc::no_space, heap_path(), "Make room on the disk"));
        EXPECT_EQ(got->os_error, ENOSPC);
        ASSERT_TRUE(h.is_open());
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), k_numbers);
    }
    make_room();
    h.close();
    h = heap::open(heap_path(), small_heap());
    EXPECT_EQ(h.find_root<numbers>("numbers")->size(), k_numbers);
    EXPECT_EQ(*h.find_root<std::uint64_t>("earlier"), 8U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(commit_at_close_on_full_disk, after_close_has_reported_a_rollback_closes_as_of_the_last_commit) {
    heap h = changed_heap();
    EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::no_space, heap_path(), "Make room on the disk"));
    h.rollback();
    h.close();
    EXPECT_TRUE(file_has_earlier_commit());
}

// A destructor that threw would end the program.
TEST_F(commit_at_close_on_full_disk, the_destructor_gives_up_the_changes_and_nothing_committed_earlier) {
    {
        const heap h = changed_heap();
    }
    EXPECT_FALSE(fs::exists(log_of(heap_path()))); // it has closed the heap cleanly
    EXPECT_TRUE(file_has_earlier_commit());
}

TEST_F(commit_at_close_on_full_disk, so_does_a_handle_that_another_heap_is_assigned_to) {
    heap h = changed_heap();
    h = heap::create(dir_ / "elsewhere", small_heap());
    EXPECT_TRUE(file_has_earlier_commit());
}

TEST_F(commit_at_close_on_full_disk, the_destructor_commits_what_there_is_room_for) {
    {
        heap h = changed_heap();
        make_room();
    }
    heap h = heap::open_existing(heap_path(), small_heap());
    EXPECT_EQ(*h.find_root<std::uint64_t>("earlier"), 8U);
    EXPECT_EQ(h.find_root<numbers>("numbers")->size(), k_numbers);
}

/// The loop device may not write to an image that was made immutable, so every write to the disk is an I/O error.
class failing_device : public small_disk {
protected:
    void TearDown() override {
        let_it_work();
        small_disk::TearDown();
    }
    [[nodiscard]] bool make_it_fail() const { return run("chattr +i '" + image() + "' 2> /dev/null") == 0; }
    void let_it_work() const { run("chattr -i '" + image() + "' 2> /dev/null"); }
};

TEST_F(failing_device, poisons_the_heap_which_stays_readable_and_is_as_of_its_last_commit_when_opened_again) {
    make_heap(heap_path());
    heap h = heap::open(heap_path(), small_heap());
    auto& list = *h.find_root<numbers>("numbers");
    h.write([&] { h.root<std::uint64_t>("earlier") = 7; });
    if (!make_it_fail())
        GTEST_SKIP() << "a file in " << dir_.path() << " cannot be made immutable";
    auto got = error_of([&] { h.write([&] { list[5] = 1; }); });
    EXPECT_TRUE(is_error(got, errc::io, heap_path(), "Close the heap and open it again"));
    EXPECT_EQ(got->os_error, EIO);
    let_it_work(); // too late: what became of the first attempt is unknown
    for (const auto& change : std::initializer_list<std::function<void()>>{
             [&] { h.write([&] { list[5] = 2; }); }, [&] { h.commit(); }, [&] { h.checkpoint(); }}) {
        EXPECT_TRUE(is_error(error_of(change), errc::poisoned, heap_path(), "Close it and open it again"));
    }
    EXPECT_EQ(list[6], 36U);
    EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::poisoned, heap_path(), "Close it and open it again"));
    EXPECT_FALSE(h.is_open());

    h = heap::open(heap_path(), small_heap());
    auto& again = *h.find_root<numbers>("numbers");
    EXPECT_EQ(*h.find_root<std::uint64_t>("earlier"), 7U);
    EXPECT_TRUE(again[5] == 25 || again[5] == 1) << again[5]; // the commit in flight, as a whole, or the one before
    h.write([&] { again[5] = 25; });
    h.close();
    EXPECT_TRUE(file_has_contents(heap_path()));
}

TEST_F(read_only_disk, is_read_and_refuses_to_be_written) {
    make_heap(heap_path());
    ASSERT_EQ(run("mount -o remount,ro '" + disk_.string() + "'"), 0);
    EXPECT_TRUE(is_error(error_of_opening(heap_path()), errc::read_only_file_system, heap_path(),
                         "mount the file system writable"));
    EXPECT_TRUE(is_error(error_of([&] { heap::create(disk_ / "new", small_heap()); }), errc::read_only_file_system,
                         disk_ / "new", "mount the file system writable"));
    {
        heap_options options = small_heap();
        options.read_only = true;
        heap h = heap::open(heap_path(), options);
        EXPECT_TRUE(has_contents(h));
        h.close();
    }
    ASSERT_EQ(run("mount -o remount,rw '" + disk_.string() + "'"), 0);
    EXPECT_TRUE(file_has_contents(heap_path()));
}

} // namespace
} // namespace remanence::test
