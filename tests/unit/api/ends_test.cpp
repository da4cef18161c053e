// How a heap ends that nobody closes: what its destructor commits, what it discards, and who hears of that. Ends of whole
// programs are tests/process/ending_test.cpp's.

#include "types/pointer_check.hpp"
#include "unit/api/fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace remanence::test {
namespace {

heap_options committing() {
    heap_options options = small_heap();
    options.commit_at_close = true;
    return options;
}

void set_number(heap& h, std::uint64_t value) { h.root<std::uint64_t>("number") = value; }

std::uint64_t number_of(const fs::path& file) { return heap::open(file, small_heap()).root<std::uint64_t>("number"); }

class the_end_of_a_heap : public testing::Test {
protected:
    the_end_of_a_heap() {
        heap h = heap::create(file_, small_heap());
        set_number(h, 1);
        h.commit();
    }
    temp_dir dir_;
    const fs::path file_ = dir_ / "h";
};

TEST_F(the_end_of_a_heap, by_an_exception_commits_nothing) {
    try {
        heap h = heap::open(file_, committing());
        set_number(h, 2);
        throw std::runtime_error("half way");
    } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
    }
    EXPECT_EQ(number_of(file_), 1);
    try {
        file_backed<std::uint64_t> number(dir_ / "n");
        *number = 5;
        number.commit();
        *number = 6;
        throw std::runtime_error("half way");
    } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
    }
    EXPECT_EQ(*file_backed<std::uint64_t>(dir_ / "n"), 5);
}

TEST_F(the_end_of_a_heap, by_an_exception_counts_where_the_heap_was_moved_to) {
    try {
        heap first = heap::open(file_, committing());
        heap second = std::move(first);
        heap third = heap::create(dir_ / "other", small_heap());
        third = std::move(second);
        set_number(third, 2);
        throw std::runtime_error("half way");
    } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
    }
    EXPECT_EQ(number_of(file_), 1);
}

/// Opens a heap, changes it, and lets it go, in its destructor.
struct writer_at_end {
    const fs::path& file;
    bool moves;
    ~writer_at_end() {
        heap h = heap::open(file, committing());
        set_number(h, 2);
        if (!moves)
            return;
        const heap moved = std::move(h);
    }
};

TEST_F(the_end_of_a_heap, that_lives_while_an_exception_is_under_way_is_an_ordinary_one) {
    for (const bool moves : {false, true}) {
        {
            heap h = heap::open(file_, committing());
            set_number(h, 1);
        }
        try {
            const writer_at_end at_end{file_, moves};
            throw std::runtime_error("under way");
        } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
        }
        EXPECT_EQ(number_of(file_), 2) << moves;
    }
}

TEST_F(the_end_of_a_heap, in_a_section_of_its_own_thread_commits_nothing_and_leaves_the_file_free) {
    const auto lock = [](heap& h) { h.lock(); };
    const auto lock_shared = [](heap& h) { h.lock_shared(); };
    for (const auto& enter : std::initializer_list<std::function<void(heap&)>>{lock, lock_shared}) {
        {
            heap h = heap::open(file_, committing());
            auto& number = h.root<std::uint64_t>("number");
            number = 2;
            enter(h); // and nobody leaves it
            number = 3;
        }
        EXPECT_EQ(number_of(file_), 1);
        EXPECT_FALSE(fs::exists(log_of(file_)));
    }
    heap h = heap::open(file_, small_heap()); // whose sections are not taken for those
    h.write([&] { set_number(h, 4); });
    h.close();
    EXPECT_EQ(number_of(file_), 4);
}

TEST_F(the_end_of_a_heap, within_write_or_read_of_its_own_rolls_back_and_is_told) {
    std::optional<heap> h;
    const auto open = [&]() -> std::uint64_t& {
        h.reset();
        h.emplace(heap::open(file_, committing()));
        return h->root<std::uint64_t>("number");
    };
    const auto is_closed = [&](const std::function<void()>& use) {
        try {
            use();
        } catch (const error& caught) {
            return caught.reason() == errc::closed &&
                   std::string(caught.what()).find("within its own") != std::string::npos;
        }
        return false;
    };
    std::uint64_t& number_of_first = open();
    EXPECT_TRUE(is_closed([&] {
        h->write([&] {
            number_of_first = 2;
            h.reset();
            const string mine("a text too long for the buffer inside a string"); // no heap's
        });
    }));
    open();
    EXPECT_TRUE(is_closed([&] { h->write([&] { h->write([&] { h.reset(); }); }); }));
    open();
    EXPECT_TRUE(is_closed([&] { (void)h->write_async([&] { h.reset(); }); }));
    open();
    EXPECT_TRUE(is_closed([&] { h->write([&] { h = heap::create(dir_ / "other", small_heap()); }); }));
    open();
    EXPECT_THROW(h->write([&, &number = h->root<std::uint64_t>("number")] {
        number = 2;
        h.reset();
        throw std::runtime_error("half way");
    }),
                 std::runtime_error);
    open();
    h->read([&] { h.reset(); });
    open();
    {
        const std::unique_lock lock(*h);
        h.reset();
    }
    EXPECT_EQ(detail::default_heap(), nullptr);
    EXPECT_EQ(number_of(file_), 1);
    h.emplace(heap::open(file_, small_heap()));
    h->write([&] { set_number(*h, 4); });
    h.reset();
    EXPECT_EQ(number_of(file_), 4);
}

/// What other threads see of a static heap, while others are destroyed after it.
std::atomic<int> times_closed = 0;
std::atomic<int> times_written = 0;
struct static_that_waits {
    ~static_that_waits() {
        while (times_closed < 100)
            std::this_thread::yield();
    }
};

void write_on(heap& h, numbers& list) {
    for (std::uint64_t i = 0;; ++i) {
        try {
            h.write([&] { list.push_back(i); });
            h.sync();
            ++times_written;
        } catch (const error& caught) {
            if (caught.reason() != errc::closed) {
                std::fprintf(stderr, "%s\n", caught.what());
                std::_Exit(4);
            }
            ++times_closed;
        }
        if (i % 3 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
}

TEST_F(the_end_of_a_heap, that_is_static_is_an_error_to_threads_that_still_use_it) {
    // The thread may be within a section: libraries that check say so.
    const char* const said = "^(remanence: the destructor discards [^\n]* A section was open[^\n]*\n)?$";
    for (int round = 0; round < 10; ++round) {
        EXPECT_EXIT(
            {
                static const static_that_waits last;
                static heap h = heap::open(file_, small_heap());
                static auto& list = h.root<numbers>("list");
                std::thread([] { write_on(h, list); }).detach();
                while (times_written < 1 + 3 * round)
                    std::this_thread::yield();
                std::exit(3);
            },
            testing::ExitedWithCode(3), said);
    }
    heap h = heap::open(file_, small_heap());
    EXPECT_TRUE(h.verify().clean());
}

// Threads of a test stay in this process, so they are in a child.
TEST_F(the_end_of_a_heap, in_a_section_of_another_thread_leaves_it_its_memory) {
    const std::string told = in_child([&] {
        std::string loss = "no loss";
        heap_options options = committing();
        options.checks.on_discard = [&](const discarded_changes& lost) {
            loss = lost.bytes ? "counted" : "not counted";
        };
        std::optional<heap> h(heap::open(file_, options));
        auto& number = h->root<std::uint64_t>("number");
        std::atomic<int> step = 0;
        std::thread other([&] {
            h->write([&] {
                number = 2;
                step = 1;
                step.notify_all();
                step.wait(1);
                number = 3;
                h.reset(); // a second time: nothing
            });
        });
        step.wait(0);
        h.reset();
        const bool is_found = heap_of(&number) != nullptr;
        step = 2;
        step.notify_all();
        other.join();
        return loss + (is_found ? ", a handle" : ", no handle") + ", " + std::to_string(number);
    });
    EXPECT_EQ(told, "not counted, no handle, 3");
    EXPECT_EQ(number_of(file_), 3); // its section ended
}

// What is thread_local is destroyed before statics are.
TEST_F(the_end_of_a_heap, is_not_reached_before_statics_that_use_it_are_destroyed) {
    EXPECT_EXIT(
        {
            static std::optional<heap> h;
            struct user {
                ~user() {
                    h->write([] { set_number(*h, 7); });
                    h->read([] { set_number(*h, 8); });
                }
            };
            h.emplace(heap::open(file_, small_heap()));
            h->write([] {});
            static const user last;
            std::exit(3);
        },
        testing::ExitedWithCode(3), "");
    EXPECT_EQ(number_of(file_), 7);
}

/// What on_discard was told, in the order of the calls.
class losses : public the_end_of_a_heap {
protected:
    heap_options listening(heap_options options = small_heap()) {
        options.checks.on_discard = [this](const discarded_changes& lost) { told_.push_back(lost); };
        return options;
    }
    testing::AssertionResult was_told(discarded_changes::by whom, std::uint64_t bytes) {
        if (told_.size() != 1)
            return testing::AssertionFailure() << told_.size() << " losses";
        const discarded_changes lost = told_.front();
        told_.clear();
        if (lost.whom != whom || lost.path != file_ || lost.bytes != bytes)
            return testing::AssertionFailure() << lost.bytes.value_or(0) << " bytes in " << lost.path;
        return testing::AssertionSuccess();
    }
    std::vector<discarded_changes> told_;
};

TEST_F(losses, are_counted_as_a_commit_would_and_told_by_close_destructor_and_unlock) {
    std::uint64_t bytes = 0;
    const auto change = [](heap& h) {
        auto& list = h.root<numbers>("numbers");
        for (std::uint64_t& each : list)
            each += 1;
    };
    {
        heap h = heap::open(file_, listening());
        h.write([&] { h.root<numbers>("numbers", 1000); });
        const std::uint64_t before = h.stats().changed_bytes;
        h.write([&] { change(h); });
        bytes = h.stats().changed_bytes - before;
        EXPECT_EQ(bytes, 8000);
    }
    EXPECT_TRUE(told_.empty());
    {
        heap h = heap::open(file_, listening());
        change(h);
        h.close();
        EXPECT_TRUE(was_told(discarded_changes::by::close, bytes));
    }
    {
        heap h = heap::open(file_, listening());
        change(h);
        EXPECT_TRUE(told_.empty());
    }
    EXPECT_TRUE(was_told(discarded_changes::by::destructor, bytes));
    heap h = heap::open(file_, listening());
    testing::internal::CaptureStderr(); // unlock() says so, too
    for (const std::uint64_t lost : {bytes, 2 * bytes}) {
        {
            const std::unique_lock outer(h);
            change(h);
            EXPECT_THROW(h.write([] { throw std::runtime_error("inner"); }), std::runtime_error);
        }
        EXPECT_TRUE(was_told(discarded_changes::by::unlock, bytes));
        EXPECT_TRUE(is_error(error_of([&] { h.commit(); }), errc::rolled_back, file_, "rolled the section back"));
        EXPECT_EQ(h.stats().discarded_bytes, lost);
    }
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

TEST_F(losses, of_an_exception_that_takes_the_heap_away_are_told) {
    try {
        heap h = heap::open(file_, listening(committing()));
        set_number(h, 2);
        throw std::runtime_error("half way");
    } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
    }
    EXPECT_TRUE(was_told(discarded_changes::by::destructor, 8));
}

TEST_F(losses, are_none_where_the_program_takes_back_commits_or_changes_nothing) {
    {
        heap h = heap::open(file_, listening());
        set_number(h, 2);
        h.rollback();
        EXPECT_THROW(h.write([&] {
            set_number(h, 2);
            throw std::runtime_error("changed its mind");
        }),
                     std::runtime_error);
        try {
            const std::unique_lock lock(h);
            set_number(h, 2);
            throw std::runtime_error("changed its mind");
        } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
        }
        {
            const std::unique_lock lock(h);
            set_number(h, 3);
        }
        set_number(h, 2);
        set_number(h, 3); // as it was
        EXPECT_EQ(h.stats().discarded_bytes, 0);
    }
    {
        heap h = heap::open(file_, listening(committing()));
        set_number(h, 4);
    }
    heap::create(dir_ / "new", listening()).close(); // a heap in which nothing ever was
    heap_options reading = listening();
    reading.read_only = true;
    heap::open(file_, reading).close();
    file_backed<std::uint64_t>(dir_ / "number", {.heap = listening()}).commit();
    EXPECT_TRUE(told_.empty());
}

TEST_F(losses, are_said_once_on_standard_error_in_builds_that_check) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) {
        heap h = heap::open(file_, small_heap());
        set_number(h, 2);
        if (i == 0)
            h.close();
    }
    const std::string said = testing::internal::GetCapturedStderr();
    const auto expected = [&](const std::string& whom) {
        return "remanence: " + whom + " discards 8 bytes that were changed in the heap " + file_.string() +
               " and not committed, the first of them below the root \"number\" of type unsigned long. " +
               "Call commit() before, make changes in write(), or open the heap with commit_at_close.\n";
    };
    EXPECT_EQ(said, types::checks_pointers() ? expected("close()") + expected("the destructor") : "");
}

} // namespace
} // namespace remanence::test
