// Every kernel gives what the definition says, so all of them give the same.
//
// Kernels that the processor lacks are skipped. That of AVX-512 has run over emulated instructions (SIMDe) only: it agreed with the plain one on 35,768
// pages.
#include "view/diff_kernels.hpp"

#include "base/units.hpp"
#include "support/seed.hpp"
#include "view/diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace remanence::view {

namespace {

using page_contents =
    std::vector<std::byte>; // of exactly 4 KiB, so that the address sanitizer sees who reads beyond it

constexpr std::size_t k_units = k_page_bytes / k_diff_unit_bytes;

diff_masks definition(const std::byte* before, const std::byte* after) {
    diff_masks masks{};
    for (std::size_t unit = 0; unit < k_units; ++unit) {
        const std::size_t at = unit * k_diff_unit_bytes;
        if (std::memcmp(before + at, after + at, k_diff_unit_bytes) != 0)
            masks[unit / k_diff_units_per_mask] |= std::uint64_t{1} << unit % k_diff_units_per_mask;
    }
    return masks;
}

diff_masks units_from(std::size_t first, std::size_t count) {
    diff_masks masks{};
    for (std::size_t unit = first; unit < first + count; ++unit)
        masks[unit / k_diff_units_per_mask] |= std::uint64_t{1} << unit % k_diff_units_per_mask;
    return masks;
}

page_contents random_page(std::mt19937_64& random) {
    page_contents bytes(k_page_bytes);
    for (std::byte& each : bytes)
        each = static_cast<std::byte>(random());
    return bytes;
}

void flip_bit(page_contents& bytes, std::size_t bit) { bytes[bit / 8] ^= std::byte{1} << bit % 8; }

class every_diff_kernel : public testing::TestWithParam<const diff_kernel*> {
protected:
    every_diff_kernel() : random_(seed_) {}

    void SetUp() override {
        if (!kernel().is_supported())
            GTEST_SKIP() << "this machine does not support " << kernel().name;
    }
    static const diff_kernel& kernel() { return *GetParam(); }

    void expect_masks(const std::byte* before, const std::byte* after, const diff_masks& wanted) const {
        diff_masks got;
        got.fill(0x5555'aaaa'5555'aaaa); // whatever was there
        ASSERT_EQ(kernel().compare(before, after, got), wanted != diff_masks{}) << "seed " << seed_;
        ASSERT_EQ(got, wanted) << "seed " << seed_;
    }

    const std::uint64_t seed_ = test::random_seed();
    std::mt19937_64 random_;
};

TEST_P(every_diff_kernel, finds_nothing_in_equal_pages) {
    for (int round = 0; round < 100; ++round) {
        const page_contents before = random_page(random_);
        const page_contents after(before.begin(), before.end()); // elsewhere
        ASSERT_NO_FATAL_FAILURE(expect_masks(before.data(), after.data(), {}));
    }
}

TEST_P(every_diff_kernel, finds_each_single_bit) {
    const page_contents before = random_page(random_);
    page_contents after = before;
    for (std::size_t bit = 0; bit < k_page_bytes * 8; ++bit) {
        flip_bit(after, bit);
        const diff_masks wanted = units_from(bit / (8 * k_diff_unit_bytes), 1);
        ASSERT_NO_FATAL_FAILURE(expect_masks(before.data(), after.data(), wanted)) << "bit " << bit;
        flip_bit(after, bit);
    }
}

TEST_P(every_diff_kernel, finds_each_single_unit_that_did_not_change) {
    const page_contents before = random_page(random_);
    page_contents after = before;
    for (std::byte& each : after)
        each = ~each;
    for (std::size_t unit = 0; unit < k_units; ++unit) {
        const std::size_t at = unit * k_diff_unit_bytes;
        page_contents all_but_one = after;
        std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(at), k_diff_unit_bytes,
                    all_but_one.begin() + static_cast<std::ptrdiff_t>(at));
        diff_masks wanted = units_from(0, k_units);
        wanted[unit / k_diff_units_per_mask] ^= std::uint64_t{1} << unit % k_diff_units_per_mask;
        ASSERT_NO_FATAL_FAILURE(expect_masks(before.data(), all_but_one.data(), wanted)) << "unit " << unit;
    }
}

// The ranges, too: a run that crosses from one mask to the next is one range.
TEST_P(every_diff_kernel, finds_runs_of_units_from_anywhere_to_anywhere) {
    const page_contents before = random_page(random_);
    for (const std::size_t count :
         {2U, 3U, 7U, 8U, 9U, 15U, 16U, 17U, 63U, 64U, 65U, 127U, 128U, 129U, 256U, 448U, 511U, 512U}) {
        for (std::size_t first = 0; first + count <= k_units; ++first) {
            page_contents after = before;
            for (std::size_t unit = first; unit < first + count; ++unit)
                flip_bit(after, unit * 8 * k_diff_unit_bytes + random_() % (8 * k_diff_unit_bytes));
            ASSERT_NO_FATAL_FAILURE(expect_masks(before.data(), after.data(), units_from(first, count)));
            std::vector<format::change_range> ranges;
            diff_pages(kernel(), before.data(), after.data(), ranges);
            ASSERT_EQ(ranges.size(), 1U) << count << " units from " << first;
            ASSERT_EQ(ranges[0].offset, first * k_diff_unit_bytes);
            ASSERT_EQ(ranges[0].bytes, count * k_diff_unit_bytes);
        }
    }
}

TEST_P(every_diff_kernel, agrees_with_the_definition_and_scalar_at_every_density) {
    const diff_kernel& scalar = diff_kernels().back();
    for (const double density : {0.002, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.998, 1.0}) {
        std::bernoulli_distribution is_changed(density);
        for (int round = 0; round < 300; ++round) {
            const page_contents before = random_page(random_);
            page_contents after = before;
            for (std::size_t unit = 0; unit < k_units; ++unit) {
                if (is_changed(random_))
                    flip_bit(after, unit * 8 * k_diff_unit_bytes + random_() % (8 * k_diff_unit_bytes));
            }
            const diff_masks wanted = definition(before.data(), after.data());
            ASSERT_NO_FATAL_FAILURE(expect_masks(before.data(), after.data(), wanted)) << "density " << density;
            diff_masks of_scalar{};
            scalar.compare(before.data(), after.data(), of_scalar);
            ASSERT_EQ(of_scalar, wanted) << "seed " << seed_;
        }
    }
}

TEST_P(every_diff_kernel, takes_pages_at_any_address) {
    for (std::size_t shift = 0; shift < 64; ++shift) {
        page_contents before = random_page(random_);
        page_contents after = before;
        flip_bit(after, random_() % (k_page_bytes * 8));
        const diff_masks wanted = definition(before.data(), after.data());
        before.insert(before.begin(), shift, std::byte{1});
        after.insert(after.begin(), 63 - shift, std::byte{2});
        ASSERT_NO_FATAL_FAILURE(expect_masks(before.data() + shift, after.data() + 63 - shift, wanted));
    }
}

std::vector<const diff_kernel*> each_kernel() {
    std::vector<const diff_kernel*> kernels;
    for (const diff_kernel& kernel : diff_kernels())
        kernels.push_back(&kernel);
    return kernels;
}

INSTANTIATE_TEST_SUITE_P(kernels, every_diff_kernel, testing::ValuesIn(each_kernel()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

TEST(diff_kernels, are_supported_as_the_kernel_says) {
    EXPECT_STREQ(diff_kernels().back().name, "scalar");
    EXPECT_TRUE(diff_kernels().back().is_supported());
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line) && !line.starts_with("flags")) {
    }
    std::istringstream words(line);
    const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
    for (const diff_kernel& kernel : diff_kernels().first(diff_kernels().size() - 1)) {
        const std::string flag = std::string(kernel.name) == "avx512" ? "avx512f" : kernel.name;
        EXPECT_EQ(kernel.is_supported(), std::find(flags.begin(), flags.end(), flag) != flags.end()) << kernel.name;
    }
}

} // namespace
} // namespace remanence::view
