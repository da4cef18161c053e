#include "txn/section_lock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace remanence::txn {
namespace {

using outcome = section_lock::outcome;

// Not under the thread sanitizer, which does not like it; a heap destroyed by its own section does not either.
TEST(section_lock, a_lock_destroyed_inside_a_section_is_forgotten) {
    int owner = 0;
    {
        section_lock lock(&owner);
        lock.enter_read(true);
    }
    section_lock another(&owner); // perhaps at the same address
    EXPECT_EQ(another.read_depth(), 0U);
    EXPECT_EQ(another.enter_write(false), outcome::outermost);
    another.leave_write();
}

TEST(section_lock, sections_may_end_in_any_order) {
    int owner = 0;
    section_lock lock(&owner);
    lock.enter_write(true);
    EXPECT_EQ(lock.enter_read(true), outcome::nested);
    EXPECT_FALSE(lock.leave_write());
    EXPECT_EQ(lock.enter_write(true), outcome::conflict);
    std::thread([&] { // what is left is a read section
        EXPECT_EQ(lock.enter_write(false), outcome::busy);
        EXPECT_EQ(lock.enter_read(false), outcome::outermost);
        EXPECT_TRUE(lock.leave_read());
    }).join();
    EXPECT_TRUE(lock.leave_read());
    std::thread([&] {
        EXPECT_EQ(lock.enter_write(false), outcome::outermost);
        lock.leave_write();
    }).join();
}

} // namespace
} // namespace remanence::txn
