#include "txn/section_lock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace remanence::txn {
namespace {

using outcome = section_lock::outcome;

outcome try_write_elsewhere(section_lock& lock) {
    outcome got{};
    std::thread([&] {
        got = lock.enter_write(false);
        if (got == outcome::outermost)
            lock.leave_write();
    }).join();
    return got;
}
outcome try_read_elsewhere(section_lock& lock) {
    outcome got{};
    std::thread([&] {
        got = lock.enter_read(false);
        if (got == outcome::outermost)
            lock.leave_read();
    }).join();
    return got;
}

TEST(section_lock_threads, writers_exclude_everybody_and_readers_only_writers) {
    section_lock lock(nullptr);
    ASSERT_EQ(lock.enter_write(true), outcome::outermost);
    EXPECT_EQ(try_write_elsewhere(lock), outcome::busy);
    EXPECT_EQ(try_read_elsewhere(lock), outcome::busy);
    EXPECT_TRUE(lock.leave_write());
    ASSERT_EQ(lock.enter_read(true), outcome::outermost);
    EXPECT_EQ(try_write_elsewhere(lock), outcome::busy);
    EXPECT_EQ(try_read_elsewhere(lock), outcome::outermost);
    EXPECT_TRUE(lock.leave_read());
    EXPECT_EQ(try_write_elsewhere(lock), outcome::outermost);
}

TEST(section_lock_threads, readers_that_come_while_a_writer_waits_queue_behind_it) {
    section_lock lock(nullptr);
    ASSERT_EQ(lock.enter_read(true), outcome::outermost);
    std::thread writer([&] {
        lock.enter_write(true);
        lock.leave_write();
    });
    while (try_read_elsewhere(lock) != outcome::busy)
        std::this_thread::yield(); // for ever, if readers passed it
    EXPECT_TRUE(lock.leave_read());
    writer.join();
    EXPECT_EQ(try_read_elsewhere(lock), outcome::outermost);
}

TEST(section_lock_threads, sections_nest_and_the_outermost_ends_them) {
    section_lock lock(nullptr);
    EXPECT_EQ(lock.enter_write(false), outcome::outermost);
    EXPECT_EQ(lock.enter_read(false), outcome::nested); // reading joins writing
    EXPECT_EQ(lock.enter_write(false), outcome::nested);
    EXPECT_EQ(lock.write_depth(), 2U);
    EXPECT_EQ(lock.read_depth(), 1U);
    EXPECT_FALSE(lock.leave_write());
    EXPECT_FALSE(lock.leave_read());
    EXPECT_EQ(try_read_elsewhere(lock), outcome::busy);
    EXPECT_TRUE(lock.leave_write());
    EXPECT_EQ(lock.write_depth() + lock.read_depth(), 0U);

    EXPECT_EQ(lock.enter_read(false), outcome::outermost);
    EXPECT_EQ(lock.enter_read(false), outcome::nested);
    EXPECT_EQ(lock.enter_write(true), outcome::conflict); // it would wait for itself
    EXPECT_EQ(lock.enter_write(false), outcome::conflict);
    EXPECT_FALSE(lock.leave_read());
    EXPECT_EQ(try_write_elsewhere(lock), outcome::busy);
    EXPECT_TRUE(lock.leave_read());
    EXPECT_EQ(try_write_elsewhere(lock), outcome::outermost);
}

TEST(section_lock_threads, the_innermost_write_section_names_its_owner) {
    int a = 0;
    int b = 0;
    section_lock first(&a);
    section_lock second(&b);
    EXPECT_EQ(section_lock::innermost_write().owner, nullptr);
    first.enter_write(true);
    EXPECT_EQ(section_lock::innermost_write().owner, &a);
    second.enter_read(true);
    EXPECT_EQ(section_lock::innermost_write().owner, &a);
    second.leave_read();
    second.enter_write(true);
    EXPECT_EQ(section_lock::innermost_write().owner, &b);
    void* elsewhere = &a;
    std::thread([&] { elsewhere = section_lock::innermost_write().owner; }).join();
    EXPECT_EQ(elsewhere, nullptr);
    second.leave_write();
    EXPECT_EQ(section_lock::innermost_write().owner, &a);
    first.leave_write();
    EXPECT_EQ(section_lock::innermost_write().owner, nullptr);
}

TEST(section_lock_threads, the_innermost_write_section_is_the_one_entered_last) {
    int a = 0;
    int b = 0;
    section_lock first(&a);
    section_lock second(&b);
    first.enter_write(true);
    const std::uint64_t moment = section_lock::next_moment();
    EXPECT_LT(section_lock::innermost_write().moment, moment);
    second.enter_write(true);
    EXPECT_GT(section_lock::innermost_write().moment, moment);
    first.enter_write(true); // nested, and later than the other's
    EXPECT_EQ(section_lock::innermost_write().owner, &a);
    first.leave_write();
    EXPECT_EQ(section_lock::innermost_write().owner, &b);
    first.leave_write(); // before what was entered in it
    EXPECT_EQ(section_lock::innermost_write().owner, &b);
    second.leave_write();
    EXPECT_EQ(section_lock::innermost_write().owner, nullptr);
}

} // namespace
} // namespace remanence::txn
