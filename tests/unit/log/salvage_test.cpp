#include "log/salvage.hpp"
#include "log_fixture.hpp"

namespace remanence::log {
namespace {

class log_salvage : public log_on_disk {};

// What recover() refuses as a whole, salvage() takes as far as it is sound.
TEST_F(log_salvage, passes_over_a_record_that_does_not_fit) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    record_builder builder;
    std::vector<std::uint32_t> sums(k_chunk_pages, 7);
    builder.add_fresh(0, sums); // a chunk that is there already
    const auto ours = memory_.at(0);
    std::vector<std::byte> page(k_page_bytes, std::byte{9});
    format::change_range range{8, 16};
    builder.add_page(0, page_checksum(page), {&range, 1}, page.data());
    append(builder, k_chunk);
    crash();
    EXPECT_EQ(recover().why().code, errc::corrupt);
    ASSERT_TRUE(reopen());
    std::vector<failure> damage;
    auto outcome = salvage(disk_, *store_, [&](const failure& each) { damage.push_back(each); }, {});
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].offset, offsets_[2]);
    EXPECT_EQ(store_->super().checkpoint_version, 2U);
    ASSERT_TRUE(store_->read_pages(0, page));
    EXPECT_EQ(page, ours); // nothing of that record was applied
}

TEST_F(log_salvage, applies_nothing_of_a_record_of_which_a_part_fits) {
    commit(0, {}, 1);
    ASSERT_TRUE(store_->add_regions(3 * k_chunk));
    const std::vector<std::uint32_t> sums(k_chunk_pages, 7);
    record_builder builder;
    builder.add_fresh(2, sums);
    builder.add_fresh(0, sums); // a chunk that is there already
    append(builder, 3 * k_chunk);
    crash();
    std::vector<failure> damage;
    auto outcome = salvage(disk_, *store_, [&](const failure& each) { damage.push_back(each); }, {});
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].offset, offsets_[1]);
    EXPECT_EQ(store_->image_bytes(), k_chunk);
    EXPECT_FALSE(store_->is_stored(2));
}

TEST_F(log_salvage, puts_in_a_page_that_does_not_become_what_its_record_says_so_that_checks_notice) {
    commit(0, {}, 1);
    commit({}, {0, 1}, 2);
    crash();
    const auto home = store_->home_of(0);
    flip(home + 900);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover().why().code, errc::corrupt);
    ASSERT_TRUE(reopen());
    auto outcome = salvage(disk_, *store_, [](const failure& each) { ADD_FAILURE() << each.message; }, {});
    ASSERT_TRUE(outcome) << outcome.why().message;
    std::vector<std::byte> page(k_page_bytes);
    auto damaged = store_->read_pages(0, page);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.why().offset, home);
    ASSERT_TRUE(store_->read_pages(1, page));
    EXPECT_EQ(page, states_[1][1]);
}

TEST_F(log_salvage, of_what_is_whole_is_a_recovery) {
    commit(0, {}, 1);
    commit(3, {0, 1, 5}, 2);
    commit({}, {3 * k_chunk_pages, 1}, 4, 4088);
    crash();
    auto outcome = salvage(disk_, *store_, [](const failure& each) { ADD_FAILURE() << each.message; }, {});
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 3U);
    EXPECT_TRUE(store_->is_clean());
    ASSERT_TRUE(remove_log(disk_, k_path)); // salvage leaves it, for whoever looks
    ASSERT_TRUE(reopen());
    expect_state(3);
}

} // namespace
} // namespace remanence::log
