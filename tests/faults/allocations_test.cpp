// Every allocation in a program's life fails, one after the other: once, and from then on.
//
// A run of all: 752 allocations, once and from then on, nothing lost; under the address sanitizer all 920 of a debug build.
#include "failing_new.hpp"
#include "program.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

namespace remanence::faults {
namespace {

#if defined(NDEBUG)
constexpr bool k_is_slow = false;
#else
constexpr bool k_is_slow = true; // sanitizers and debug builds are
#endif

class failing_allocations : public testing::TestWithParam<bool> {};

TEST_P(failing_allocations, lose_nothing_that_was_acknowledged) {
    const bool from_then_on = GetParam();
    {
        const test::temp_dir warm; // what is allocated once for all
        (void)run_program(warm.path(), false);
    }
    std::uint64_t unheard = 0;
    std::uint64_t repeated = 0;
    std::uint64_t n = 0;
    std::uint64_t tried = 0;
    const std::uint64_t stride = stride_of_faults(k_is_slow ? 7 : from_then_on ? 5 : 1);
    for (;; n += stride, tried++) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        const auto dir = test::temp_dir::in_memory();
        const std::filesystem::path where = dir.path();
        allocations() = {.armed = true, .from_then_on = from_then_on, .left = n};
        const story told = run_program(where, !from_then_on);
        allocations().armed = false;
        const bool struck = allocations().failed > 0;
        repeated += told.repeated;
        if (struck && told.heard.empty() && told.repeated == 0) {
            unheard++;
            EXPECT_TRUE(allocations().was_optional) << "nobody heard of it";
        }
        if (told.reason || told.found_by_verify) { // else it was std::bad_alloc
            EXPECT_EQ(told.reason, errc::poisoned) << told.heard;
        }
        ASSERT_EQ(check_what_is_left(where, told), "") << "heard: " << told.heard;
        if (!struck) {
            EXPECT_EQ(told.heard, "");
            break;
        }
    }
    EXPECT_GT(n, 100U);
    std::cout << tried << " of " << n << " allocations failed " << (from_then_on ? "from then on" : "once") << "; "
              << unheard << " times nobody heard, since less memory would do; " << repeated
              << " commits succeeded when repeated\n";
}

INSTANTIATE_TEST_SUITE_P(each, failing_allocations, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "from_then_on" : "once"; });

} // namespace
} // namespace remanence::faults
