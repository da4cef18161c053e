// Heaps that several processes have open, by the C interface.
#include "fixture.hpp"
#include "support/waiting.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

namespace remanence::test {

namespace {

class c_sharing : public c_heap {
protected:
    void SetUp() override { open_shared(); }
    void open_shared() {
        const rem_options options = options_of(REM_TRANSACTIONAL);
        ASSERT_OK(rem_open_shared(path.c_str(), &options, &heap));
    }
    account* add(long balance) {
        EXPECT_OK(rem_write_begin(heap));
        account* const made = add_account("a", balance);
        EXPECT_OK(rem_write_end(heap));
        return made;
    }
    /// Another process, which has the heap open for itself and runs `f` when it is told to.
    class other_process {
    public:
        other_process(c_sharing& test, const std::function<void()>& f) {
            EXPECT_EQ(::pipe(ends_), 0);
            id_ = ::fork();
            if (id_ == 0) {
                EXPECT_STATUS(rem_close(test.heap),
                              REM_CLOSED); // the inherited one, at whose addresses the own one will be
                test.open_shared();
                char go = 0;
                EXPECT_EQ(::read(ends_[0], &go, 1), 1);
                f();
                ::_exit(HasFailure() ? 1 : 0);
            }
        }
        other_process(const other_process&) = delete;
        other_process& operator=(const other_process&) = delete;
        void run() {
            EXPECT_EQ(::write(ends_[1], "g", 1), 1);
            int status = 0;
            EXPECT_EQ(::waitpid(id_, &status, 0), id_);
            EXPECT_EQ(status, 0);
        }
        ~other_process() {
            ::close(ends_[0]);
            ::close(ends_[1]);
        }

    private:
        int ends_[2]{};
        pid_t id_ = 0;
    };
};

std::vector<rem_participant> all_of(rem_heap* heap, decltype(&rem_readers) call) {
    std::vector<rem_participant> found;
    EXPECT_OK(call(
        heap,
        [](void* into, const rem_participant* who) {
            static_cast<std::vector<rem_participant>*>(into)->push_back(*who);
            return true;
        },
        &found));
    return found;
}

TEST_F(c_sharing, one_process_writes_at_a_time) {
    account* const a = add(0);
    const auto pay = [&] {
        for (int each = 0; each != 50; ++each) {
            ASSERT_OK(rem_write_begin(heap));
            ++account_at("a")->balance;
            ASSERT_OK(rem_write_end(heap));
        }
    };
    other_process first(*this, pay);
    other_process second(*this, pay);
    std::thread beside([&] { first.run(); });
    second.run();
    beside.join();
    ASSERT_OK(rem_read_begin(heap));
    EXPECT_EQ(a->balance, 100);
    ASSERT_OK(rem_read_end(heap));
}

TEST_F(c_sharing, who_waits_gives_up_in_time_and_learns_who_writes) {
    std::uint64_t before = 0;
    add(1);
    ASSERT_OK(rem_version(heap, &before));
    other_process beside(*this, [&] {
        EXPECT_STATUS(rem_write_begin_within(heap, 20), REM_WOULD_WAIT);
        EXPECT_STATUS(rem_write_begin_within(heap, 0), REM_WOULD_WAIT);
        const auto writers = all_of(heap, rem_writer);
        ASSERT_EQ(writers.size(), 1U);
        EXPECT_EQ(writers[0].process, ::getppid());
        EXPECT_STATUS(rem_wait_for_version(heap, before + 1, 20), REM_WOULD_WAIT);
        EXPECT_OK(rem_wait_for_version(heap, before, 0));
        ASSERT_OK(rem_read_begin(heap)); // beside the writer
        EXPECT_EQ(account_at("a")->balance, 1);
        ASSERT_OK(rem_read_end(heap));
    });
    other_process behind(*this, [&] {
        EXPECT_OK(rem_wait_for_version(heap, before + 1, k_hang_seconds * 1000));
        ASSERT_OK(rem_write_begin_within(heap, k_hang_seconds * 1000));
        EXPECT_EQ(account_at("a")->balance, 2);
        ASSERT_OK(rem_write_end(heap));
    });
    ASSERT_OK(rem_write_begin(heap));
    account_at("a")->balance = 2;
    beside.run();
    ASSERT_OK(rem_write_end(heap));
    behind.run();
    EXPECT_TRUE(all_of(heap, rem_writer).empty());
}

TEST_F(c_sharing, locks_nest_and_a_descriptor_tells_of_commits) {
    add(1);
    other_process other(*this, [&] {
        ASSERT_OK(rem_lock(heap, REM_LOCK_SHARED, 0));
        ASSERT_OK(rem_lock(heap, REM_LOCK_EXCLUSIVE, 0));
        ASSERT_OK(rem_lock(heap, REM_LOCK_EXCLUSIVE, 0));
        account_at("a")->balance = 2;
        ASSERT_OK(rem_unlock(heap));
        ASSERT_OK(rem_unlock(heap));
        EXPECT_EQ(account_at("a")->balance, 2);
        ASSERT_OK(rem_unlock(heap));
        EXPECT_STATUS(rem_unlock(heap), REM_SECTION_CONFLICT);
    });
    other_process late(*this, [&] {
        ASSERT_OK(rem_lock(heap, REM_LOCK_EXCLUSIVE, 20));
        account_at("a")->balance = 3;
        ASSERT_OK(rem_unlock(heap));
    });
    other_process kept_out(*this, [&] {
        EXPECT_STATUS(rem_lock(heap, REM_LOCK_EXCLUSIVE, 20), REM_IN_USE);
        EXPECT_NE(std::string(rem_last_error()->message).find("could not be locked within 20 ms: process"),
                  std::string::npos);
    });
    int news = -1;
    ASSERT_OK(rem_poll_descriptor(heap, &news));
    pollfd waits{news, POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 0), 0);
    EXPECT_STATUS(rem_unlock(heap), REM_SECTION_CONFLICT);
    other.run();
    ASSERT_EQ(::poll(&waits, 1, k_hang_seconds * 1000), 1);
    ASSERT_OK(rem_lock(heap, REM_LOCK_SHARED, 0));
    EXPECT_EQ(account_at("a")->balance, 2);
    EXPECT_EQ(::poll(&waits, 1, 0), 0);
    late.run();
    EXPECT_STATUS(rem_lock(heap, REM_LOCK_EXCLUSIVE, 0), REM_SECTION_CONFLICT) << "it would change what is read";
    ASSERT_OK(rem_unlock(heap));
    ASSERT_OK(rem_lock(heap, REM_LOCK_EXCLUSIVE, 0));
    kept_out.run();
    ASSERT_OK(rem_unlock(heap));
    EXPECT_STATUS(rem_lock(heap, static_cast<rem_lock_mode>(3), 0), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_poll_descriptor(heap, nullptr), REM_INVALID_ARGUMENT);
}

TEST_F(c_sharing, readers_are_listed_with_their_version) {
    std::uint64_t version = 0;
    add(1);
    ASSERT_OK(rem_version(heap, &version));
    other_process beside(*this, [&] {
        const auto readers = all_of(heap, rem_readers);
        ASSERT_EQ(readers.size(), 1U);
        EXPECT_EQ(readers[0].process, ::getppid());
        EXPECT_EQ(readers[0].version, version);
        EXPECT_GT(readers[0].since, 0);
    });
    ASSERT_OK(rem_read_begin(heap));
    beside.run();
    ASSERT_OK(rem_read_end(heap));
    EXPECT_TRUE(all_of(heap, rem_readers).empty());
}

TEST_F(c_sharing, a_section_may_be_undone) {
    account* const a = add(1);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 2;
    ASSERT_OK(rem_write_abort(heap));
    ASSERT_OK(rem_read_begin(heap));
    EXPECT_EQ(a->balance, 1);
    ASSERT_OK(rem_read_end(heap));
    a->balance = 3; // of no section
    EXPECT_STATUS(rem_write_begin(heap), REM_OUTSIDE_SECTION);
    ASSERT_OK(rem_write_begin(heap));
    EXPECT_EQ(a->balance, 1);
    ASSERT_OK(rem_write_end(heap));
}

TEST_F(c_sharing, may_have_one_history_for_all) {
    ASSERT_OK(rem_close(heap));
    const rem_options options = options_of(REM_TRANSACTIONAL);
    rem_history_options history{};
    history.size = sizeof history;
    history.steps_max = 100;
    EXPECT_STATUS(rem_open_shared_with_history(path.c_str(), &options, &history, &heap), REM_INVALID_ARGUMENT);
    EXPECT_EQ(heap, nullptr);
    EXPECT_NE(std::string(rem_last_error()->message).find("kept_over_sessions"), std::string::npos);
    history.kept_over_sessions = true;
    ASSERT_OK(rem_open_shared_with_history(path.c_str(), &options, &history, &heap));
    account* const a = add(1);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 2;
    ASSERT_OK(rem_write_end(heap));
    const pid_t other = ::fork();
    if (other == 0) {
        EXPECT_STATUS(rem_close(heap), REM_CLOSED);                // the inherited one
        EXPECT_OK(rem_open_shared(path.c_str(), &options, &heap)); // which names none, and has the heap's
        EXPECT_OK(rem_undo(heap, 1));
        EXPECT_OK(rem_close(heap));
        ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    ASSERT_OK(rem_read_begin(heap));
    EXPECT_EQ(a->balance, 1);
    ASSERT_OK(rem_read_end(heap));
    ASSERT_OK(rem_redo(heap, 1));
    EXPECT_EQ(a->balance, 2);
}

TEST_F(c_sharing, is_for_transactional_heaps_that_all_open_so) {
    rem_heap* second = heap;
    const std::string other = (dir / "other.rem").string();
    for (const rem_kind kind : {REM_SNAPSHOT, REM_ARCHIVE}) {
        const rem_options options = options_of(kind);
        EXPECT_STATUS(rem_open_shared(other.c_str(), &options, &second), REM_INVALID_ARGUMENT);
        EXPECT_EQ(second, nullptr);
    }
    EXPECT_STATUS(rem_open_shared(nullptr, nullptr, &second), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_open_shared(other.c_str(), nullptr, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_open(path.c_str(), nullptr, &second), REM_IN_USE);
    EXPECT_STATUS(rem_readers(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_writer(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
    ASSERT_OK(rem_close(heap));
    open(); // exclusively
    EXPECT_STATUS(rem_wait_for_version(heap, 0, 0), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_readers(heap, [](void*, const rem_participant*) { return true; }, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_write_begin_within(heap, 0), REM_OK); // of any heap
    EXPECT_OK(rem_write_end(heap));
}

} // namespace

} // namespace remanence::test
