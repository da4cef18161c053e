// The tree of checksums, over one to three levels, on a sparse simulated file.

#include "store/checksum_table.hpp"

#include "base/units.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/store/store_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace remanence::store {
namespace {

class checksum_table_of : public testing::TestWithParam<std::uint64_t> {
protected:
    [[nodiscard]] format::region region(format::node_reference root = {}) const {
        return {0, GetParam(), 64 * KiB, 1 * TiB, root};
    }
    simulation::simulated_disk disk_;
    std::unique_ptr<os::file> file_ = std::move(*disk_.open_or_create("f", 0600));
};

TEST_P(checksum_table_of, round_trips_and_never_overwrites_what_the_last_root_names) {
    std::mt19937_64 random(test::random_seed());
    const std::uint64_t pages = GetParam() / k_page_bytes;
    std::map<std::uint64_t, std::uint32_t> model;
    std::map<std::uint64_t, std::uint32_t> previous;
    format::node_reference root{};
    auto expect = [&](const format::node_reference& at, const std::map<std::uint64_t, std::uint32_t>& wanted) {
        checksum_table table(*file_, region(at));
        for (const auto& [page, sum] : wanted) {
            auto got = table.get(page);
            ASSERT_TRUE(got) << got.why().message;
            ASSERT_EQ(*got, sum) << page;
        }
        std::map<std::uint64_t, std::uint32_t> walked;
        table.walk([](std::uint64_t offset) { ADD_FAILURE() << "damage at " << offset; },
                   [&](std::uint64_t page, std::uint32_t sum) { walked[page] = sum; });
        ASSERT_EQ(walked, wanted);
    };
    for (int round = 0; round < 12; ++round) {
        checksum_table table(*file_, region(root));
        const auto old_root = root;
        previous = model;
        for (std::uint64_t i = 0; i < random() % 40 + 1; ++i) {
            const std::uint64_t page = i == 0 ? (round % 2 == 0 ? pages - 1 : 0) : random() % pages;
            const auto sum = static_cast<std::uint32_t>(random() | 1);
            ASSERT_TRUE(table.reserve(page));
            ASSERT_TRUE(table.set(page, sum));
            model[page] = sum;
        }
        auto written = write_changed(table, *file_);
        ASSERT_TRUE(written);
        root = *written;
        ASSERT_NO_FATAL_FAILURE(expect(root, model));
        if (round > 0) {
            ASSERT_NO_FATAL_FAILURE(expect(old_root, previous)); // I1
        }
        EXPECT_EQ((*write_changed(table, *file_)).checksum, root.checksum); // nothing changed, nothing written
    }
    EXPECT_LE(*file_->size(), 64 * KiB + checksum_table::file_bytes(GetParam()));
}

TEST_P(checksum_table_of, a_damaged_node_is_corrupt_at_its_place_and_others_still_read) {
    checksum_table table(*file_, region());
    const std::uint64_t last = GetParam() / k_page_bytes - 1;
    ASSERT_TRUE(table.set(last, 7));
    auto root = *write_changed(table, *file_);
    // The first write of a table is its leaf, at its place in the sweep.
    std::uint64_t leaf = 0;
    for (const auto& operation : disk_.trace()) {
        if (operation.is_write() && leaf == 0)
            leaf = operation.offset;
    }
    std::byte b{0xff};
    ASSERT_TRUE(file_->write("test", leaf + 9, {&b, 1}));
    checksum_table again(*file_, region(root));
    auto got = again.get(last);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.why().code, errc::corrupt);
    EXPECT_EQ(got.why().offset, leaf);
    if (GetParam() > format::k_leaf_span) {
        EXPECT_EQ(*again.get(0), 0U);
    }
    root.slot = 2;
    EXPECT_FALSE(checksum_table(*file_, region(root)).get(last)); // I7
}

INSTANTIATE_TEST_SUITE_P(levels, checksum_table_of, testing::Values(4 * MiB, 8 * MiB, 1 * GiB, 3 * GiB, 300 * GiB),
                         [](const auto& bytes) { return std::to_string(bytes.param / MiB) + "_MiB"; });

} // namespace
} // namespace remanence::store
