// A class of numbers within a class that changes goes along with all its members. No other test moved one: a wrong offset of its
// members went unnoticed when it was planted.
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

namespace nested_types {

struct point {
    int x = 1;
    int y = 2;
};
struct before {
    long first = 0;
    point place{};
};
struct longer {
    long first = 0;
    point place{};
    int added = 7;
};
struct shifted {
    int added = 7;
    long first = 0;
    point place{};
};

} // namespace nested_types

namespace remanence {
namespace {

template <class New>
void expect_members_go_along() {
    const auto directory = test::temp_dir::in_memory();
    heap all = heap::create(directory / "h");
    all.write([&] {
        auto& root = all.root<nested_types::before>("root");
        root.first = 5;
        root.place = {11, 12};
    });
    (void)migrate<New>(all, "root");
    const auto& root = all.root<New>("root");
    EXPECT_EQ(root.first, 5);
    EXPECT_EQ(root.place.x, 11);
    EXPECT_EQ(root.place.y, 12);
    EXPECT_EQ(root.added, 7);
}

TEST(nested_members, go_along_when_a_member_is_added_behind) { expect_members_go_along<nested_types::longer>(); }
TEST(nested_members, go_along_when_a_member_is_added_before) { expect_members_go_along<nested_types::shifted>(); }

} // namespace
} // namespace remanence
