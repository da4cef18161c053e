#include "os/file.hpp"
#include "os/lock_holders.hpp"

#include "base/page_aligned.hpp"
#include "support/temp_dir.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

namespace remanence::os {
namespace {

using test::temp_dir;

class posix_file : public testing::Test {
protected:
    std::unique_ptr<file> open_or_create(const std::string& name) {
        auto opened = files_.open_or_create(path(name), 0644);
        EXPECT_TRUE(opened) << opened.why().message;
        return std::move(*opened);
    }
    [[nodiscard]] std::string path(const std::string& name) const { return dir_.path() / name; }
    static std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
        std::vector<std::byte> made(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            made[i] = static_cast<std::byte>((i * 31 + seed) & 0xff);
        return made;
    }
    static std::vector<std::byte> first_of(std::vector<std::byte> bytes, std::size_t count) {
        bytes.resize(count);
        return bytes;
    }
    static std::vector<std::byte> contents(file& f, std::uint64_t offset, std::size_t bytes) {
        std::vector<std::byte> into(bytes);
        auto done = f.read(offset, into);
        EXPECT_TRUE(done) << done.why().message;
        return into;
    }
    static std::uint64_t allocated(const std::string& path) {
        struct stat info{};
        ::stat(path.c_str(), &info);
        return static_cast<std::uint64_t>(info.st_blocks) * 512;
    }

    temp_dir dir_;
    file_system& files_ = posix_file_system();
};

TEST_F(posix_file, a_file_that_ends_early_is_truncated_with_its_end_as_offset) {
    auto f = open_or_create("f");
    ASSERT_TRUE(f->write("test", 10, pattern(90)));
    EXPECT_EQ(*f->size(), 100U);
    EXPECT_EQ(contents(*f, 10, 90), pattern(90));
    std::vector<std::byte> more(200);
    for (std::uint64_t from : {0U, 50U, 100U}) {
        auto read = f->read(from, more);
        ASSERT_FALSE(read);
        EXPECT_EQ(read.why().code, errc::truncated);
        EXPECT_EQ(read.why().offset, 100U);
        EXPECT_EQ(read.why().path, path("f"));
    }
    EXPECT_EQ(f->read(500, more).why().offset, 100U); // not the place of the read
}

TEST_F(posix_file, direct_writes_and_buffered_ones_see_each_other) {
    auto f = open_or_create("f");
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, 3UL * 4096));
    auto bytes = pattern(3UL * 4096);
    std::copy(bytes.begin(), bytes.end(), memory);
    ASSERT_TRUE(f->write("test", 0, pattern(4UL * 4096, 9)));
    ASSERT_TRUE(f->write_direct("test", 4096, {memory, 3UL * 4096}));
    EXPECT_EQ(contents(*f, 4096, 3UL * 4096), bytes);
    EXPECT_EQ(contents(*f, 0, 4096), first_of(pattern(4UL * 4096, 9), 4096));
    ASSERT_TRUE(f->write("test", 4096 + 100, pattern(50, 3)));
    ASSERT_TRUE(f->sync("test"));
    EXPECT_EQ(contents(*f, 4096 + 100, 50), pattern(50, 3));
    std::free(memory);
}

TEST_F(posix_file, durable_writes_and_buffered_ones_see_each_other) {
    auto f = open_or_create("f");
    const auto bytes = pattern(1024);
    const page_aligned_bytes aligned(bytes);
    ASSERT_TRUE(f->write("test", 0, pattern(4096, 9)));
    ASSERT_TRUE(f->write_durable("test", "test", 512, aligned));
    EXPECT_EQ(contents(*f, 512, 1024), bytes);
    EXPECT_EQ(contents(*f, 0, 512), first_of(pattern(4096, 9), 512));
    ASSERT_TRUE(f->write_durable("test", "test", 100, aligned)); // refused by O_DIRECT, so written and synced
    EXPECT_EQ(contents(*f, 100, 1024), bytes);
    ASSERT_TRUE(f->write_durable("test", "test", 8192, aligned)); // from then on
    EXPECT_EQ(contents(*f, 8192, 1024), bytes);
}

TEST_F(posix_file, says_where_nothing_was_ever_written) {
    auto f = open_or_create("f");
    ASSERT_TRUE(f->write("test", 0, pattern(4096)));
    ASSERT_TRUE(f->write("test", 1 << 20, pattern(4096)));
    EXPECT_FALSE(*f->is_hole({0, 4096}));
    EXPECT_TRUE(*f->is_hole({64 << 10, 64 << 10}));
    EXPECT_FALSE(*f->is_hole({64 << 10, 1 << 20}));
    EXPECT_TRUE(*f->is_hole({2 << 20, 4096}));                             // behind the end
    ASSERT_TRUE(f->write("test", 96 << 10, std::vector<std::byte>(4096))); // zeros are bytes, too
    EXPECT_FALSE(*f->is_hole({64 << 10, 64 << 10}));
}

TEST_F(posix_file, the_lock_belongs_to_the_open_file) {
    auto a = open_or_create("f");
    auto b = open_or_create("f");
    EXPECT_TRUE(*a->try_lock(lock_kind::exclusive));
    EXPECT_FALSE(*b->try_lock(lock_kind::exclusive));
    EXPECT_FALSE(*b->try_lock(lock_kind::shared));
    a = open_or_create("f"); // closes the one that had it
    EXPECT_TRUE(*b->try_lock(lock_kind::shared));
    EXPECT_TRUE(*a->try_lock(lock_kind::shared));
    EXPECT_FALSE(*a->try_lock(lock_kind::exclusive));
    b.reset(); // the destructor releases it
    EXPECT_TRUE(*a->try_lock(lock_kind::exclusive));
    a.reset();
    EXPECT_TRUE(*open_or_create("f")->try_lock(lock_kind::exclusive));
}

TEST_F(posix_file, who_asks_for_the_exclusive_lock_of_others_takes_none) {
    auto a = open_or_create("f");
    auto b = open_or_create("f");
    EXPECT_FALSE(*b->is_locked_exclusively());
    EXPECT_TRUE(*a->try_lock(lock_kind::exclusive));
    EXPECT_TRUE(*b->is_locked_exclusively());
    EXPECT_FALSE(*a->is_locked_exclusively()) << "its own";
    EXPECT_TRUE(*a->try_lock(lock_kind::shared));
    EXPECT_FALSE(*b->is_locked_exclusively());
    a.reset();
    EXPECT_FALSE(*b->is_locked_exclusively());
    EXPECT_TRUE(*open_or_create("f")->try_lock(lock_kind::exclusive));
}

TEST_F(posix_file, holders_of_a_lock_are_told_and_who_merely_has_the_file_open_is_not) {
    auto reader = open_or_create("f");
    EXPECT_TRUE(lock_holders(path("f")).empty());
    EXPECT_TRUE(lock_holders(path("none")).empty());
    ASSERT_TRUE(*reader->try_lock(lock_kind::shared));
    auto found = lock_holders(path("f"));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].process, ::getpid());
    EXPECT_TRUE(found[0].is_this_process);
    std::string name;
    std::getline(std::ifstream("/proc/self/comm"), name);
    EXPECT_EQ(found[0].name, name);
    reader.reset();
    EXPECT_TRUE(lock_holders(path("f")).empty());
}

TEST_F(posix_file, rename_to_new_refuses_to_replace) {
    ASSERT_TRUE(open_or_create("from")->write("test", 0, pattern(5)));
    ASSERT_TRUE(open_or_create("to")->write("test", 0, pattern(7)));
    auto renamed = files_.rename_to_new("test", path("from"), path("to"));
    ASSERT_FALSE(renamed);
    EXPECT_EQ(renamed.why().code, errc::exists);
    EXPECT_EQ(*open_or_create("from")->size(), 5U);
    EXPECT_EQ(*open_or_create("to")->size(), 7U);
    ASSERT_TRUE(files_.remove("test", path("to"), *open_or_create("to")));
    ASSERT_TRUE(files_.rename_to_new("test", path("from"), path("to")));
    EXPECT_FALSE(*files_.exists(path("from")));
    EXPECT_EQ(files_.rename_to_new("test", path("from"), path("other")).why().code, errc::not_found);
    EXPECT_TRUE(files_.sync_directory("test", path("to")));
    EXPECT_EQ(files_.sync_directory("test", path("missing/x")).why().code, errc::not_found);
}

TEST_F(posix_file, rename_over_replaces) {
    ASSERT_TRUE(open_or_create("from")->write("test", 0, pattern(5)));
    ASSERT_TRUE(open_or_create("to")->write("test", 0, pattern(7)));
    ASSERT_TRUE(files_.rename_over("test", path("from"), path("to")));
    EXPECT_FALSE(*files_.exists(path("from")));
    EXPECT_EQ(*open_or_create("to")->size(), 5U);
    EXPECT_EQ(files_.rename_over("test", path("from"), path("to")).why().code, errc::not_found);
}

TEST_F(posix_file, reserving_extends_with_zeros_and_keeps_contents) {
    auto f = open_or_create("f");
    ASSERT_TRUE(f->write("test", 0, pattern(100)));
    ASSERT_TRUE(f->reserve("test", 50, 1 << 20));
    EXPECT_EQ(*f->size(), 50U + (1 << 20));
    EXPECT_EQ(contents(*f, 0, 100), pattern(100));
    EXPECT_EQ(contents(*f, 100, 5000), std::vector<std::byte>(5000));
    EXPECT_GE(allocated(path("f")), std::uint64_t{1} << 20);
    ASSERT_TRUE(f->reserve("test", 0, 10)); // within what is there: nothing changes
    EXPECT_EQ(*f->size(), 50U + (1 << 20));
}

TEST_F(posix_file, punching_reads_as_zeros_and_never_extends) {
    auto f = open_or_create("f");
    ASSERT_TRUE(f->write("test", 0, pattern(64UL * 1024)));
    const auto before = allocated(path("f"));
    ASSERT_TRUE(f->punch("test", 4096 + 100, 32UL * 1024));
    EXPECT_EQ(contents(*f, 4196, 32UL * 1024), std::vector<std::byte>(32UL * 1024));
    EXPECT_EQ(contents(*f, 0, 4196), first_of(pattern(64UL * 1024), 4196));
    ASSERT_TRUE(f->sync("test"));
    EXPECT_LT(allocated(path("f")), before + 1);
    ASSERT_TRUE(f->punch("test", 60UL * 1024, 1 << 20));
    EXPECT_EQ(*f->size(), 64U * 1024);
}

TEST_F(posix_file, knows_whether_a_name_is_still_its_own) {
    auto f = open_or_create("f");
    EXPECT_TRUE(*f->is_at(path("f")));
    EXPECT_FALSE(*f->is_at(path("g")));
    ASSERT_TRUE(files_.rename_to_new("test", path("f"), path("g")));
    EXPECT_TRUE(*f->is_at(path("g")));
    open_or_create("f");
    EXPECT_FALSE(*f->is_at(path("f")));
}

TEST_F(posix_file, finds_the_name_that_it_has_now) {
    auto f = open_or_create("f");
    EXPECT_EQ(f->find_name()->path, path("f"));
    ASSERT_TRUE(files_.rename_to_new("test", path("f"), path("g")));
    open_or_create("f");
    EXPECT_EQ(f->find_name()->path, path("g"));
    EXPECT_EQ(f->path(), path("f"));
    ASSERT_EQ(::link(path("g").c_str(), path("link").c_str()), 0);
    ASSERT_TRUE(files_.remove("test", path("g"), *f));
    EXPECT_TRUE(f->find_name()->exists);
    EXPECT_EQ(f->find_name()->path, ""); // the system does not tell
    ASSERT_TRUE(files_.remove("test", path("link"), *f));
    EXPECT_FALSE(f->find_name()->exists);
}

TEST_F(posix_file, a_link_to_it_is_not_its_name) {
    auto f = open_or_create("f");
    ASSERT_TRUE(files_.rename_to_new("test", path("f"), path("g")));
    ASSERT_EQ(::symlink(path("g").c_str(), path("f").c_str()), 0);
    EXPECT_FALSE(*f->is_at(path("f")));
    EXPECT_EQ(f->find_name()->path, path("g"));
    EXPECT_FALSE(*f->is_at(path("g") + "/h"));
}

TEST_F(posix_file, removes_no_name_of_another_file) {
    auto f = open_or_create("f");
    auto g = open_or_create("g");
    ASSERT_TRUE(files_.remove("test", path("g"), *f));
    EXPECT_TRUE(*files_.exists(path("g")));
    ASSERT_TRUE(files_.remove("test", path("g"), *g));
    EXPECT_FALSE(*files_.exists(path("g")));
}

TEST_F(posix_file, a_private_mapping_shows_the_file_and_keeps_writes_to_itself) {
    auto f = open_or_create("f");
    ASSERT_TRUE(f->write("test", 0, pattern(8192)));
    void* place = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(f->map_private(place, 8192, 0, access::read_write));
    auto* memory = static_cast<std::byte*>(place);
    memory[5000] ^= std::byte{1};
    EXPECT_EQ(contents(*f, 0, 8192), pattern(8192));
    f.reset(); // the mapping outlives it
    EXPECT_EQ(memory[17], pattern(8192)[17]);
    ::munmap(place, 8192);
}

TEST_F(posix_file, what_is_no_regular_file_is_not_opened) {
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    for (const std::string& name : {std::string("/dev/null"), dir_.path().string(), path("fifo")}) {
        for (const access mode : {access::read_only, access::read_write})
            EXPECT_EQ(files_.open(name, mode).why().code, errc::not_a_heap) << name;
        EXPECT_EQ(files_.open_or_create(name, 0644).why().code, errc::not_a_heap) << name;
    }
    open_or_create("file");
    ASSERT_EQ(::symlink(path("file").c_str(), path("link").c_str()), 0);
    EXPECT_FALSE(files_.open_or_create(path("link"), 0644));
    EXPECT_EQ(files_.open(path("missing"), access::read_only).why().code, errc::not_found);
    EXPECT_FALSE(*files_.exists(path("missing")));
    EXPECT_TRUE(files_.remove("test", path("missing"), *open_or_create("file")));
}

TEST_F(posix_file, a_file_that_is_leased_to_somebody_is_waited_for) {
    open_or_create("f");
    const int holder = ::open(path("f").c_str(), O_RDWR | O_CLOEXEC);
    if (::fcntl(holder, F_SETLEASE, F_WRLCK) != 0)
        GTEST_SKIP() << "this file system has no leases";
    static std::atomic<int> leased;
    leased = holder;
    auto* before = std::signal(SIGIO, [](int) { ::fcntl(leased, F_SETLEASE, F_UNLCK); }); // the kernel asks for it
    auto opened = files_.open(path("f"), access::read_write);
    EXPECT_TRUE(opened) << opened.why().message;
    std::signal(SIGIO, before);
    ::close(holder);
}

// A limit of the process stands in for a full disk, which takes the right to mount: tests/process has those.
TEST_F(posix_file, writing_where_there_is_no_room_is_no_space_and_names_the_place) {
    auto f = open_or_create("f");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 4096;
    auto* on_excess = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    auto written = f->write("test", 4090, pattern(10));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, on_excess);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.why().code, errc::no_space);
    EXPECT_EQ(written.why().offset, 4096U);
    EXPECT_NE(written.why().message.find(path("f")), std::string::npos);
}

} // namespace
} // namespace remanence::os
