// A thread that is cancelled, or that calls exit(), in the midst of a call of the library: at each operation on the files.
// Others go on, the heap can be closed, and its files hold a commit.

#include "support/failing_files.hpp"
#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include "api/heap_impl.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace remanence::test {
namespace {

struct call {
    const char* name;
    bool commits; // when it is done, the number is durable, even if its thread has ended then
    bool closes;  // a heap whose last commit is waited for by nobody
    std::function<void(std::optional<heap>&, std::uint64_t)> make;
};

void PrintTo(const call& each, std::ostream* out) { *out << each.name; }

std::uint64_t& number_in(heap& h) { return h.root<std::uint64_t>("number"); }

heap_options small_log() {
    heap_options options = small_heap();
    options.log.log_limit_bytes = 64 * KiB;
    return options;
}

void set(heap& h, std::uint64_t n) { *h.find_root<std::uint64_t>("number") = n; }

const call k_calls[] = {
    {"a_commit", true, false, [](std::optional<heap>& h, std::uint64_t n) { h->write([&] { set(*h, n); }); }},
    {"a_commit_and_another", true, false,
     [](std::optional<heap>& h, std::uint64_t n) {
         h->write([&] { set(*h, n); });
         h->write([&] { set(*h, n); });
         h->write([&] { h->root<int>("more"); });
     }},
    {"a_commit_of_new_memory", true, false,
     [](std::optional<heap>& h, std::uint64_t n) {
         h->write([&] {
             h->find_root<numbers>("numbers")->resize(200'000, n);
             set(*h, n);
         });
     }},
    {"a_lazy_commit_and_sync", true, false,
     [](std::optional<heap>& h, std::uint64_t n) {
         h->write(durability::lazy, [&] { set(*h, n); });
         h->sync();
     }},
    {"an_asynchronous_commit", true, false,
     [](std::optional<heap>& h, std::uint64_t n) { h->write_async([&] { set(*h, n); }).wait(); }},
    {"a_commit_outside_sections", true, false,
     [](std::optional<heap>& h, std::uint64_t n) {
         set(*h, n);
         h->commit();
     }},
    {"a_checkpoint", true, false,
     [](std::optional<heap>& h, std::uint64_t n) {
         h->write(durability::none, [&] { set(*h, n); });
         h->checkpoint();
     }},
    {"verify", false, false, [](std::optional<heap>& h, std::uint64_t) { (void)h->verify(); }},
    {"a_section_that_fails", false, false,
     [](std::optional<heap>& h, std::uint64_t n) {
         try {
             h->write([&] {
                 set(*h, n);
                 throw std::runtime_error("no");
             });
         } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as it is to be
         }
     }},
    {"close", true, true, [](std::optional<heap>& h, std::uint64_t) { h->close(); }},
    {"the_destructor", true, true, [](std::optional<heap>& h, std::uint64_t) { h.reset(); }},
};

/// A heap whose number is 1, and files of which each operation may be the one at which something happens.
class interrupted_files : public testing::Test {
protected:
    void SetUp() override { ::alarm(k_hang_seconds); } // a call that never returns ends the test
    void TearDown() override { ::alarm(0); }
    void open(std::optional<heap>& h, const fs::path& path) {
        h.emplace(detail::open(files_, path, small_log(), detail::opening::create));
        put_contents(*h);
        h->write([&] { number_in(*h) = 1; });
        h->close();
        h.emplace(detail::open(files_, path, small_log())); // so that the next commit is the first of a session
    }
    static void prepare(const call& what, heap& h) {
        if (what.closes)
            h.write(durability::none, [&] { set(h, 2); });
    }
    /// `happens` at the nth operation from now on of this thread.
    void at(std::uint64_t n, std::function<void()> happens) {
        files_.before_each(
            [this, left = n, me = std::this_thread::get_id(), happens = std::move(happens)](std::string_view) mutable {
                if (std::this_thread::get_id() == me && left-- == 0) {
                    has_happened_ = true;
                    happens();
                }
            });
    }

    failing_files files_{os::posix_file_system()};
    std::atomic<bool> has_happened_ = false;
    temp_dir dir_ = temp_dir::in_memory();
};

class interrupted : public interrupted_files, public testing::WithParamInterface<call> {};

TEST_P(interrupted, by_pthread_cancel_it_is_done_whole_and_others_go_on) {
    const call& what = GetParam();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        const fs::path path = dir_ / std::to_string(n);
        std::optional<heap> h;
        open(h, path);
        prepare(what, *h);
        has_happened_ = false;
        std::thread committer([&] {
            at(n, [] {
                ::pthread_cancel(::pthread_self());
                ::pthread_testcancel(); // as any system call may
            });
            what.make(h, 2);
        });
        committer.join();
        files_.before_each({});
        if (!what.closes) {
            h->write([&] { h->root<std::uint64_t>("after") = n; });
            h->close();
        }
        heap again = heap::open_existing(path, small_heap());
        EXPECT_EQ(number_in(again), what.commits ? 2U : 1U);
        EXPECT_TRUE(again.verify().clean());
        if (!has_happened_ || HasFailure())
            break;
    }
}

TEST_P(interrupted, by_exit_the_process_ends_and_the_files_hold_a_commit) {
    static std::optional<heap> of_the_program; // exit() destroys it
    const call& what = GetParam();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        const fs::path path = dir_ / std::to_string(n);
        const std::string said = in_child([&]() -> std::string {
            ::alarm(k_hang_seconds);
            open(of_the_program, path);
            prepare(what, *of_the_program);
            at(n, [] { std::exit(0); }); // as a handler of a signal may
            what.make(of_the_program, 2);
            return "done";
        });
        heap again = heap::open_existing(path, small_heap());
        const std::uint64_t number = number_in(again);
        EXPECT_TRUE(number == 1 || (what.commits && number == 2)) << number;
        EXPECT_TRUE(again.verify().clean());
        if (said == "done" || HasFailure())
            break;
        EXPECT_EQ(said, "");
    }
}

class cancelled : public interrupted_files {
protected:
    /// A thread that is cancelled in the midst of `f`.
    template <class F>
    static void run(F&& f) {
        std::thread([&] {
            f([] {
                ::pthread_cancel(::pthread_self());
                ::pthread_testcancel();
            });
            ADD_FAILURE() << "it went on";
        }).join();
    }
};

TEST_F(cancelled, in_a_write_section_it_rolls_back_and_others_go_on) {
    std::optional<heap> h;
    open(h, dir_ / "h");
    run([&](auto end) {
        h->write([&] {
            set(*h, 2);
            h->root<numbers>("half", 1000U, 7U);
            end();
        });
    });
    EXPECT_EQ(number_in(*h), 1U);
    EXPECT_EQ(h->find_root<numbers>("half"), nullptr);
    std::thread([&] {
        {
            const std::unique_lock section(*h);
            ::pthread_cancel(::pthread_self());
            ::pthread_testcancel(); // the lock defers it, so that half a change is never committed
            set(*h, 3);
        }
        ::pthread_testcancel();
        ADD_FAILURE() << "it went on";
    }).join();
    EXPECT_EQ(number_in(*h), 3U);
    h->write([&] { set(*h, 4); });
    h->close();
    EXPECT_EQ(number_in(*(h = heap::open_existing(dir_ / "h", small_heap()))), 4U);
}

TEST_F(cancelled, in_a_read_section_it_leaves_it) {
    std::optional<heap> h;
    open(h, dir_ / "h");
    run([&](auto end) { h->read([&] { end(); }); });
    h->write([&] { set(*h, 2); });
    h->close();
}

// A loop of commits ends, although no commit is cut short.
TEST_F(cancelled, between_commits_it_ends_at_the_next_one) {
    std::optional<heap> h;
    open(h, dir_ / "h");
    const auto ends_after = [&](const std::function<void()>& commit) {
        std::thread([&] {
            ::pthread_cancel(::pthread_self());
            commit();
            ADD_FAILURE() << "it went on";
        }).join();
    };
    ends_after([&] { h->write([&] { set(*h, 2); }); });
    EXPECT_EQ(number_in(*h), 2U);
    set(*h, 3);
    ends_after([&] { h->commit(); });
    ends_after([&] { h->sync(); });
    ends_after([&] { h->checkpoint(); });
    EXPECT_EQ(number_in(*h), 3U);
    h->close();
}

INSTANTIATE_TEST_SUITE_P(calls, interrupted, testing::ValuesIn(k_calls),
                         [](const auto& each) { return std::string(each.param.name); });

} // namespace
} // namespace remanence::test
