// Asynchronous commits, as seen by one thread of the program: what is refused, what a ticket says, what becomes durable.

#include "api/heap_impl.hpp"
#include "support/failing_files.hpp"
#include "testing/simulated_disk.hpp"
#include "types/pointer_check.hpp"
#include "unit/api/fixture.hpp"

#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <span>
#include <system_error>
#include <thread>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t value_kept_in(const fs::path& path) {
    heap h = heap::open_existing(path, small_heap());
    EXPECT_TRUE(h.verify().clean());
    return *h.find_root<std::uint64_t>("value");
}

TEST(asynchronous_commits, hold_what_was_there_and_not_what_came_later) {
    temp_dir dir;
    EXPECT_EQ(in_child([&] {
                  auto* left_open = new heap(heap::open(dir / "h", small_heap()));
                  auto& value = left_open->root<std::uint64_t>("value");
                  auto& list = left_open->root<numbers>("list", 100'000, std::uint64_t{1}); // in chunks of its own
                  value = 1;
                  const commit_ticket ticket = left_open->commit_async();
                  value = 2;
                  std::fill(list.begin(), list.end(), 2U);
                  ticket.wait();
                  return std::string(ticket.ready() && value == 2 ? "dies" : "is wrong");
              }),
              "dies");
    EXPECT_EQ(value_kept_in(dir / "h"), 1U);
    heap h = heap::open(dir / "h", small_heap());
    const auto& list = *h.find_root<numbers>("list");
    EXPECT_EQ(std::count(list.begin(), list.end(), 1U), 100'000);
}

TEST(asynchronous_commits, where_nothing_changed_are_reached) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    h.commit_async().wait(); // of a new heap: its own header
    const std::uint64_t version = h.version();
    const commit_ticket ticket = h.commit_async();
    ticket.wait();
    EXPECT_TRUE(ticket.ready());
    EXPECT_EQ(h.version(), version);
    h.close();
    heap again = heap::open(dir / "h", small_heap());
    again.commit_async().wait(); // there is no log yet
    EXPECT_EQ(again.version(), version);
}

TEST(asynchronous_commits, are_named_by_copies_of_a_ticket_and_by_one_that_was_moved_from) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    auto& value = h.root<std::uint64_t>("value");
    value = 1;
    commit_ticket first = h.commit_async();
    value = 2;
    commit_ticket second = h.commit_async();
    const commit_ticket copy = first;
    first = std::move(second);
    // NOLINTNEXTLINE(bugprone-use-after-move): that is the point
    for (const commit_ticket* each : std::initializer_list<const commit_ticket*>{&copy, &first, &second}) {
        each->wait();
        EXPECT_TRUE(each->ready());
    }
}

TEST(asynchronous_commits, are_refused_as_commits_are) {
    temp_dir dir;
    heap h = heap::open(make_heap(dir / "h"), small_heap());
    const auto point = [&] { (void)h.commit_async(); };
    h.read([&] { EXPECT_EQ(error_of(point)->code, errc::section_conflict); });
    EXPECT_EQ(error_of([&] {
                  h.write([&] {
                      try {
                          h.write([]() -> void { throw 1; });
                      } catch (int) {
                      }
                      point();
                  });
              })->code,
              errc::rolled_back);
    h.close();
    EXPECT_EQ(error_of(point)->code, errc::closed);
    heap_options read_only = small_heap();
    read_only.read_only = true;
    h = heap::open(dir / "h", read_only);
    EXPECT_TRUE(is_error(error_of(point), errc::read_only, dir / "h", "Open it for writing"));
    h.close();
    h = heap::open(dir / "h", small_heap());
    EXPECT_TRUE(has_contents(h));
}

TEST(asynchronous_commits, within_a_section_are_not_undone_with_it) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    auto& value = h.root<std::uint64_t>("value");
    std::optional<commit_ticket> ticket;
    {
        const std::lock_guard section(h);
        value = 1;
        ticket = h.commit_async();
        value = 2;
        h.rollback();
    }
    EXPECT_EQ(value, 1U);
    EXPECT_THROW(h.write([&] {
        value = 3;
        h.write(declared, [&] { ticket = h.commit_async(); });
        value = 4;
        throw 1;
    }),
                 int);
    EXPECT_EQ(value, 3U);
    ticket->wait();
    h.close();
    EXPECT_EQ(value_kept_in(dir / "h"), 3U);
}

TEST(asynchronous_commits, that_end_a_section_hold_what_it_left) {
    temp_dir dir;
    EXPECT_EQ(in_child([&] {
                  auto* left_open = new heap(heap::open(dir / "h", small_heap()));
                  auto& value = left_open->root<std::uint64_t>("value");
                  const commit_ticket ticket = left_open->write_async([&] { value = 1; });
                  value = 2;
                  ticket.wait();
                  return std::string(ticket.ready() && value == 2 ? "dies" : "is wrong");
              }),
              "dies");
    EXPECT_EQ(value_kept_in(dir / "h"), 1U);
}

TEST(asynchronous_commits, that_would_end_a_section_are_undone_with_it) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    auto& value = h.root<std::uint64_t>("value", 1U);
    EXPECT_THROW((void)h.write_async([&] {
        value = 2;
        throw 1;
    }),
                 int);
    EXPECT_EQ(value, 1U);
    bool is_called = false;
    h.write([&] {
        value = 3;
        EXPECT_EQ(error_of([&] { (void)h.write_async([&] { is_called = true; }); })->code, errc::section_conflict);
        h.write(declared, [&] {
            EXPECT_EQ(error_of([&] { (void)h.write_async(declared, [&] { is_called = true; }); })->code,
                      errc::section_conflict);
        });
    });
    EXPECT_FALSE(is_called);
    EXPECT_EQ(error_of([&] {
                  (void)h.write_async([&] {
                      value = 4;
                      try {
                          h.write([]() -> void { throw 1; });
                      } catch (int) {
                      }
                  });
              })->code,
              errc::rolled_back);
    EXPECT_EQ(value, 3U);
    h.read([&] { EXPECT_EQ(error_of([&] { (void)h.write_async([] {}); })->code, errc::section_conflict); });
    h.close();
    EXPECT_EQ(value_kept_in(dir / "h"), 3U);
}

TEST(asynchronous_commits, need_no_section_and_count_as_commits) {
    temp_dir dir;
    heap_options options = small_heap();
    options.log.log_limit_bytes = 64 * KiB; // checkpoints come between
    heap h = heap::open(dir / "h", options);
    auto& list = h.root<numbers>("numbers", 1000, std::uint64_t{0});
    const heap_stats before = h.stats();
    std::optional<commit_ticket> last;
    for (std::uint64_t i = 1; i <= 200; ++i) {
        std::fill(list.begin(), list.end(), i);
        last = h.commit_async();
    }
    const heap_stats after = h.stats();
    EXPECT_EQ(after.commits, before.commits + 200);
    EXPECT_EQ(after.commit_times.count(), before.commit_times.count() + 200);
    EXPECT_GT(after.checkpoints, before.checkpoints);
    last->wait();
    h.close();
    heap again = heap::open(dir / "h", small_heap());
    const auto& kept = *again.find_root<numbers>("numbers");
    EXPECT_EQ(std::count(kept.begin(), kept.end(), 200U), 1000);
}

TEST(asynchronous_commits, of_a_parent_are_closed_to_a_forked_child) {
    temp_dir dir;
    std::optional<heap> h = heap::open(dir / "h", small_heap());
    auto& value = h->root<std::uint64_t>("value");
    for (std::uint64_t i = 1; i <= 20; ++i) {
        value = i;
        const commit_ticket ticket = h->commit_async();
        EXPECT_EQ(
            in_child([&] {
                for (auto&& use : std::initializer_list<std::function<void()>>{
                         [&] { ticket.wait(); }, [&] { (void)ticket.ready(); }, [&] { (void)h->commit_async(); }}) {
                    if (!is_error(error_of(use), errc::closed, dir / "h", "fork()"))
                        return std::string("something else");
                }
                h.reset();
                return std::string(error_of([&] { ticket.wait(); })->code == errc::closed ? "closed" : "open");
            }),
            "closed");
        ticket.wait();
    }
    h->close();
    EXPECT_EQ(value_kept_in(dir / "h"), 20U);
}

pid_t main_thread = 0;
volatile std::sig_atomic_t signals_taken = 0;
volatile std::sig_atomic_t signals_taken_elsewhere = 0;

/// While it lives, SIGALRM comes every half millisecond and interrupts system calls.
class signals {
public:
    signals() {
        main_thread = ::gettid();
        signals_taken = 0;
        signals_taken_elsewhere = 0;
        struct sigaction action{};
        action.sa_handler = [](int) {
            signals_taken = signals_taken + 1;
            if (::gettid() != main_thread)
                signals_taken_elsewhere = signals_taken_elsewhere + 1;
        };
        const itimerval often{{0, 500}, {0, 500}};
        EXPECT_EQ(::sigaction(SIGALRM, &action, &before_), 0);
        EXPECT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
    }
    ~signals() {
        const itimerval never{};
        ::setitimer(ITIMER_REAL, &never, nullptr);
        ::sigaction(SIGALRM, &before_, nullptr);
    }
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

private:
    struct sigaction before_{};
};

TEST(asynchronous_commits, are_not_disturbed_by_signals) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    auto& value = h.root<std::uint64_t>("value");
    auto& lists = h.root<vector<numbers>>("lists");
    {
        const signals often;
        for (std::uint64_t i = 1; i <= 8 || signals_taken < 50; ++i) {
            ASSERT_LT(i, 10'000U) << "the timer does not run";
            if (i <= 8)
                lists.emplace_back(400'000, i); // 3 MiB, written within the call
            for (numbers& each : lists)
                std::fill_n(each.begin(), 1000, i);
            value = i;
            const commit_ticket ticket = h.commit_async();
            value = 0;
            ticket.wait();
            value = i;
        }
    }
    EXPECT_EQ(signals_taken_elsewhere, 0); // the heap's own thread takes none
    const std::uint64_t last = value;
    h.commit_async().wait();
    h.close();
    h = heap::open_existing(dir / "h", small_heap());
    EXPECT_TRUE(h.verify().clean());
    EXPECT_EQ(*h.find_root<std::uint64_t>("value"), last);
    const auto& kept = *h.find_root<vector<numbers>>("lists");
    ASSERT_EQ(kept.size(), 8U);
    for (std::uint64_t i = 1; i <= 8; ++i) {
        EXPECT_EQ(std::count(kept[i - 1].begin(), kept[i - 1].begin() + 1000, last), 1000);
        EXPECT_EQ(std::count(kept[i - 1].begin() + 1000, kept[i - 1].end(), i), 399'000);
    }
}

/// A heap on a simulated disk.
class asynchronous_commits_on_disk : public testing::Test {
protected:
    heap open() {
        heap_options options = small_heap();
        options.log.lazy_interval = 1h;
        return detail::open(disk_, "/disk/h", options);
    }
    simulation::simulated_disk disk_;
};

TEST_F(asynchronous_commits_on_disk, without_room_change_nothing_and_may_be_repeated) {
    heap h = open();
    auto& value = h.root<std::uint64_t>("value");
    value = 1;
    const commit_ticket before = h.commit_async();
    const std::span<char> large(h.get_allocator<char>().allocate(3 * MiB), 3 * MiB);
    std::fill(large.begin(), large.end(), 'x');
    value = 2;
    before.wait();
    const std::uint64_t version = h.version();
    disk_.limit_space(1); // no block more
    EXPECT_EQ(error_of([&] { (void)h.commit_async(); })->code, errc::no_space);
    EXPECT_EQ(h.version(), version);
    EXPECT_EQ(value, 2U);
    EXPECT_TRUE(before.ready());
    disk_.limit_space(0);
    h.commit_async().wait();
    EXPECT_EQ(h.version(), version + 1);
    h.close();
    EXPECT_EQ(*open().find_root<std::uint64_t>("value"), 2U);
}

/// A heap of 16 MiB of numbers whose last point, of every 16th of them, finds the disk full once it is compared.
class points_that_fail : public asynchronous_commits_on_disk {
protected:
    void SetUp() override {
        if (types::checks_pointers())
            GTEST_SKIP() << "this library checks pointers, in the call: no point is copied";
        disk_.limit_space(1 * GiB); // space is counted
        heap_ = std::make_unique<heap>(open());
        numbers_ = &heap_->root<numbers>("numbers", k_count, std::uint64_t{7});
        heap_->checkpoint();
        (*numbers_)[0] = 8;
        heap_->commit(); // there is a log
        durable_ = heap_->version();
        for (std::size_t i = 0; i < k_count; i += 16)
            (*numbers_)[i] += i + 5;
        disk_.limit_space(disk_.space_used() + 700 * KiB); // more than is reserved early, and less than the record
        ticket_ = heap_->commit_async();
        EXPECT_EQ(error_of([&] { ticket_->wait(); })->code, errc::no_space);
    }
    void revert() {
        for (std::size_t i = 0; i < k_count; i += 16)
            (*numbers_)[i] -= i + 5;
    }

    static constexpr std::size_t k_count = 16 * MiB / 8;
    std::unique_ptr<heap> heap_;
    numbers* numbers_ = nullptr;
    std::uint64_t durable_ = 0;
    std::optional<commit_ticket> ticket_;
};

TEST_F(points_that_fail, are_told_of_by_sync_and_close_until_they_are_committed) {
    EXPECT_EQ(error_of([&] { heap_->sync(); })->code, errc::no_space);
    EXPECT_EQ(error_of([&] { heap_->sync(); })->code, errc::no_space);
    EXPECT_EQ(error_of([&] { heap_->close(); })->code, errc::no_space);
    ASSERT_TRUE(heap_->is_open());
    disk_.limit_space(0);
    EXPECT_EQ(error_of([&] { heap_->sync(); })->code, errc::no_space);
    heap_->commit();
    heap_->sync();
    heap_->close();
    EXPECT_EQ((*open().find_root<numbers>("numbers"))[160], 7U + 160 + 5);
}

TEST_F(points_that_fail, are_no_failure_of_later_ones_that_find_nothing_changed) {
    disk_.limit_space(0);
    revert();
    heap_->commit_async().wait();
    const commit_ticket ticket = heap_->commit_async();
    ticket.wait();
    EXPECT_TRUE(ticket.ready());
    heap_->sync();
    EXPECT_EQ(error_of([&] { ticket_->wait(); })->code, errc::no_space);
    heap_->close();
    EXPECT_EQ((*open().find_root<numbers>("numbers"))[160], 7U);
}

// Room was granted before, so this is no lack of space that the program could mend and go on.
TEST_F(asynchronous_commits_on_disk, whose_granted_room_is_not_there_poison) {
    heap h = open();
    auto& value = h.root<std::uint64_t>("value");
    value = 1;
    h.commit_async().wait();
    value = 2;
    disk_.fail_at(0, errc::no_space);
    const commit_ticket ticket = h.commit_async();
    for (int again = 0; again < 2; ++again) {
        const auto got = error_of([&] { ticket.wait(); });
        EXPECT_EQ(got->code, errc::io);
        EXPECT_NE(got->what.find("its device is full"), std::string::npos) << got->what;
    }
    EXPECT_EQ(error_of([&] { (void)ticket.ready(); })->code, errc::io);
    EXPECT_EQ(error_of([&] { (void)h.commit_async(); })->code, errc::poisoned);
    EXPECT_EQ(value, 2U); // memory stays readable
    EXPECT_EQ(error_of([&] { h.close(); })->code, errc::poisoned);
    EXPECT_EQ(*open().find_root<std::uint64_t>("value"), 1U);
}

TEST_F(asynchronous_commits_on_disk, bring_lazy_commits_before_them_along) {
    heap h = open();
    auto& value = h.root<std::uint64_t>("value");
    h.write(durability::lazy, [&] { value = 1; });
    h.write(durability::none, [&] { value = 2; });
    h.commit_async().wait();
    disk_.take_trace();
    h.sync(); // has nothing left to do
    EXPECT_TRUE(disk_.trace().empty());
    value = 3;
    const commit_ticket ticket = h.commit_async();
    h.commit(); // durable, with all before it; the ticket hears of that soon
    ticket.wait();
    EXPECT_TRUE(ticket.ready());
}

// Then nobody else would write.
TEST_F(asynchronous_commits_on_disk, are_reached_at_once_where_no_thread_can_be_started) {
    EXPECT_EQ(as_nobody([&]() -> std::string {
                  heap h = open();
                  refuse_threads();
                  h.root<std::uint64_t>("value") = 1;
                  disk_.take_trace();
                  if (!h.commit_async().ready())
                      return "not durable";
                  const std::string last = disk_.trace().back().describe();
                  h.root<std::uint64_t>("value") = 2;
                  disk_.fail_at(0, errc::io);
                  const commit_ticket ticket = h.commit_async();
                  for (int i = 0; i < 2; ++i) {
                      if (error_of([&] { ticket.wait(); })->code != errc::io)
                          return "the failure is not heard";
                  }
                  if (error_of([&] { (void)h.commit_async(); })->code != errc::poisoned)
                      return "not poisoned";
                  return last;
              }).substr(0, 12),
              "sync_written");
}

} // namespace
} // namespace remanence::test
