// Locks of containers between processes, and the descriptor by which a process waits for the commits of others.

#include "process/other_process.hpp"
#include "unit/api/fixture.hpp"

#include <poll.h>

#include <chrono>
#include <string>
#include <thread>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;
using list_file = file_backed<vector<std::uint64_t>>;

class locks_of_processes : public testing::Test {
protected:
    list_file open(const char* name = "a.rem") {
        file_backed_options options{.lock_timeout = 100ms};
        options.heap.access = sharing::processes;
        return list_file(dir_ / name, options);
    }
    temp_dir dir_;
    signals told_;
};

template <class F>
std::string why_not(F&& lock, errc expected) {
    try {
        lock();
    } catch (const error& why) {
        return why.reason() == expected ? why.what() : "another error: " + std::string(why.what());
    }
    return "it was locked";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(locks_of_processes, exclude_each_other_and_a_timeout_names_both_files) {
    auto file = open();
    auto second = open("b.rem");
    other_process other(file, [&] {
        auto same = open();
        const auto all = same.exclusive();
        all->push_back(1);
        told_.set(0);
        told_.wait(1);
    });
    told_.wait(0);
    EXPECT_EQ(file.shared()->size(), 0U) << "shared locks do not wait for the writer of another process";
    {
        const auto mine = second.exclusive();
        const std::string why = why_not([&] { file.lock(); }, errc::in_use);
        EXPECT_TRUE(has(why, "a.rem could not be locked")) << why;
        EXPECT_TRUE(has(why, "process " + std::to_string(other.id()))) << why;
        EXPECT_TRUE(has(why, "b.rem meanwhile")) << why;
    }
    {
        const auto reading = file.shared();
        const std::string why = why_not([&] { file.lock(); }, errc::section_conflict);
        EXPECT_TRUE(has(why, "process " + std::to_string(other.id())) && has(why, "is changing it")) << why;
    }
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
    file.exclusive()->push_back(2);
    EXPECT_EQ(file.shared()->size(), 2U);
}

TEST_F(locks_of_processes, an_exclusive_lock_within_a_shared_one_changes_nothing_under_the_reader) {
    auto file = open();
    file.exclusive()->push_back(1);
    other_process other(file, [&] {
        auto same = open();
        told_.wait(0);
        same.exclusive()->push_back(2);
        told_.set(1);
    });
    {
        const auto reading = file.shared();
        {
            const auto writing = file.exclusive();
            writing->back() = 7;
        }
        EXPECT_EQ(reading->back(), 7U);
        told_.set(0);
        told_.wait(1);
        const std::string why = why_not([&] { file.lock(); }, errc::section_conflict);
        EXPECT_TRUE(has(why, "another process has changed it since the shared lock began")) << why;
        EXPECT_EQ(reading->size(), 1U);
    }
    EXPECT_EQ(file.shared()->size(), 2U);
    {
        const auto reading = file.shared();
        file.lock();
        file->push_back(3);
        file.unlock();
    }
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(file.get_heap().verify().clean());
    file.close();
    EXPECT_EQ(open().shared()->size(), 3U);
}

TEST_F(locks_of_processes, of_a_process_that_dies_end_with_it_and_its_changes_are_lost) {
    auto file = open();
    file.exclusive()->push_back(1);
    other_process other(file, [&] {
        auto same = open();
        same.lock();
        same->push_back(2);
        told_.set(0);
        for (;;)
            std::this_thread::sleep_for(1s);
    });
    told_.wait(0);
    EXPECT_TRUE(has(why_not([&] { file.lock(); }, errc::in_use), "could not be locked"));
    other.kill();
    file.lock();
    EXPECT_EQ(file->size(), 1U);
    file->push_back(3);
    file.unlock();
    EXPECT_EQ(file.shared()->size(), 2U);
}

bool is_readable(int descriptor, std::chrono::milliseconds longest) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, static_cast<int>(longest.count())) == 1 && (one.revents & POLLIN) != 0;
}

TEST_F(locks_of_processes, a_descriptor_is_readable_from_a_commit_of_another_process_until_it_is_seen) {
    auto file = open();
    const int news = file.get_heap().poll_descriptor();
    EXPECT_EQ(file.get_heap().poll_descriptor(), news);
    EXPECT_FALSE(is_readable(news, 0ms));
    file.exclusive()->push_back(1);
    other_process other(file, [&] {
        auto same = open();
        for (int i = 0; i < 20; ++i) {
            told_.wait(2 * i);
            same.exclusive()->push_back(0U);
            told_.set(2 * i + 1);
        }
    });
    for (int i = 0; i < 20; ++i) {
        told_.set(2 * i);
        ASSERT_TRUE(is_readable(news, 20s));
        EXPECT_TRUE(is_readable(news, 0ms)) << "it stays so";
        told_.wait(2 * i + 1);
        if (i % 2 == 0) {
            EXPECT_EQ(file.shared()->size(), static_cast<std::size_t>(2 + i + i / 2));
        } else {
            file.exclusive()->push_back(0U);
        }
        EXPECT_FALSE(is_readable(news, 0ms)) << i;
    }
    EXPECT_EQ(other.wait(), 0);
    file.close();
    auto alone = list_file(dir_ / "alone.rem");
    EXPECT_THROW((void)alone.get_heap().poll_descriptor(), error);
}

TEST_F(locks_of_processes, a_guest_polls_too) {
    auto file = open();
    other_process other(file, [&] {
        told_.wait(0);
        file_backed_options options;
        options.heap.access = sharing::processes;
        options.heap.read_only = true;
        const list_file guest(dir_ / "a.rem", options);
        const int news = guest.get_heap().poll_descriptor();
        const bool is_quiet_before = !is_readable(news, 50ms);
        told_.set(1);
        const bool is_told = is_readable(news, 20s);
        if (!is_quiet_before || !is_told || guest.shared()->size() != 1 || is_readable(news, 50ms))
            throw std::runtime_error("it hears of commits too early, too late or too long");
    });
    EXPECT_TRUE(file->empty());
    told_.set(0);
    told_.wait(1);
    file.exclusive()->push_back(1);
    EXPECT_EQ(other.wait(), 0);
}

} // namespace
} // namespace remanence::test
