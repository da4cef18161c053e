// A process that is stopped while it opens a shared heap as the first, or closes it as the last: others wait for it no longer than their
// option says, and hear who it is.

#include "os/file.hpp"
#include "process/other_process.hpp"
#include "share/layout.hpp"

#include <remanence/inspect.hpp>
#include <remanence/remanence.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;
using share::lock_byte::k_attach;
using share::lock_byte::k_door;
using share::lock_byte::k_first_slot;

/// Holds these locks of a heap, as a process that has come so far, and is stopped.
class stopped_process {
public:
    stopped_process(const fs::path& path, std::vector<std::uint64_t> bytes)
        : process_([&] {
              auto file = std::move(*os::posix_file_system().open(path.string(), os::access::read_write));
              auto locks = std::move(*file->open_locks());
              for (const std::uint64_t byte : bytes)
                  if (!*locks->try_lock(byte, os::lock_kind::exclusive))
                      throw std::runtime_error("a lock is taken");
              told_.set(0);
              for (;;)
                  ::pause();
          }) {
        told_.wait(0);
        process_.stop();
    }
    [[nodiscard]] int id() const { return process_.id(); }
    void end() { process_.kill(); }

private:
    signals told_;
    other_process process_;
};

class stopped_at_the_door : public testing::Test {
protected:
    stopped_at_the_door() { make_heap(path_); }
    /// `f` opens the heap, and waits as long as it should.
    template <class F>
    void expect_in_vain(const stopped_process& other, const F& f) {
        const auto begun = std::chrono::steady_clock::now();
        const auto got = error_of(f);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, 50ms);
        EXPECT_TRUE(is_error(got, errc::in_use, path_, "Let that process go on, or end it"));
        EXPECT_NE(got->what.find(std::to_string(other.id())), std::string::npos) << got->what;
        EXPECT_NE(got->what.find("which is stopped"), std::string::npos) << got->what;
    }
    static heap_options impatient() {
        heap_options options = shared_heap();
        options.sharing.open_timeout = 50ms;
        return options;
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
};

TEST_F(stopped_at_the_door, keeps_those_that_open_the_heap_for_a_limited_time) {
    heap_options guest = impatient();
    guest.read_only = true;
    for (const bool closes : {false, true}) {
        SCOPED_TRACE(closes ? "the last" : "the first");
        std::vector<std::uint64_t> locks{k_door, k_attach};
        if (closes)
            locks.push_back(k_first_slot);
        stopped_process other(path_, locks);
        expect_in_vain(other, [&] { heap::open(path_, impatient()); });
        expect_in_vain(other, [&] { heap::open(path_, guest); });
        EXPECT_TRUE(is_error(error_of([&] { heap::open(path_, small_heap()); }), errc::in_use, path_, "stopped"));
        const inspect::users found = inspect::who_uses(path_.string());
        EXPECT_EQ(found.how, closes ? inspect::users::open_as::closing : inspect::users::open_as::opening);
        ASSERT_EQ(found.processes.size(), 1U);
        EXPECT_EQ(found.processes[0].process, other.id());
        EXPECT_TRUE(found.processes[0].is_stopped);
        other.end();
        EXPECT_EQ(inspect::who_uses(path_.string()).how, inspect::users::open_as::closed);
        heap h = heap::open(path_, impatient());
        EXPECT_TRUE(has_contents(h));
        h.close();
    }
}

TEST_F(stopped_at_the_door, keeps_nobody_from_joining_and_those_that_close_for_a_limited_time) {
    std::optional<heap> first(heap::open(path_, impatient()));
    stopped_process other(path_, {k_door});
    EXPECT_EQ(in_child([&] {
                  first.reset();
                  heap joined = heap::open(path_, impatient());
                  joined.write([&] { joined.find_root<numbers>("numbers")->front() = 77; });
                  joined.close();
                  return std::string("joined");
              }),
              "joined");
    first->close(); // without an error: all is committed
    EXPECT_TRUE(fs::exists(log_of(path_)));
    other.end();
    heap again = heap::open(path_, impatient());
    EXPECT_EQ(again.find_root<numbers>("numbers")->front(), 77U);
    again.close();
    EXPECT_FALSE(fs::exists(log_of(path_)));
}

TEST_F(stopped_at_the_door, is_told_of_to_programs_in_c) {
    const stopped_process other(path_, {k_door, k_attach});
    rem_options options{};
    options.size = sizeof options;
    options.reserve_bytes = 64 * MiB;
    options.open_timeout_ms = 50;
    rem_heap* heap = nullptr;
    EXPECT_EQ(rem_open_shared(path_.c_str(), &options, &heap), REM_IN_USE);
    EXPECT_NE(std::string(rem_last_error()->message).find(std::to_string(other.id())), std::string::npos);
}

TEST(open_timeout, is_from_0_to_1_hour) {
    const temp_dir dir;
    for (const auto wrong : {-1ms, 3'600'001ms}) {
        heap_options options = shared_heap();
        options.sharing.open_timeout = wrong;
        EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "h", options); }), errc::invalid_argument, dir / "h",
                             "open_timeout"));
    }
    heap_options options = shared_heap();
    options.sharing.open_timeout = 0ms;
    heap::open(dir / "h", options).close();
}

} // namespace
} // namespace remanence::test
