// Whoever syncs hears of a failure, although the kernel tells of it once.

#include "store/sticky_sync.hpp"

#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

namespace remanence::store {
namespace {

TEST(sticky_sync, a_failure_is_heard_by_all_later_ones_and_the_device_is_not_asked_again) {
    simulation::simulated_disk disk;
    const auto file = std::move(*disk.open_or_create("f", 0600));
    sticky_sync syncs(*file);
    EXPECT_TRUE(syncs.sync("test: before"));
    disk.fail_at(0, errc::no_space); // what reached the disk is unknown all the same
    const auto first = syncs.sync("test: first");
    ASSERT_FALSE(first);
    disk.work_again();
    const std::size_t asked = disk.trace().size();
    for (int again = 0; again < 2; ++again) {
        const auto later = syncs.sync("test: later");
        ASSERT_FALSE(later);
        EXPECT_EQ(later.why().code, errc::io);
        EXPECT_EQ(later.why().message, first.why().message);
    }
    EXPECT_EQ(disk.trace().size(), asked);
}

} // namespace
} // namespace remanence::store
