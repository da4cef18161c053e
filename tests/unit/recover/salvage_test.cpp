#include "recover/salvage.hpp"
#include "support/failing_files.hpp"
#include "support/log_fixture.hpp"

namespace remanence::recover {
namespace {

class log_salvage : public log::log_on_disk {
protected:
    /// Of store_; what it passes over is in damage_ afterwards.
    result<recovery_outcome> salvage() {
        damage_.clear();
        return recover::salvage(disk_, *store_, [&](const failure& each) { damage_.push_back(each); }, {});
    }
    std::vector<failure> damage_;
};

// What recover() refuses as a whole, salvage() takes as far as it is sound.
TEST_F(log_salvage, passes_over_a_record_that_does_not_fit) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    log::record_builder builder;
    std::vector<std::uint32_t> sums(store::k_chunk_pages, 7);
    builder.add_chunk(0, false, sums); // a chunk that is there already
    const auto ours = memory_.at(0);
    std::vector<std::byte> page(k_page_bytes, std::byte{9});
    format::change_range range{8, 16};
    builder.add_page(0, page_checksum(page), {&range, 1}, page.data());
    append(builder, store::k_chunk);
    crash();
    EXPECT_EQ(recover().why().code, errc::corrupt);
    ASSERT_TRUE(reopen());
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_EQ(damage_[0].offset, offsets_[2]);
    EXPECT_EQ(store_->super().checkpoint_version, 2U);
    ASSERT_TRUE(store_->image().read_pages(0, page));
    EXPECT_EQ(page, ours); // nothing of that record was applied
}

TEST_F(log_salvage, tells_of_a_file_that_ends_before_what_a_record_placed) {
    ASSERT_NO_FATAL_FAILURE(cut_off_behind(k_page_bytes));
    const std::uint64_t end = contents(store::k_path).size();
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_EQ(damage_[0].code, errc::truncated);
    EXPECT_EQ(damage_[0].offset, end);
}

TEST_F(log_salvage, applies_nothing_of_a_record_of_which_a_part_fits) {
    commit(0, {}, 1);
    ASSERT_TRUE(store_->room().add_regions(3 * store::k_chunk));
    const std::vector<std::uint32_t> sums(store::k_chunk_pages, 7);
    log::record_builder builder;
    builder.add_chunk(2, false, sums);
    builder.add_chunk(0, false, sums); // a chunk that is there already
    append(builder, 3 * store::k_chunk);
    crash();
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_EQ(damage_[0].offset, offsets_[1]);
    EXPECT_EQ(store_->image().bytes(), store::k_chunk);
    EXPECT_FALSE(store_->image().is_stored(2));
}

TEST_F(log_salvage, puts_in_a_page_that_does_not_become_what_its_record_says_so_that_checks_notice) {
    commit(0, {}, 1);
    commit({}, {0, 1}, 2);
    crash();
    const auto copy = store_->image().copy_of(0);
    flip(copy + 900);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover().why().code, errc::corrupt);
    ASSERT_TRUE(reopen());
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_TRUE(damage_.empty()) << damage_[0].message;
    std::vector<std::byte> page(k_page_bytes);
    auto damaged = store_->image().read_pages(0, page);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.why().offset, copy);
    ASSERT_TRUE(store_->image().read_pages(1, page));
    EXPECT_EQ(page, states_[1][1]);
}

TEST_F(log_salvage, of_what_is_whole_is_a_recovery) {
    commit(0, {}, 1);
    commit(3, {0, 1, 5}, 2);
    commit({}, {3 * store::k_chunk_pages, 1}, 4, 4088);
    crash();
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_TRUE(damage_.empty()) << damage_[0].message;
    EXPECT_EQ(outcome->commits, 3U);
    EXPECT_TRUE(store_->is_clean());
    ASSERT_TRUE(disk_.remove("test", store::log_path(store::k_path))); // salvage leaves it, for whoever looks
    ASSERT_TRUE(reopen());
    expect_state(3);
}

TEST_F(log_salvage, of_a_file_that_ends_before_what_the_log_tells_of_says_so_and_goes_on) {
    commit(0, {}, 1);
    commit(3, {0}, 2);
    crash();
    const std::uint64_t end = store_->image().copy_of(3 * store::k_chunk) + k_page_bytes;
    {
        auto file = std::move(*disk_.open(store::k_path, os::access::read_write));
        ASSERT_TRUE(file->resize("test", end));
    }
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover().why().code, errc::truncated);
    ASSERT_TRUE(reopen());
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_EQ(damage_[0].code, errc::truncated);
    EXPECT_EQ(damage_[0].offset, end);
}

TEST_F(log_salvage, of_a_log_that_is_not_to_be_read_leaves_the_checkpoint) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover());
    begin();
    commit({}, {0}, 2);
    flip_log(20); // the header
    crash();
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 0U);
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_EQ(damage_[0].path, store::log_path(store::k_path));
    EXPECT_EQ(damage_[0].offset, 0U);
    EXPECT_TRUE(store_->is_clean());
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE(store_->image().read_pages(0, page));
    EXPECT_EQ(page, states_[0][0]);
}

TEST_F(log_salvage, leaves_out_changes_of_pages_that_have_no_place) {
    commit(0, {}, 1);
    commit(3, {}, 2); // 1 and 2 are skipped
    log::record_builder builder;
    add_change(builder, store::k_chunk_pages);
    append(builder, 4 * store::k_chunk);
    commit({}, {0}, 4);
    crash();
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 4U);
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_EQ(damage_[0].code, errc::corrupt);
    EXPECT_FALSE(store_->image().is_stored(1));
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE(store_->image().read_pages(0, page));
    EXPECT_EQ(page, states_.back()[0]);
}

TEST_F(log_salvage, passes_over_a_damaged_table_of_checksums_and_keeps_what_others_cover) {
    commit(0, {}, 1);
    commit(1, {}, 1);
    commit(80, {}, 2); // in another region
    crash();
    ASSERT_TRUE(recover());
    begin();
    commit({}, {0, 80 * store::k_chunk_pages}, 3);
    log::record_builder builder;
    builder.add_chunk(1, false,
                      std::vector<std::uint32_t>(store::k_chunk_pages, 7)); // nobody can tell that it has contents
    append(builder, 81 * store::k_chunk);
    log_.reset();
    const format::region& region = store_->super().regions[0];
    const std::uint64_t leaf = region.table_offset + region.root.slot * format::k_node_bytes;
    flip(leaf + 8);
    ASSERT_TRUE(reopen());
    auto outcome = salvage();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    ASSERT_FALSE(damage_.empty());
    for (const failure& each : damage_)
        EXPECT_EQ(each.offset, leaf) << each.message;
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE(store_->image().read_pages(80 * store::k_chunk_pages, page));
    EXPECT_EQ(page, states_.back()[80 * store::k_chunk_pages]);
}

TEST_F(log_salvage, of_a_clean_heap_makes_a_torn_superblock_whole_and_nothing_else) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover());
    const auto sequence = store_->super().sequence;
    ASSERT_TRUE(salvage());
    EXPECT_EQ(store_->super().sequence, sequence); // there is nothing to do
    flip((1 - sequence % 2) * format::k_superblock_bytes + 100);
    ASSERT_TRUE(reopen());
    ASSERT_TRUE(salvage());
    EXPECT_TRUE(damage_.empty()); // the current one says all
    EXPECT_EQ(store_->super().sequence, sequence + 1);
    ASSERT_TRUE(reopen());
    EXPECT_FALSE(store_->supers().other_damage());
    expect_state(1);
}

class failing_salvage : public log::log_on_disk {
protected:
    /// Where damage is passed over, a failure of the system must still not get lost: the salvage fails, tells of it, or the
    /// page it was about fails its checksum.
    void fail_each_call(std::uint64_t commits) {
        log_.reset();
        store_.reset();
        const auto start = disk_.now();
        test::failing_files files(disk_);
        std::uint64_t failed = 0;
        std::uint64_t told = 0;
        for (std::uint64_t n = 0;; ++n) {
            auto opened = store::heap_file::open(files, store::k_path, os::access::read_write);
            ASSERT_TRUE(opened);
            files.fail_at(n, errc::io);
            std::uint64_t findings = 0;
            auto outcome = salvage(files, **opened, [&](const failure&) { ++findings; }, {});
            files.work_again();
            ASSERT_TRUE(verify(**opened, [&](const store::damage&) { ++findings; }, {}));
            if (files.failed().empty()) {
                ASSERT_TRUE(outcome) << outcome.why().message;
                EXPECT_EQ(outcome->commits, commits);
                EXPECT_EQ(findings, 0U);
                break;
            }
            EXPECT_TRUE(!outcome || findings > 0) << "nobody heard of the failed " << files.failed();
            ++(outcome ? told : failed);
            opened->reset();
            disk_.rewind(start);
        }
        EXPECT_GT(failed, 5U);
        EXPECT_GT(told, 2U);
    }
};

TEST_F(failing_salvage, loses_no_failed_call) {
    commit(0, {}, 1);
    commit(80, {0, 1}, 2);
    crash();
    ASSERT_TRUE(recover());
    begin();
    commit({}, {0, 1, 80 * store::k_chunk_pages}, 3, 2048);
    commit(2, {}, 4); // a chunk that was skipped
    fail_each_call(2);
}

TEST_F(failing_salvage, loses_no_failed_call_with_a_map_that_outgrows_its_place) {
    for (std::uint64_t chunk = 0; chunk < 180; chunk += 2) // 4096 bytes take 85 exceptions
        ASSERT_NO_FATAL_FAILURE(commit(chunk, {chunk * store::k_chunk_pages}, 1));
    commit({}, {0, 20 * store::k_chunk_pages}, 2);
    fail_each_call(91);
}

} // namespace
} // namespace remanence::recover
