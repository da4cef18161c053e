#include <remanence/containers/detail/text_keys.hpp>
#include <remanence/containers/string_pi.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::detail {
namespace {

/// A text of each size up to 70, and beside it others that differ from it in one byte each, which is larger or smaller, as signed
/// numbers and as unsigned ones.
std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (std::size_t size = 0; size <= 70; ++size) {
        const std::string text(size, 'm');
        all.push_back(text);
        for (std::size_t at = 0; at < size; at += size < 20 ? 1 : 3) {
            for (const char other : {'a', 'z', '\0', '\x80', '\xff'}) {
                all.push_back(text);
                all.back()[at] = other;
            }
        }
    }
    return all;
}

TEST(text_keys, compare_as_string_views_do) {
    const std::vector<std::string> all = texts();
    ASSERT_GT(all.size(), 3'000U);
    for (const std::string& a : all) {
        for (const std::string& b : all) {
            const std::string_view first = a;
            const std::string_view second = b;
            if (is_less(first, second) != (first < second)) {
                ADD_FAILURE() << testing::PrintToString(a) << " and " << testing::PrintToString(b);
                return;
            }
        }
    }
}

struct by_size {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a.size() < b.size(); }
};

TEST(text_keys, leave_other_comparators_and_types_alone) {
    const std::string longer = "aaa";
    const std::string_view shorter = "bb";
    EXPECT_TRUE(less_keys(std::less<>(), longer, shorter));
    EXPECT_FALSE(less_keys(by_size(), longer, shorter));
    EXPECT_TRUE(less_keys(std::less<>(), string_pi("aaa"), shorter));
    EXPECT_TRUE(less_keys(std::less<>(), 1, 2L));
    EXPECT_TRUE(less_keys(std::less<>(), longer, "bb"));
}

} // namespace
} // namespace remanence::detail
