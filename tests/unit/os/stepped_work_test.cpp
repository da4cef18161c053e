#include "os/stepped_work.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace remanence::os {
namespace {

TEST(stepped_work, runs_in_turns_with_its_caller) {
    std::vector<int> order;
    std::thread::id where;
    stepped_work* self = nullptr;
    stepped_work work([&] {
        where = std::this_thread::get_id();
        for (int i = 0; i != 3; ++i) {
            order.push_back(i);
            ASSERT_TRUE(self->pause());
        }
    });
    self = &work;
    EXPECT_TRUE(order.empty()); // it begins at the first run()
    for (int i = 0; i != 3; ++i) {
        ASSERT_FALSE(work.run());
        order.push_back(10 + i);
    }
    EXPECT_TRUE(work.run());
    EXPECT_TRUE(work.run()); // is done
    EXPECT_EQ(order, (std::vector{0, 10, 1, 11, 2, 12}));
    EXPECT_NE(where, std::this_thread::get_id());
}

TEST(stepped_work, throws_in_run_what_the_work_has_thrown) {
    stepped_work* self = nullptr;
    stepped_work work([&] {
        (void)self->pause();
        throw std::runtime_error("no");
    });
    self = &work;
    ASSERT_FALSE(work.run());
    EXPECT_THROW(work.run(), std::runtime_error);
}

TEST(stepped_work, that_is_given_up_is_told_once_and_ends) {
    int resumed = 0;
    bool has_begun = false;
    {
        stepped_work* self = nullptr;
        stepped_work work([&] {
            while (self->pause())
                ++resumed;
            EXPECT_FALSE(self->pause()); // it does not wait any longer
        });
        self = &work;
        ASSERT_FALSE(work.run());
        ASSERT_FALSE(work.run());
        const stepped_work never([&] { has_begun = true; });
    }
    EXPECT_EQ(resumed, 1);
    EXPECT_FALSE(has_begun);
}

} // namespace
} // namespace remanence::os
