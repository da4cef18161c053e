// The same claims hold for the real file system and for the simulated one.
#include "os/file.hpp"
#include "os/shared_word.hpp"
#include "support/temp_dir.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace remanence::os {
namespace {

constexpr std::uint64_t k_byte = std::uint64_t{1} << 62;

class byte_locks_of : public testing::TestWithParam<bool> {
protected:
    std::unique_ptr<byte_locks> open() {
        auto opened = file_->open_locks();
        EXPECT_TRUE(opened) << opened.why().message;
        return std::move(*opened);
    }
    file_system& files() { return GetParam() ? posix_file_system() : disk_; }

    test::temp_dir dir_ = test::temp_dir::in_memory();
    simulation::simulated_disk disk_;
    std::string path_ = dir_ / "file";
    std::unique_ptr<file> file_ = std::move(*files().open_or_create(path_, 0600));
};

INSTANTIATE_TEST_SUITE_P(files, byte_locks_of, testing::Bool(),
                         [](const auto& which) { return which.param ? "real" : "simulated"; });

TEST_P(byte_locks_of, each_opening_is_somebody_else) {
    auto a = open();
    auto b = open();
    EXPECT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    EXPECT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive)) << "it is its own";
    EXPECT_FALSE(*b->try_lock(k_byte, lock_kind::exclusive));
    EXPECT_FALSE(*b->try_lock(k_byte, lock_kind::shared));
    EXPECT_TRUE(*b->try_lock(k_byte + 1, lock_kind::exclusive)) << "another byte";
    a->unlock(k_byte);
    EXPECT_TRUE(*b->try_lock(k_byte, lock_kind::exclusive));
}

TEST_P(byte_locks_of, a_lock_changes_its_kind_in_place) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::shared));
    ASSERT_TRUE(*b->try_lock(k_byte, lock_kind::shared));
    EXPECT_FALSE(*a->try_lock(k_byte, lock_kind::exclusive));
    EXPECT_EQ(*b->locked_by_others(k_byte, 1), std::optional(k_byte)) << "what was refused has cost nothing";
    b->unlock(k_byte);
    EXPECT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    EXPECT_FALSE(*b->try_lock(k_byte, lock_kind::shared));
}

TEST_P(byte_locks_of, all_locks_end_with_their_opening) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    ASSERT_TRUE(*a->try_lock(k_byte + 7, lock_kind::shared));
    a.reset();
    EXPECT_EQ(*b->locked_by_others(k_byte, 8), std::nullopt);
}

TEST_P(byte_locks_of, who_asks_is_told_of_others_and_not_of_himself) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte + 1, lock_kind::exclusive));
    ASSERT_TRUE(*a->try_lock(k_byte + 2, lock_kind::exclusive));
    EXPECT_EQ(*a->locked_by_others(k_byte, 8), std::nullopt);
    EXPECT_EQ(*b->locked_by_others(k_byte, 8), std::optional(k_byte + 1));
    EXPECT_EQ(*b->locked_by_others(k_byte + 2, 1), std::optional(k_byte + 2)) << "of the range that was asked for";
    EXPECT_EQ(*b->locked_by_others(k_byte, 1), std::nullopt);
}

TEST_P(byte_locks_of, the_lock_of_the_whole_file_is_one_of_them) {
    auto locks = open();
    ASSERT_TRUE(*file_->try_lock(lock_kind::exclusive));
    EXPECT_FALSE(*locks->try_lock(k_byte, lock_kind::shared));
    ASSERT_TRUE(*file_->try_lock(lock_kind::shared));
    ASSERT_TRUE(*locks->try_lock(k_byte, lock_kind::shared));
    EXPECT_FALSE(*file_->try_lock(lock_kind::exclusive));
    EXPECT_FALSE(*file_->is_locked_exclusively());
}

TEST_P(byte_locks_of, who_waits_has_it_as_soon_as_the_other_lets_go) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    std::atomic<bool> let_go = false;
    std::atomic<bool> was_let_go = false;
    std::thread waiting([&] {
        EXPECT_TRUE(*b->lock(k_byte, lock_kind::exclusive, {}));
        was_let_go = let_go.load();
    });
    let_go = true;
    a->unlock(k_byte);
    waiting.join();
    EXPECT_TRUE(was_let_go);
    EXPECT_FALSE(*a->try_lock(k_byte, lock_kind::shared));
}

TEST_P(byte_locks_of, who_waits_gives_up_in_time) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    EXPECT_FALSE(*b->lock(k_byte, lock_kind::exclusive, until));
    EXPECT_GE(std::chrono::steady_clock::now(), until);
    EXPECT_FALSE(*b->lock(k_byte, lock_kind::shared, until)) << "a deadline that is over is looked at once";
    a->unlock(k_byte);
    EXPECT_TRUE(*b->lock(k_byte, lock_kind::exclusive, until));
}

TEST_P(byte_locks_of, memory_is_shared_by_all_who_map_the_file) {
    ASSERT_TRUE(file_->reserve("test", 0, 8192));
    auto again = std::move(*files().open(path_, access::read_write));
    auto a = std::move(*file_->map_shared(8192, access::read_write));
    auto b = std::move(*again->map_shared(8192, access::read_write));
    a.get()[5000] = std::byte{7};
    EXPECT_EQ(b.get()[5000], std::byte{7});
    EXPECT_EQ(b.get()[0], std::byte{0});
}

TEST_P(byte_locks_of, a_file_is_known_by_more_than_its_name) {
    auto again = std::move(*files().open(path_, access::read_only));
    auto other = std::move(*files().open_or_create(path_ + "-other", 0600));
    EXPECT_EQ(again->identity()->inode, file_->identity()->inode);
    EXPECT_EQ(again->identity()->device, file_->identity()->device);
    EXPECT_NE(other->identity()->inode, file_->identity()->inode);
    EXPECT_EQ(file_->identity()->reached_by, "");
}

class real_byte_locks : public testing::Test {
protected:
    /// What `f` returns in a forked child.
    template <class F>
    static int in_child(F&& f) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(f());
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::unique_ptr<byte_locks> open() { return std::move(*file_->open_locks()); }

    test::temp_dir dir_ = test::temp_dir::in_memory();
    std::string path_ = dir_ / "file";
    std::unique_ptr<file> file_ = std::move(*posix_file_system().open_or_create(path_, 0600));
};

TEST_F(real_byte_locks, a_forked_child_neither_keeps_them_nor_lets_go_of_them) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    int begun[2];
    int ends[2];
    ASSERT_EQ(::pipe(begun), 0);
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[1]);
        const bool has_it = *file_->open_locks() && *(*file_->open_locks())->try_lock(k_byte, lock_kind::shared);
        a.reset(); // in the child
        char byte = has_it ? 'y' : 'n';
        (void)!::write(begun[1], &byte, 1);
        (void)!::read(ends[0], &byte, 1); // until the parent ends
        ::_exit(0);
    }
    ::close(ends[0]);
    char answer = 0;
    ASSERT_EQ(::read(begun[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'n') << "the parent has it";
    EXPECT_FALSE(*b->try_lock(k_byte, lock_kind::shared)) << "the child unlocked the parent's";
    a.reset(); // the child lives
    EXPECT_TRUE(*b->try_lock(k_byte, lock_kind::exclusive)) << "the child keeps it";
    ::close(ends[1]);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    for (const int each : {begun[0], begun[1]})
        ::close(each);
}

TEST_F(real_byte_locks, duplicates_and_other_openings_may_be_closed) {
    auto a = open();
    auto b = open();
    ASSERT_TRUE(*a->try_lock(k_byte, lock_kind::exclusive));
    {
        auto other = std::move(*posix_file_system().open(path_, access::read_write));
    } // POSIX locks would be gone
    EXPECT_FALSE(*b->try_lock(k_byte, lock_kind::exclusive));
}

TEST_F(real_byte_locks, a_file_open_for_reading_gives_shared_ones_only) {
    auto reading = std::move(*posix_file_system().open(path_, access::read_only));
    auto locks = std::move(*reading->open_locks());
    EXPECT_TRUE(*locks->try_lock(k_byte, lock_kind::shared));
    EXPECT_FALSE(locks->try_lock(k_byte + 1, lock_kind::exclusive));
}

TEST_F(real_byte_locks, a_forked_child_has_no_shared_memory) {
    ASSERT_TRUE(file_->reserve("test", 0, 4096));
    auto memory = std::move(*file_->map_shared(4096, access::read_write));
    const int status = in_child([&] {
        unsigned char resident = 0;
        return ::mincore(memory.get(), 4096, &resident) == -1 && errno == ENOMEM ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
}

TEST_F(real_byte_locks, a_child_is_woken_by_what_its_parent_writes) {
    ASSERT_TRUE(file_->reserve("test", 0, 4096));
    auto memory = std::move(*file_->map_shared(4096, access::read_write));
    auto& word = *reinterpret_cast<std::atomic<std::uint32_t>*>(memory.get());
    const pid_t child = ::fork();
    if (child == 0) {
        auto mapped =
            std::move(*(*posix_file_system().open(path_, access::read_write))->map_shared(4096, access::read_write));
        auto& same = *reinterpret_cast<std::atomic<std::uint32_t>*>(mapped.get());
        while (same.load() == 0)
            wait_on(same, 0, std::chrono::hours(1));
        ::_exit(same.load() == 5 ? 0 : 1);
    }
    word.store(5);
    wake_all(word);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace remanence::os
