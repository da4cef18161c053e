// Each call of the file system fails in turn of what a process does beside others: following them, writing, taking over from a dead
// one, making a checkpoint, letting one pass. It is heard of; nothing acknowledged is lost; and nobody waits for what the process held.

#include "api/heap_impl.hpp"
#include "process/other_process.hpp"
#include "support/failing_files.hpp"
#include "unit/api/fixture.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::test {
namespace {

enum class doing { reading, writing, making_a_checkpoint, taking_over, reading_on };

constexpr int k_end = 0;

heap_options heap_beside_others() {
    heap_options options = shared_heap();
    options.log.log_limit_bytes = 256 * KiB;
    options.memory.chunk_bytes = 64 * KiB;
    return options;
}

void add_one(heap& h, numbers& list) {
    h.write([&] {
        ++list[0];
        list.resize(20'000 + list.size() % 7 + 1);
        for (std::size_t i = 500; i < list.size(); i += 500)
            ++list[i];
    });
}

// The first checkpoint that is done may have begun, and may have been let pass, before the commits were asked for.
constexpr std::uint64_t k_whole_checkpoints = 2;

/// A process that commits when it is asked to.
class partner_process {
public:
    /// `until_checkpoint`: so often that one of its checkpoints begins and is done.
    partner_process(const fs::path& path, bool until_checkpoint)
        : process_([this, path, until_checkpoint] { work(path, until_checkpoint); }) {
        told_.wait(1);
    }
    /// False when it hears that the heap is poisoned.
    [[nodiscard]] bool commits() {
        ++asked_;
        told_.set(3 * asked_);
        told_.wait(3 * asked_ + 2);
        return !told_.is_set(3 * asked_ + 1);
    }
    /// Its exit status.
    [[nodiscard]] int end() {
        told_.set(k_end);
        told_.set(3 * (asked_ + 1));
        return process_.wait();
    }

private:
    void work(const fs::path& path, bool until_checkpoint) {
        heap mine = heap::open(path, heap_beside_others());
        auto& list = mine.root<numbers>("numbers");
        mine.write([&] { list.resize(20'000); });
        told_.set(1);
        for (int k = 1;; ++k) {
            told_.wait(3 * k);
            if (told_.is_set(k_end))
                break;
            try {
                const std::uint64_t before = mine.stats().checkpoints;
                do {
                    add_one(mine, list);
                } while (until_checkpoint && mine.stats().checkpoints < before + k_whole_checkpoints);
            } catch (const error& e) {
                if (e.reason() != errc::poisoned)
                    throw;
                told_.set(3 * k + 1);
            }
            told_.set(3 * k + 2);
        }
        try {
            mine.close();
        } catch (const error& e) {
            if (e.reason() != errc::poisoned)
                throw;
        }
    }

    signals told_;
    int asked_ = 0;
    other_process process_;
};

void die_in_a_commit(const fs::path& path) {
    failing_files files(os::posix_file_system());
    heap mine = detail::open(files, path, heap_beside_others());
    auto& list = mine.root<numbers>("numbers");
    files.before_each([](std::string_view call) {
        if (call == "write_durable")
            ::kill(::getpid(), SIGKILL);
    });
    add_one(mine, list);
}

/// Whether the nth call was made, which fails.
bool fails_at(doing what, std::uint64_t n) {
    const auto dir = temp_dir::in_memory();
    const fs::path path = dir / "h";
    partner_process partner(path, what == doing::reading_on);
    std::uint64_t acknowledged = 0;
    std::uint64_t in_flight = 0;
    bool was_made = false;
    {
        failing_files files(os::posix_file_system());
        heap h = detail::open(files, path, heap_beside_others());
        auto& list = h.root<numbers>("numbers");
        h.read([] {});
        EXPECT_TRUE(partner.commits());
        EXPECT_TRUE(partner.commits());
        h.read([&] { acknowledged = list[0]; });
        if (what == doing::taking_over) {
            other_process dying(h, [&] { die_in_a_commit(path); });
            EXPECT_EQ(dying.wait(), -1);
            ++in_flight;
        } else if (what != doing::reading_on) {
            EXPECT_TRUE(partner.commits()); // to be followed
            ++acknowledged;
        }
        std::optional<std::string> heard;
        files.fail_at(n, errc::io);
        try {
            switch (what) {
            case doing::reading:
                h.read([&] { EXPECT_EQ(list[0], acknowledged); });
                break;
            case doing::writing:
            case doing::taking_over:
                ++in_flight;
                add_one(h, list);
                --in_flight;
                ++acknowledged;
                break;
            case doing::making_a_checkpoint:
                h.checkpoint();
                break;
            case doing::reading_on:
                files.work_again();
                h.read([&] {
                    const std::vector<std::uint64_t> before(list.begin(), list.end());
                    files.fail_at(n, errc::io); // of those that make private what the checkpoint is going to change
                    EXPECT_TRUE(partner.commits());
                    files.work_again();
                    EXPECT_TRUE(std::equal(list.begin(), list.end(), before.begin(), before.end()));
                });
                break;
            }
        } catch (const error& e) {
            heard = e.what();
            EXPECT_TRUE(e.reason() == errc::io || e.reason() == errc::poisoned) << e.what();
        }
        files.work_again();
        was_made = !files.failed().empty();
        EXPECT_TRUE(was_made || !heard) << *heard;
        EXPECT_TRUE(what != doing::reading_on || !heard) << *heard;
        const bool commits = partner.commits(); // which the writer lock would keep, or the lock of a checkpoint
        EXPECT_TRUE(commits || (heard && what != doing::reading)) << files.failed();
        acknowledged += commits ? 1 : 0;
        try {
            h.close();
        } catch (const error& e) {
            EXPECT_TRUE(heard) << e.what();
            EXPECT_EQ(e.reason(), errc::poisoned) << e.what();
        }
    }
    EXPECT_EQ(partner.end(), 0);
    heap again = heap::open(path, heap_beside_others());
    const auto* const found = again.find_root<numbers>("numbers");
    EXPECT_GE((*found)[0], acknowledged);
    EXPECT_TRUE((*found)[0] <= acknowledged + in_flight || what == doing::reading_on); // then the partner makes many
    EXPECT_TRUE(again.verify().clean());
    again.close();
    EXPECT_FALSE(fs::exists(log_of(path)));
    EXPECT_FALSE(fs::exists(shm_of(path)));
    return was_made;
}

/// Calls behind the first `each` are left out more and more.
void fail_each_call(doing what, std::uint64_t at_least, std::uint64_t each = 32) {
    std::uint64_t n = 0;
    for (;; n += 1 + n / each) {
        SCOPED_TRACE("call " + std::to_string(n));
        if (!fails_at(what, n) || testing::Test::HasFailure())
            break;
    }
    EXPECT_GT(n, at_least) << "the calls are not seen";
    std::cout << n << " calls\n";
}

TEST(failing_calls_beside_others, of_a_section_that_reads) { fail_each_call(doing::reading, 2); }
TEST(failing_calls_beside_others, of_a_section_that_writes) { fail_each_call(doing::writing, 4); }
TEST(failing_calls_beside_others, of_a_checkpoint) { fail_each_call(doing::making_a_checkpoint, 8); }
TEST(failing_calls_beside_others, of_who_takes_over_from_a_dead_writer) { fail_each_call(doing::taking_over, 4); }
// The thread that makes them and the test's own are told apart by another process, which a sanitizer does not see.
TEST(failing_calls_beside_others_no_sanitizer, of_a_long_section_that_lets_a_checkpoint_pass) {
    fail_each_call(doing::reading_on, 40, 6); // most of them read a page
}

} // namespace
} // namespace remanence::test
