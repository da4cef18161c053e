// The table "What survives" of docs/from-std-map.md.
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace survives_test { // the types of roots need names

struct point {
    std::int64_t x = 0;
    point* next = nullptr;
};
struct drawing {
    remanence::map<remanence::string, point> points;
    point* first = nullptr;
};

} // namespace survives_test

namespace remanence::test {
namespace {

using survives_test::drawing;
using survives_test::point;

heap_options one_gib() { return {.memory = {.reserve_bytes = std::uint64_t{1} << 30}}; }

class what_survives : public testing::Test {
protected:
    what_survives() : heap_(heap::create(dir_ / "drawing.rem", one_gib())), drawing_(&heap_.root<drawing>("drawing")) {
        heap_.write([&] {
            for (int i = 0; i < 100; ++i)
                drawing_->points[string(std::to_string(i))].x = i;
            drawing_->first = heap_.make<point>(point{.x = 7, .next = &drawing_->points.at("3")});
        });
        element_ = drawing_->points.find("5");
        reference_ = &drawing_->points.at("6").x;
    }

    void expect_valid() const {
        EXPECT_EQ(element_->first, "5");
        EXPECT_EQ(element_->second.x, 5);
        EXPECT_EQ(drawing_->points.find("5"), element_);
        EXPECT_EQ(*reference_, 6);
        EXPECT_EQ(&drawing_->points.at("6").x, reference_);
        EXPECT_EQ(drawing_->first->next, &drawing_->points.at("3"));
        EXPECT_EQ(drawing_->first->next->x, 3);
    }

    temp_dir dir_ = temp_dir::in_memory();
    heap heap_;
    drawing* drawing_;
    map<string, point>::iterator element_;
    const std::int64_t* reference_ = nullptr;
};

TEST_F(what_survives, commits_checkpoints_and_the_growth_of_heap_and_map) {
    for (int round = 0; round < 3; ++round) {
        heap_.write([&] {
            for (int i = 0; i < 1000; ++i)
                drawing_->points[string(std::to_string(1000 * round + i + 100))].x = i;
            const point* const before = drawing_->first;
            heap_.root<vector<std::byte>>("bytes").resize(std::size_t{32} << (20 + round));
            EXPECT_EQ(drawing_->first, before);
        });
        expect_valid();
        heap_.checkpoint();
        expect_valid();
    }
    EXPECT_GE(heap_.stats().heap_bytes, std::uint64_t{128} << 20);
}

TEST_F(what_survives, a_rollback) {
    drawing_->points[string("new")].x = 1;
    drawing_->points.at("5").x = 55;
    drawing_->points.erase("7");
    heap_.rollback();
    expect_valid();
    EXPECT_FALSE(drawing_->points.contains("new"));
    EXPECT_EQ(drawing_->points.at("7").x, 7);
}

TEST_F(what_survives, the_next_run_if_it_is_stored) {
    const point* const first = drawing_->first;
    heap_.close();
    const heap again = heap::open_existing(dir_ / "drawing.rem", one_gib());
    const drawing* const found = again.find_root<drawing>("drawing");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->first, first);
    EXPECT_EQ(found->first->x, 7);
    EXPECT_EQ(found->first->next, &found->points.at("3"));
}

} // namespace
} // namespace remanence::test
