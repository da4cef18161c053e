// Before-images that a checkpoint writes while commits go on: committed content stays what it is, whatever is committed, rolled
// back and given back to the kernel beside it.

#include "unit/view/view_fixture.hpp"

#include "support/seed.hpp"
#include "track/private_copies.hpp"

#include <random>

namespace remanence::view {
namespace {

class frozen_before_images : public view_with_tracker {
protected:
    void freeze() {
        auto pages = view_->settler().freeze();
        ASSERT_TRUE(pages) << pages.why().message;
        ASSERT_TRUE(store_->supers().confirm());
        auto composed = store_->writer().compose(*pages, {++version_, 1, {1, {}}, false, format::k_log_header_bytes});
        ASSERT_TRUE(composed) << composed.why().message;
        begun_ = std::move(*composed);
    }
    void step() { ASSERT_TRUE(begun_->step(k_page_bytes)); }
    void thaw() {
        ASSERT_TRUE(begun_->carry_out());
        store_->writer().adopt(*begun_);
        view_->settler().thaw();
        begun_.reset();
    }
    void expect_in_the_file(const std::vector<std::byte>& committed) {
        checkpoint(false);
        view_.reset();
        ASSERT_TRUE(reopen());
        open();
        EXPECT_EQ(memory(), committed);
    }
    std::unique_ptr<store::publication> begun_;
};

TEST_P(frozen_before_images, are_committed_content_beside_newer_before_images_and_after_rollbacks_and_settling) {
    std::mt19937_64 random(test::random_seed());
    put(0, 0, 1);
    commit(); // adds the one region, which must not be while one is under way
    auto committed = memory();
    int checkpoints = 0;
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t pages = round < 100 ? 40 : k_pages; // many are changed again and again
        for (std::uint64_t i = random() % 30; i > 0; --i)
            put(random() % pages, random() % k_page_bytes, static_cast<std::uint8_t>(random() % 3));
        const auto now = memory();
        switch (random() % 4) {
        case 0:
            ASSERT_TRUE(view_->rollback());
            ASSERT_EQ(memory(), committed) << "round " << round;
            break;
        case 1: {
            auto changes = collect(); // a commit that fails
            ASSERT_EQ(memory(), now);
            break;
        }
        default:
            commit();
            committed = now;
            ASSERT_TRUE(view_->settler().settle_some(commit_scope::everything, 1 + random() % 40));
            ASSERT_EQ(memory(), committed) << "round " << round;
        }
        const auto before = memory();
        if (!begun_ && random() % 8 == 0) {
            ASSERT_NO_FATAL_FAILURE(freeze());
        } else if (begun_ && random() % 8 == 0) {
            ASSERT_NO_FATAL_FAILURE(thaw());
            ++checkpoints;
        } else if (begun_) {
            ASSERT_NO_FATAL_FAILURE(step());
        }
        ASSERT_EQ(memory(), before) << "round " << round;
    }
    EXPECT_GT(checkpoints, 5);
    if (begun_)
        thaw();
    ASSERT_TRUE(view_->rollback());
    ASSERT_EQ(memory(), committed);
    expect_in_the_file(committed);
}

TEST_P(frozen_before_images, count_until_the_image_has_them) {
    put(0, 7, 1);
    commit();
    put(0, 7, 2);
    put(1, 7, 2);
    commit();
    EXPECT_EQ(view_->committed().before_image_bytes(), 2 * k_page_bytes);
    freeze();
    EXPECT_EQ(view_->committed().before_image_bytes(), 2 * k_page_bytes);
    put(0, 7, 3);
    commit();
    EXPECT_EQ(view_->committed().before_image_bytes(), 3 * k_page_bytes);
    thaw();
    EXPECT_EQ(view_->committed().before_image_bytes(), k_page_bytes);
}

// The tracker would report them again and again, where it goes by private copies.
TEST_P(frozen_before_images, leave_no_private_copies_behind_once_settled) {
    for (std::uint64_t page = 0; page < 3 * k_chunk_pages; ++page)
        put(page, 7, 1);
    commit();
    freeze(); // chunks without before-images
    thaw();
    put(5, 9, 1);
    commit();
    ASSERT_TRUE(view_->settler().settle_some(commit_scope::everything, 10 * k_chunk_pages));
    for (std::uint64_t page = k_chunk_pages; page < 2 * k_chunk_pages; ++page)
        put(page, 8, 2);
    commit();
    freeze();
    thaw();
    ASSERT_TRUE(view_->settler().settle_some(commit_scope::declared, 10 * k_chunk_pages));
    const auto committed = memory();
    std::vector<track::page_run> copies;
    auto all = track::private_copies::create(base());
    ASSERT_TRUE(all);
    ASSERT_TRUE(all->append({k_chunk, 2 * k_chunk}, copies));
    std::uint64_t left = 0;
    for (const track::page_run& run : copies)
        left += run.bytes / k_page_bytes;
    EXPECT_LE(left, 2U); // one that the trap tracker writes for the sake of mappings
    EXPECT_EQ(memory(), committed);
}

INSTANTIATE_TEST_SUITE_P(trackers, frozen_before_images, k_all_trackers, name_of_tracker);

} // namespace
} // namespace remanence::view
