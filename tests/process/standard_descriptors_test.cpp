// A program may have been started without standard input, output or error, and write there all the same. No descriptor of
// the library's is one of these, ever, or the program's messages would go into its heap.

#include "support/failing_files.hpp"
#include "unit/api/fixture.hpp"

#include "api/heap_impl.hpp"
#include "os/descriptor.hpp"

#include <chrono>
#include <mutex>

namespace remanence::test {
namespace {

constexpr int k_standard_count = 3;

/// What a write to one of the three did; empty if each failed as one to a closed descriptor does.
std::string written_to_standard() {
    for (int each = 0; each < k_standard_count; ++each) {
        if (::write(each, "a message of the program\n", 25) >= 0 || errno != EBADF)
            return "descriptor " + std::to_string(each) + " took a message";
        char byte = 0;
        if (::read(each, &byte, 1) >= 0 || errno != EBADF)
            return "descriptor " + std::to_string(each) + " gave a byte";
    }
    return {};
}

/// Which of the three are open: between two calls of the library none may be.
std::string open_ones() {
    for (int each = 0; each < k_standard_count; ++each) {
        if (::fcntl(each, F_GETFD) >= 0)
            return "descriptor " + std::to_string(each) + " is open";
    }
    return {};
}

class without_standard_descriptors : public testing::Test {
protected:
    /// Runs a session of a program that has none of the three, and looks at them before each call of the library's for a
    /// file and between the steps. Empty: nobody ever could write to one.
    template <class F>
    std::string session(F&& steps) {
        return in_child([&]() -> std::string {
            for (int each = 0; each < k_standard_count; ++each)
                ::close(each);
            std::string fault;
            std::mutex noting;
            const auto note = [&](const std::string& what, std::string_view when) {
                const std::scoped_lock alone(noting); // the heap's own threads, too
                if (!what.empty() && fault.empty())
                    fault = what + " at " + std::string(when);
            };
            failing_files files(os::posix_file_system());
            files.before_each([&](std::string_view call) { note(written_to_standard(), call); });
            steps(files, [&](std::string_view step) {
                note(written_to_standard(), step);
                if (quiet_)
                    note(open_ones(), step);
            });
            note(open_ones(), "the end");
            return fault;
        });
    }

    bool quiet_ = true; // no thread of the library's runs between the steps
    temp_dir dir_;
};

template <class Look>
void whole_session(os::file_system& files, const fs::path& path, tracking tracker, Look&& look) {
    heap_options options = small_heap();
    options.tracker = tracker;
    options.log.log_limit_bytes = 1 * MiB;
    {
        heap h = detail::open(files, path, options, detail::opening::create);
        look("create");
        put_contents(h);
        look("a commit");
        auto& list = h.root<numbers>("more numbers");
        for (int i = 0; i < 30; ++i) { // checkpoints that a thread carries out
            h.write([&] { list.assign(20'000, static_cast<std::uint64_t>(i)); });
            look("a commit of many");
        }
        h.checkpoint();
        look("a checkpoint");
        h.root<int>("outside") = 3;
        h.commit();
        look("a commit outside sections");
        h.root<int>("outside") = 4;
        h.rollback();
        look("a rollback");
        (void)h.verify();
        (void)h.check_pointers();
        (void)h.stats();
        look("verify");
        h.close();
        look("close");
    }
    {
        heap h = detail::open(files, path, options);
        look("reopened");
        h.touch(h.find_root<numbers>("numbers"), sizeof(numbers));
        h.write([&] { h.root<int>("again") = 1; });
        look("a commit after reopening");
    }
    look("end without close");
    options.read_only = true;
    heap h = detail::open(files, path, options, detail::opening::open_existing);
    (void)h.verify();
    look("read-only");
}

class each_tracker : public without_standard_descriptors, public testing::WithParamInterface<tracking> {};

TEST_P(each_tracker, no_message_goes_into_a_heap_in_a_whole_session) {
    EXPECT_EQ(session([&](os::file_system& files, auto look) { whole_session(files, dir_ / "h", GetParam(), look); }),
              "");
    EXPECT_TRUE(heap::open_existing(dir_ / "h", small_heap()).verify().clean());
}

INSTANTIATE_TEST_SUITE_P(sessions, each_tracker,
                         testing::Values(tracking::automatic, tracking::scan, tracking::trap, tracking::fallback));

TEST_F(without_standard_descriptors, nor_in_one_with_threads_that_sync_and_spill) {
    quiet_ = false; // they open files of /proc
    EXPECT_EQ(session([&](os::file_system& files, auto look) {
                  heap_options options = small_heap();
                  options.memory.dirty_limit_bytes = 8 * MiB;
                  options.log.lazy_interval = std::chrono::milliseconds(1);
                  heap h = detail::open(files, dir_ / "h", options, detail::opening::create);
                  auto& list = h.root<numbers>("numbers");
                  for (int i = 0; i < 20; ++i) {
                      h.write(durability::lazy, [&] { list.push_back(1); });
                      look("a lazy commit");
                      h.write_async([&] { list.push_back(2); }).wait();
                      look("an asynchronous commit");
                  }
                  h.write([&] {
                      for (std::uint64_t i = 0; i < 3'000'000; ++i)
                          list.push_back(i);
                  });
                  look("a commit that spilled");
                  h.close();
              }),
              "");
    EXPECT_TRUE(heap::open_existing(dir_ / "h", small_heap()).verify().clean());
}

TEST_F(without_standard_descriptors, nor_in_a_recovery_nor_a_file_backed_object) {
    const fs::path crashed = make_crashed_heap(dir_ / "crashed", 5);
    EXPECT_EQ(session([&](os::file_system& files, auto look) {
                  {
                      heap h = detail::open(files, crashed, small_heap());
                      look("recovery");
                  }
                  file_backed<numbers> list(dir_ / "list");
                  list->push_back(7);
                  list.commit();
                  look("file_backed");
              }),
              "");
    EXPECT_TRUE(file_has_contents(crashed));
}

TEST_F(without_standard_descriptors, each_one_that_is_missing_alone_stays_closed) {
    for (int missing = 0; missing < k_standard_count; ++missing) {
        const fs::path path = dir_ / std::to_string(missing);
        EXPECT_EQ(in_child([&]() -> std::string {
                      ::close(missing);
                      heap h = heap::create(path, small_heap());
                      put_contents(h);
                      h.checkpoint();
                      return ::fcntl(missing, F_GETFD) < 0 ? "closed" : "open";
                  }),
                  "closed");
    }
}

TEST_F(without_standard_descriptors, one_that_another_thread_closes_meanwhile_is_left_at_once) {
    EXPECT_EQ(in_child([&]() -> std::string {
                  const int got = os::open_above_standard([&] {
                      ::close(STDERR_FILENO);
                      return ::open("/dev/null", O_WRONLY | O_CLOEXEC);
                  });
                  return std::string(got >= k_standard_count ? "above" : "below") +
                         (::fcntl(STDERR_FILENO, F_GETFD) < 0 ? ", closed" : ", open");
              }),
              "above, closed");
}

} // namespace
} // namespace remanence::test
