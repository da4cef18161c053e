// Users who may only read, beside processes that share a heap and write to it.

#include "process/other_process.hpp"
#include "unit/api/changing_calls.hpp"

#include <grp.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;

heap_options guest_options() {
    heap_options options = shared_heap();
    options.read_only = true;
    options.procedures.add("nothing", [](heap&, std::span<const std::byte>) {}, {});
    return options;
}

/// Becomes a user who may read what all may read, and write nothing of it.
void become_another_user() {
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)
        throw std::runtime_error("cannot change the user");
    ::prctl(PR_SET_DUMPABLE, 1);
}

void expect_that(bool truth, const char* what) {
    if (!truth)
        throw std::runtime_error(what);
}

class guests : public testing::Test {
protected:
    guests() {
        fs::permissions(dir_.path(), fs::perms(0755));
        heap_options options = shared_heap();
        options.log.log_limit_bytes = 256 * KiB; // so that checkpoints are due all the time
        h_.emplace(heap::open(path_, options));
        list_ = &h_->root<numbers>("numbers");
        h_->write([&] { list_->assign(10'000, 0); });
    }
    void fill(std::uint64_t value) {
        h_->write([&] { std::ranges::fill(*list_, value); });
    }
    static std::uint64_t only_value(const numbers& list) {
        expect_that(!list.empty() && std::ranges::all_of(list, [&](auto each) { return each == list.front(); }),
                    "a section sees several versions");
        return list.front();
    }
    /// A guest, as a user who may not write anything, if this one can become him.
    template <class F>
    auto guest(F f) {
        return [this, f = std::move(f)] {
            if (::getuid() == 0)
                become_another_user();
            heap mine = heap::open_existing(path_, guest_options());
            f(mine, *mine.find_root<numbers>("numbers"));
        };
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    signals told_;
    std::optional<heap> h_;
    numbers* list_ = nullptr;
};

TEST_F(guests, see_each_commit_and_change_no_file) {
    if (::getuid() == 0) { // another user is whom these are for
        struct stat of_shm{};
        ASSERT_EQ(::stat(shm_of(path_).c_str(), &of_shm), 0);
        ASSERT_EQ(of_shm.st_mode & 0006U, 0004U);
    }
    other_process other(*h_, guest([&](heap& mine, const numbers& list) {
        for (int round = 0; round < 20; ++round) {
            told_.wait(2 * round);
            expect_that(mine.read([&] { return only_value(list); }) == static_cast<std::uint64_t>(round),
                        "a guest does not see what was committed");
            told_.set(2 * round + 1);
        }
        mine.close();
    }));
    for (int round = 0; round < 20; ++round) {
        fill(static_cast<std::uint64_t>(round));
        if (round % 4 == 3)
            h_->checkpoint();
        told_.set(2 * round);
        told_.wait(2 * round + 1);
    }
    EXPECT_EQ(other.wait(), 0);
    h_->close();
    EXPECT_FALSE(fs::exists(log_of(path_))) << "a guest who is in no section keeps nobody from closing in order";
}

TEST_F(guests, see_one_version_to_the_end_of_their_section_over_commits_and_checkpoints) {
    fill(1);
    other_process other(*h_, guest([&](heap& mine, const numbers& list) {
        mine.read([&] {
            const std::uint64_t version = mine.version();
            for (int round = 0; round < 10; ++round) {
                told_.set(2 * round);
                told_.wait(2 * round + 1);
                expect_that(only_value(list) == 1, "a section does not stay at its version");
                expect_that(mine.version() == version, "the version has changed");
            }
        });
        expect_that(mine.read([&] { return only_value(list); }) == 40, "the next section does not see the newest");
        mine.close();
    }));
    for (int round = 0; round < 10; ++round) {
        told_.wait(2 * round);
        for (int i = 1; i <= 4; ++i)
            fill(static_cast<std::uint64_t>(4 * round + i));
        told_.set(2 * round + 1);
    }
    EXPECT_EQ(other.wait(), 0);
    h_->checkpoint();
    EXPECT_TRUE(h_->verify().clean());
}

TEST_F(guests, in_a_section_keep_checkpoints_back_until_they_end_or_die) {
    other_process other(*h_, guest([&](heap& mine, const numbers&) {
        mine.read([&] {
            told_.set(0);
            told_.wait(1); // never
        });
    }));
    told_.wait(0);
    fill(1);
    EXPECT_TRUE(is_error(error_of([&] { h_->checkpoint(); }), errc::readers_behind, path_, "reads as a guest"));
    other.kill();
    h_->checkpoint();
    EXPECT_EQ(h_->stats().log_used_bytes, 0U);
}

TEST_F(guests, cannot_change_the_heap) {
    other_process other(*h_, guest([&](heap& mine, numbers& list) {
        for (const changing_call& each : changing_calls<numbers>(mine, "numbers")) {
            const auto got = error_of(each.call);
            expect_that(got && got->code == errc::read_only, each.name.c_str());
        }
        mine.read([&] { list.front() = 1; });
        told_.set(0);
        told_.wait(1);
        const auto got = error_of([&] { mine.read([] {}); });
        expect_that(got && got->code == errc::outside_section, "a change is not noticed");
        expect_that(mine.read([&] { return only_value(list); }) == 2, "a change is not undone");
        mine.close();
    }));
    told_.wait(0);
    fill(2);
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(h_->verify().clean());
}

TEST_F(guests, are_told_when_those_that_share_the_heap_are_gone) {
    other_process other(*h_, guest([&](heap& mine, const numbers& list) {
        mine.read([&] { (void)only_value(list); });
        told_.set(0);
        told_.wait(1);
        const auto got = error_of([&] { mine.read([] {}); });
        expect_that(is_error(got, errc::closed, path_, "Open it again"), "the end of the session is not told");
        mine.close();
        heap again = heap::open_existing(path_, guest_options()); // now as one that nobody writes to
        expect_that(only_value(*again.find_root<numbers>("numbers")) == 5, "it does not hold what was committed");
    }));
    told_.wait(0);
    fill(5);
    h_->close();
    EXPECT_FALSE(fs::exists(log_of(path_)));
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(guests, in_a_section_keep_the_last_one_from_applying_and_others_from_opening) {
    other_process other(*h_, guest([&](heap& mine, const numbers& list) {
        mine.read([&] {
            told_.set(0);
            told_.wait(1);
            expect_that(only_value(list) == 0, "the section does not stay at its version");
        });
        told_.set(2);
        told_.wait(3);
        mine.close();
    }));
    told_.wait(0);
    fill(7);
    h_->close(); // without an error: everything is committed
    EXPECT_TRUE(fs::exists(log_of(path_)));
    const auto got = error_of([&] { heap::open_existing(path_, small_heap()); });
    EXPECT_TRUE(is_error(got, errc::in_use, path_, std::to_string(other.id())));
    told_.set(1);
    told_.wait(2);
    {
        heap alone = heap::open_existing(path_, small_heap());
        EXPECT_EQ(only_value(*alone.find_root<numbers>("numbers")), 7U);
        alone.close();
    }
    told_.set(3);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(guests, of_a_heap_that_was_closed_or_crashed_have_it_as_any_read_only_opening) {
    temp_dir dir;
    fs::permissions(dir.path(), fs::perms(0755));
    make_heap(dir / "closed");
    make_crashed_heap(dir / "crashed");
    for (const char* name : {"closed", "crashed"}) {
        heap h = heap::open_existing(dir / name, guest_options());
        EXPECT_TRUE(has_contents(h)) << name;
        h.close();
    }
    EXPECT_EQ(error_of([&] { heap::open(dir / "none", guest_options()); })->code, errc::not_found);
}

} // namespace
} // namespace remanence::test
