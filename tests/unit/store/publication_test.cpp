// A publication: what is committed beside it is not in it, each step leaves a heap that opens, and nothing of it counts
// before it is carried out.

#include "unit/store/store_fixture.hpp"

#include "testing/crash_walk.hpp"

#include <utility>

namespace remanence::store {
namespace {

class publication_of : public store_on_disk {
protected:
    void SetUp() override {
        store_on_disk::SetUp();
        commit_fresh(0, 1);
        commit_fresh(1, 2);
        publish();
    }
    /// Of pages with these seeds; as of version_ + 1.
    std::unique_ptr<publication> compose(const std::map<std::uint64_t, std::uint64_t>& pages) {
        std::vector<applied_page> applied;
        for (const auto& [page, seed] : pages) {
            contents_.push_back(std::make_unique<page_bytes>(seed));
            applied.push_back({page, contents_.back()->span().data(), contents_.back()->checksum()});
        }
        ++version_;
        auto composed =
            store_->writer().compose(applied, {version_, version_ * 3, {1, {}}, true, format::k_log_header_bytes});
        EXPECT_TRUE(composed);
        return std::move(*composed);
    }
    void finish(publication& begun) {
        ASSERT_TRUE(begun.carry_out());
        store_->writer().adopt(begun);
    }
    std::vector<std::unique_ptr<page_bytes>> contents_;
};

TEST_F(publication_of, pages_counts_when_it_is_adopted_and_is_found_again) {
    auto begun = compose({{0, 7}, {3, 8}, {k_chunk_pages, 9}});
    const auto before = store_->super().sequence;
    EXPECT_EQ(begun->page_bytes(), 3 * k_page_bytes);
    finish(*begun);
    EXPECT_EQ(begun->written_bytes(), 3 * k_page_bytes);
    EXPECT_EQ(store_->super().sequence, before + 1);
    model_ = {{0, 7}, {3, 8}, {k_chunk_pages, 9}};
    expect_model();
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->super().checkpoint_version, version_);
    expect_model();
}

TEST_F(publication_of, a_step_writes_no_more_than_it_is_told) {
    auto begun = compose({{0, 7}, {1, 8}, {2, 9}, {7, 10}});
    for (std::uint64_t pages = 1; pages <= 4; ++pages) {
        ASSERT_TRUE(begun->step(k_page_bytes));
        EXPECT_EQ(begun->written_bytes(), pages * k_page_bytes);
        EXPECT_FALSE(begun->is_done());
    }
    finish(*begun);
}

TEST_F(publication_of, what_was_accepted_beside_one_is_not_what_its_superblock_tells_of) {
    auto begun = compose({{0, 7}});
    const std::uint64_t image_bytes = store_->image().bytes();
    commit_fresh(3, 5);
    finish(*begun);
    EXPECT_EQ(store_->super().image_bytes, image_bytes);
    EXPECT_GT(store_->image().bytes(), image_bytes);
    model_[0] = 7;
    expect_model();
    publish();
    ASSERT_TRUE(reopen());
    EXPECT_GT(store_->image().bytes(), image_bytes);
    EXPECT_FALSE(store_->image().is_stored(2));
    expect_model();
}

TEST_F(publication_of, a_larger_chunk_map_may_be_reserved_beside_one_that_writes_the_smaller) {
    commit_fresh(3, 3); // 2 is skipped: the map changes
    const auto before = store_->super().map;
    auto begun = compose({});
    ASSERT_TRUE(store_->room().reserve_map(500));
    commit_fresh(5, 4);
    finish(*begun);
    EXPECT_EQ(store_->super().map.area_offset, before.area_offset);
    EXPECT_EQ(store_->super().map.count, 1U);
    publish();
    EXPECT_GT(store_->super().map.area_offset, before.area_offset);
    EXPECT_EQ(store_->super().map.count, 2U);
    ASSERT_TRUE(reopen());
    EXPECT_FALSE(store_->image().is_stored(2));
    EXPECT_FALSE(store_->image().is_stored(4));
    expect_model();
}

TEST_F(publication_of, pages_counts_for_nothing_until_all_that_it_names_is_durable) {
    auto begun = compose({{1, 7}, {k_chunk_pages + 1, 9}}); // pages that nobody has written yet
    const std::uint64_t of_next = version_;
    finish(*begun);
    store_.reset();
    const auto operations = disk_.take_trace();
    simulation::simulated_disk lost;
    simulation::crash_walk walk(lost, operations);
    bool was_found = false;
    for (std::uint32_t at = 0; at <= operations.size(); ++at) {
        walk.advance_to(at);
        walk.build_synced();
        const auto here = lost.now();
        if (auto found = heap_file::open(lost, k_path, os::access::read_write)) {
            const bool is_next = (*found)->super().checkpoint_version == of_next;
            std::vector<std::byte> page(k_page_bytes);
            for (const std::uint64_t added : {std::uint64_t{1}, k_chunk_pages + 1}) {
                if (!is_next)
                    continue;
                EXPECT_TRUE((*found)->image().read_pages(added, page));
                EXPECT_NE(page[0], std::byte{0});
            }
            EXPECT_TRUE(is_next || !was_found);
            was_found = was_found || is_next;
        }
        lost.rewind(here);
    }
    EXPECT_TRUE(was_found);
}

TEST_F(publication_of, pages_goes_no_further_after_a_failure_wherever_it_was) {
    for (std::uint64_t n = 0;; ++n) {
        contents_.clear();
        auto begun = compose({{0, 7 + n}, {5, 8 + n}});
        disk_.fail_at(n, errc::io);
        const auto carried = begun->carry_out();
        const bool failed = !disk_.failure_is_ahead();
        disk_.work_again();
        EXPECT_EQ(static_cast<bool>(carried), !failed);
        EXPECT_EQ(begun->is_done(), !failed);
        if (!failed) {
            store_->writer().adopt(*begun);
            EXPECT_GT(n, 4U); // pages, nodes, superblock, and their syncs
            break;
        }
        ASSERT_TRUE(reopen());
        ASSERT_TRUE(store_->supers().confirm());
        version_ = store_->super().checkpoint_version;
    }
}

} // namespace
} // namespace remanence::store
