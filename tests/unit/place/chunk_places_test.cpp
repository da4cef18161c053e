#include "place/chunk_places.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::place {
namespace {

using enum chunk_state;

class chunk_places_test : public testing::Test {
protected:
    static constexpr std::uint64_t k_chunk = 5000; // with others before it
    /// Brings the chunk from fresh to that state.
    void reach(chunk_state what) {
        if (what == spilled)
            places_.spill(k_chunk);
        if (what == unmapped || what == mapped || what == moved || what == moving)
            places_.commit_fresh(k_chunk);
        if (what == mapped || what == moved || what == moving)
            (void)places_.map(k_chunk);
        if (what == moved)
            places_.commit_relocated(k_chunk);
        if (what == moving)
            places_.spill(k_chunk);
        ASSERT_EQ(places_.of(k_chunk), what);
    }
    chunk_places places_;
};

struct allowed_step {
    const char* name;
    std::function<void(chunk_places&, std::uint64_t)> take;
    std::vector<std::pair<chunk_state, chunk_state>> from_to;
};

TEST_F(chunk_places_test, each_allowed_step_leads_where_it_should) {
    const std::vector<allowed_step> steps{
        {"spill",
         [](auto& p, auto c) { p.spill(c); },
         {{fresh, spilled}, {spilled, spilled}, {mapped, moving}, {moving, moving}}},
        {"give_up", [](auto& p, auto c) { p.give_up(c); }, {{spilled, fresh}}},
        {"commit_fresh", [](auto& p, auto c) { p.commit_fresh(c); }, {{fresh, unmapped}, {spilled, mapped}}},
        {"commit_relocated",
         [](auto& p, auto c) { p.commit_relocated(c); },
         {{mapped, moved}, {moving, mapped}, {moved, mapped}, {unmapped, unmapped}, {fresh, unmapped}}},
        {"map",
         [](auto& p, auto c) { (void)p.map(c); },
         {{unmapped, mapped}, {moved, mapped}, {moving, mapped}, {fresh, mapped}, {mapped, mapped}}},
        {"forget",
         [](auto& p, auto c) { p.forget(c); },
         {{unmapped, fresh}, {moved, fresh}, {mapped, fresh}, {fresh, fresh}}},
    };
    for (const allowed_step& step : steps) {
        for (const auto& [from, to] : step.from_to) {
            SCOPED_TRACE(std::string(step.name) + " from " + std::to_string(static_cast<int>(from)));
            places_ = {};
            ASSERT_NO_FATAL_FAILURE(reach(from));
            step.take(places_, k_chunk);
            EXPECT_EQ(places_.of(k_chunk), to);
            EXPECT_EQ(places_.unmapped_count(), to == unmapped ? 1U : 0U);
            EXPECT_EQ(places_.is_anonymous(k_chunk), to == fresh || to == unmapped);
            EXPECT_EQ(places_.of(k_chunk - 1), fresh);
            EXPECT_EQ(places_.of(k_chunk + 1), fresh);
        }
    }
}

TEST_F(chunk_places_test, mapping_tells_whether_a_former_copy_is_left) {
    reach(moved);
    EXPECT_EQ(places_.map(k_chunk), moved);
    EXPECT_EQ(places_.map(k_chunk), mapped);
}

TEST_F(chunk_places_test, chunks_of_a_heap_just_opened_are_mapped_by_ranges) {
    places_.begin_with({{2, 3}, {1500, 1000}});
    for (const std::uint64_t chunk : {2U, 4U, 1500U, 2499U})
        EXPECT_EQ(places_.of(chunk), mapped) << chunk;
    for (const std::uint64_t chunk : {0U, 1U, 5U, 1499U, 2500U})
        EXPECT_EQ(places_.of(chunk), fresh) << chunk;
    places_.spill(4);
    places_.reserve(2499);
    EXPECT_EQ(places_.of(4), moving);
    EXPECT_EQ(places_.of(3), mapped);
    EXPECT_EQ(places_.of(5), fresh);
    EXPECT_EQ(places_.of(2499), mapped);
    EXPECT_EQ(places_.of(2500), fresh);
}

} // namespace
} // namespace remanence::place
