// A forked child has the parent's heaps in its memory, but not as its own: it can use none of them, and whatever it
// does with its copies of the handles harms nothing of the parent's.
//
// A long run: 36,000 children forked beside a thread that opens its process's first heap; none hung.

#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "support/failing_files.hpp"
#include "support/gate.hpp"
#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace remanence::test {
namespace {

class fork_of_a_process : public testing::Test {
protected:
    /// What the parent does after each child: its changes of before and after the fork must be there.
    void expect_parent_unharmed() {
        auto& list = *heap_->find_root<numbers>("numbers");
        list[0] = 5; // was changed once more, in a page that the child may have meddled with
        heap_->commit();
        list[0] = 0;
        heap_->commit();
        EXPECT_TRUE(has_contents(*heap_));
        heap_->close();
        EXPECT_TRUE(file_has_contents(dir_ / "h"));
    }

    temp_dir dir_;
    std::optional<heap> heap_ = heap::open(make_heap(dir_ / "h"), small_heap());
};

TEST_F(fork_of_a_process, the_childs_handle_is_dead) {
    EXPECT_EQ(in_child([&] {
                  auto got = error_of([&] { heap_->commit(); });
                  if (!is_error(got, errc::closed, dir_ / "h", "Open it in the child itself"))
                      return std::string("commit");
                  for (auto&& use : std::initializer_list<std::function<void()>>{
                           [&] { heap_->rollback(); }, [&] { heap_->checkpoint(); }, [&] { heap_->close(); },
                           [&] { heap_->write([] {}); }, [&] { heap_->read([] {}); }, [&] { heap_->lock(); },
                           [&] { heap_->destroy(heap_->make<int>()); }, [&] { (void)heap_->roots(); }}) {
                      got = error_of(use);
                      if (!got || got->code != errc::closed)
                          return std::string("another");
                  }
                  return std::string("closed");
              }),
              "closed");
    expect_parent_unharmed();
}

TEST_F(fork_of_a_process, the_child_may_destroy_its_copy) {
    auto& list = *heap_->find_root<numbers>("numbers");
    list[3] = 77; // not committed yet
    const void* address = &list;
    EXPECT_EQ(in_child([&] {
                  heap_.reset();
                  if (heap_of(address) != nullptr)
                      return std::string("still found");
                  string outside("a string that is too long for the small string buffer"); // belongs to malloc now
                  return std::string(outside.get_allocator().heap() == nullptr ? "gone" : "belongs to a heap");
              }),
              "gone");
    EXPECT_TRUE(fs::exists(dir_ / "h"));
    EXPECT_EQ(list[3], 77U);
    EXPECT_EQ(error_of_opening(dir_ / "h")->code, errc::in_use); // the child's death did not release the lock
    heap_->commit();
    EXPECT_EQ(list[3], 77U);
    list[3] = 9;
    expect_parent_unharmed();
}

TEST_F(fork_of_a_process, the_child_may_exit_with_its_copy) {
    heap_->find_root<numbers>("numbers")->at(3) = 9;
    in_child([&]() -> std::string { std::exit(0); }); // static destructors run, those of this test do not
    EXPECT_EQ(error_of_opening(dir_ / "h")->code, errc::in_use);
    expect_parent_unharmed();
}

// The worst moment: the child leaves the section's end behind, by return or by an exception. It must neither write the
// parent's log nor take the parent's record of changed pages.
TEST_F(fork_of_a_process, inside_a_write_section_the_child_neither_commits_nor_rolls_back) {
    for (bool throws : {false, true}) {
        auto& list = *heap_->find_root<numbers>("numbers");
        const auto log_before = [&] {
            return fs::exists(log_of(dir_ / "h")) ? read_file(log_of(dir_ / "h")) : std::vector<char>();
        };
        heap_->write([&] {
            list[500] += 1;
            const auto before = log_before();
            const std::string told_by_child = in_child([&] {
                auto got = error_of([&] {
                    heap_->write([&] { // nested, as far as the child's copy of the lock knows
                    });
                });
                return std::string(got && got->code == errc::closed ? "refused" : "let in");
            });
            EXPECT_EQ(told_by_child, "refused");
            EXPECT_EQ(log_before(), before);
        });
        // The child itself runs to the section's end.
        const pid_t parent = ::getpid();
        int status = -1;
        auto outcome = [&]() -> std::optional<caught> {
            try {
                return error_of([&] {
                    heap_->write([&] {
                        list[500] -= 1;
                        const pid_t child = ::fork();
                        if (child == 0 && throws)
                            throw 1;
                        if (child != 0)
                            ::waitpid(child, &status, 0);
                    });
                });
            } catch (int) {
                return caught{errc::rolled_back, {}, {}};
            }
        }();
        if (::getpid() != parent)
            ::_exit(outcome && outcome->code == (throws ? errc::rolled_back : errc::closed) ? 0 : 1);
        EXPECT_EQ(status, 0);
        EXPECT_FALSE(outcome);
        EXPECT_EQ(list[500], 500U * 500U);
        heap_->rollback();
        EXPECT_EQ(list[500], 500U * 500U); // so it was committed
    }
    expect_parent_unharmed();
}

TEST_F(fork_of_a_process, a_lock_held_across_the_fork_is_left_alone) {
    auto& list = *heap_->find_root<numbers>("numbers");
    {
        std::unique_lock lock(*heap_);
        list[4] = 1;
        EXPECT_EQ(in_child([&] {
                      heap_->unlock();
                      return std::string("unlocked");
                  }),
                  "unlocked");
        list[4] = 16;
        heap_->commit();
    }
    expect_parent_unharmed();
}

TEST_F(fork_of_a_process, the_child_opens_a_heap_of_its_own) {
    EXPECT_EQ(in_child([&] {
                  heap mine = heap::open(make_heap(dir_ / "mine"), small_heap());
                  return std::string(has_contents(mine) ? "works" : "does not");
              }),
              "works");
    expect_parent_unharmed();
    EXPECT_TRUE(file_has_contents(dir_ / "mine"));
}

// no_sanitizer: a child of several threads may wait for ever for the lock of ASan's quarantine of freed memory, which no
// fork() waits for (seen in LLVM 19).
using fork_of_a_process_no_sanitizer = fork_of_a_process;

std::string what_a_child_can(const fs::path& path, const heap_options& options) {
    return in_child([&] {
        ::alarm(k_hang_seconds);
        heap its = heap::open(path, options);
        return std::string(has_contents(its) ? "works" : "does not");
    });
}

// The process's tables, which other threads of the parent are in.
TEST_F(fork_of_a_process_no_sanitizer, the_child_waits_for_no_thread_of_the_parent) {
    std::atomic<bool> ends = false;
    std::jthread busy([&] {
        while (!ends)
            (void)detail::registry::holds(dir_ / "none"); // with the table locked
    });
    const fs::path path = make_heap(dir_ / "child's");
    for (int i = 0; i != 20 && !HasFailure(); ++i)
        EXPECT_EQ(what_a_child_can(path, small_heap()), "works");
    ends = true;
    busy.join();
    expect_parent_unharmed();
}

// Tables of fragile elements, which are of the process.
TEST(fork_beside_threads, that_use_fragile_elements_leaves_the_child_able_to) {
    const int element = 0;
    const auto use = [&] {
        {
            const std::scoped_lock lock(detail::using_exemplars());
        }
        return detail::share_live_value(&element) == nullptr;
    };
    std::atomic<bool> ends = false;
    std::jthread busy([&] {
        while (!ends)
            use();
    });
    for (int i = 0; i != 50 && !HasFailure(); ++i) {
        EXPECT_EQ(in_child([&] {
                      ::alarm(k_hang_seconds);
                      return std::string(use() ? "none" : "one");
                  }),
                  "none");
    }
    ends = true;
}

// With no other heap open, the first one needs what all share.
TEST(fork_beside_threads_no_sanitizer, that_open_heaps_leaves_the_child_able_to) {
    for (const tracking tracker : {tracking::automatic, tracking::trap, tracking::fallback}) {
        temp_dir dir;
        heap_options options = small_heap();
        options.tracker = tracker;
        std::atomic<bool> ends = false;
        std::vector<std::jthread> threads;
        for (int i = 0; i != 3; ++i) {
            threads.emplace_back([&, path = make_heap(dir / std::to_string(i))] {
                while (!ends)
                    heap::open(path, options).close();
            });
        }
        const fs::path path = make_heap(dir / "child's");
        for (int i = 0; i != 60 && !HasFailure(); ++i)
            EXPECT_EQ(what_a_child_can(path, options), "works");
        ends = true;
    }
}

// What happens once in a process: each time in another child, which has not opened a heap yet if this test is alone in its process,
// as ctest has it.
TEST(fork_beside_threads_no_sanitizer, that_open_their_first_heap_leaves_the_child_able_to) {
    const temp_dir dir = temp_dir::in_memory();
    ASSERT_EQ(in_child([&] {
                  make_heap(dir / "h");
                  return make_heap(dir / "child's").filename().string();
              }),
              "child's");
    for (const tracking tracker : {tracking::automatic, tracking::trap, tracking::fallback}) {
        heap_options options = small_heap();
        options.tracker = tracker;
        const auto change = [&](const fs::path& path) {
            heap its = heap::open(path, options);
            its.root<std::uint64_t>("changes") += 1;
            its.commit();
        };
        for (int i = 0; i != 100 && !HasFailure(); ++i) {
            EXPECT_EQ(in_child([&] {
                          std::atomic<bool> begins = false;
                          std::jthread first([&] {
                              begins = true;
                              change(dir / "h");
                          });
                          while (!begins)
                              ;
                          for (int spins = 0; spins != i * 2000; ++spins)
                              begins.load();
                          return in_child([&] {
                              ::alarm(k_hang_seconds);
                              change(dir / "child's");
                              return std::string("changed");
                          });
                      }),
                      "changed");
        }
    }
}

TEST(fork_of_a_process_that_closes_its_heap, leaves_no_lock_with_the_child) {
    temp_dir dir;
    const fs::path path = make_heap(dir / "h");
    heap closed = heap::open(path, small_heap());
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    ASSERT_GT(child, 0);
    closed.close();
    const auto got = error_of([&] { heap::open(path, small_heap()).close(); });
    EXPECT_FALSE(got.has_value()) << got->what;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

// The thread that carries it out is the parent's, and in the midst of a write.
TEST(fork_in_a_checkpoint, leaves_it_to_the_parent) {
    temp_dir dir;
    const fs::path path = dir / "h";
    const std::thread::id parents = std::this_thread::get_id();
    gate held;
    failing_files files(os::posix_file_system());
    files.before_each([&](std::string_view call) {
        if (call == "write" && std::this_thread::get_id() != parents)
            held.pass();
    });
    heap_options options = small_heap();
    options.log.log_limit_bytes = 16 * KiB;
    std::optional<heap> h = detail::open(files, path, options, detail::opening::create);
    auto& list = h->root<numbers>("numbers", 50'000U, std::uint64_t{0});
    held.shut();
    std::uint64_t last = 0;
    const auto commit = [&] {
        ++last;
        for (std::size_t i = 0; i < 20; ++i)
            list[i * 2000] = last;
        h->commit();
    };
    while (h->stats().checkpoint_total_bytes == 0)
        commit();
    held.await_visitor();
    EXPECT_EQ(in_child([&] {
                  const auto got = error_of([&] { h->commit(); });
                  if (!got || got->code != errc::closed)
                      return std::string("commits");
                  h.reset();
                  return std::string("gone");
              }),
              "gone");
    held.open();
    commit();
    h->close();
    heap again = heap::open_existing(path, small_heap());
    EXPECT_EQ(again.find_root<numbers>("numbers")->front(), last);
    EXPECT_TRUE(again.verify().clean());
}

} // namespace
} // namespace remanence::test
