// Which log is the heap's, where its records end, and what is damage.
#include "base/checksum.hpp"
#include "recover/scan.hpp"
#include "support/log_fixture.hpp"

namespace remanence::recover {
namespace {

class log_scan : public log::log_on_disk {};

TEST_F(log_scan, a_torn_final_record_is_ignored) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    commit({}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3);
    for (std::uint64_t damaged : {offsets_[2], offsets_[2] + 100, offsets_[2] + 90}) {
        const auto savepoint = [&] {
            crash();
            store_.reset();
            return disk_.now();
        }();
        flip_log(damaged);
        ASSERT_TRUE(reopen());
        auto outcome = recover();
        ASSERT_TRUE(outcome) << outcome.why().message;
        EXPECT_EQ(outcome->commits, 2U);
        expect_state(2);
        store_.reset();
        disk_.rewind(savepoint);
        ASSERT_TRUE(reopen());
    }
}

TEST_F(log_scan, damage_before_a_later_record_is_corrupt_with_the_offset_and_changes_nothing) {
    commit(0, {}, 1);
    for (std::uint64_t i = 0; i < 4; ++i)
        commit({}, {i}, i + 2);
    crash();
    for (std::size_t damaged = 0; damaged < 4; ++damaged) {
        for (std::uint64_t at : {0U, 24U, 33U, 90U, 97U}) {
            flip_log(offsets_[damaged] + at);
            const auto before = contents(store::k_path);
            const auto log_before = contents(store::log_path(store::k_path));
            auto outcome = recover();
            ASSERT_FALSE(outcome) << damaged << " at " << at;
            EXPECT_EQ(outcome.why().code, errc::corrupt);
            EXPECT_EQ(outcome.why().offset, offsets_[damaged]);
            EXPECT_EQ(outcome.why().path, store::log_path(store::k_path));
            EXPECT_EQ(contents(store::k_path), before);
            EXPECT_EQ(contents(store::log_path(store::k_path)), log_before);
            flip_log(offsets_[damaged] + at);
        }
    }
    ASSERT_TRUE(recover());
    expect_state(5);
}

// The size of a segment that was only just reserved may persist in part, and a record in flight may lie before that end as
// a whole; but no record begins in such a segment.
TEST_F(log_scan, a_part_of_a_new_segment_behind_the_record_in_flight_is_no_damage) {
    commit(0, {}, 1);
    log::record_builder builder;
    const auto& page = memory_[0];
    const format::change_range whole{0, k_page_bytes};
    while (builder.record_bytes() <= format::k_log_segment_bytes_min)
        builder.add_page(0, page_checksum(page), {&whole, 1}, page.data());
    append(builder, store_->image().bytes());
    states_.push_back(memory_);
    const std::uint64_t end = format::k_log_header_bytes + log_->used_bytes();
    commit({}, {0}, 5);
    log_.reset();
    store_.reset();
    const auto start = disk_.now();
    for (const std::uint64_t rest : {k_sector_bytes / 2, std::uint64_t{100}}) { // without its padding, and not whole
        edit_log([&](os::file& file) { ASSERT_TRUE(file.resize("test", end + rest)); });
        crash();
        auto cut_off = recover();
        ASSERT_FALSE(cut_off) << rest;
        EXPECT_EQ(cut_off.why().code, errc::truncated);
        EXPECT_EQ(cut_off.why().offset, end + rest);
        store_.reset();
        disk_.rewind(start);
    }
    for (const std::uint64_t rest : {std::uint64_t{0}, 100 * k_sector_bytes}) {
        edit_log([&](os::file& file) {
            ASSERT_TRUE(file.resize("test", end));
            ASSERT_TRUE(file.resize("test", end + rest)); // zeros
        });
        crash();
        auto outcome = recover();
        ASSERT_TRUE(outcome) << outcome.why().message;
        EXPECT_EQ(outcome->commits, 2U);
        expect_state(2);
        store_.reset();
        disk_.rewind(start);
    }
}

// Records that became durable together made the log longer together: after a power loss any part of that may be there.
// Was one of them made when the one before was durable, it cannot be.
TEST_F(log_scan, records_in_flight_may_lie_in_a_part_of_a_segment) {
    for (const bool in_flight : {true, false}) {
        SCOPED_TRACE(in_flight);
        const auto start = disk_.now();
        commit(0, {}, 1);
        const auto& page = memory_[0];
        const format::change_range whole{0, k_page_bytes};
        const auto submit_record_of = [&](std::uint64_t bytes) {
            log::record_builder builder;
            while (builder.record_bytes() <= bytes)
                builder.add_page(0, page_checksum(page), {&whole, 1}, page.data());
            submit(builder, store_->image().bytes());
            states_.push_back(memory_);
        };
        submit_record_of(format::k_log_segment_bytes_min);
        submit_record_of(0);
        if (!in_flight) {
            ASSERT_TRUE(log_->await(version_, log::durability::durable));
        }
        const std::uint64_t end = format::k_log_header_bytes + log_->used_bytes();
        submit_record_of(k_sector_bytes); // of which one sector will be there
        ASSERT_TRUE(log_->await(version_, log::durability::durable));
        edit_log([&](os::file& file) { ASSERT_TRUE(file.resize("test", end + k_sector_bytes)); });
        crash();
        auto outcome = recover();
        ASSERT_EQ(static_cast<bool>(outcome), in_flight);
        if (in_flight) {
            EXPECT_EQ(outcome->commits, 3U);
            expect_state(3);
        } else {
            EXPECT_EQ(outcome.why().code, errc::truncated);
            EXPECT_EQ(outcome.why().offset, end + k_sector_bytes);
        }
        log_.reset();
        store_.reset();
        if (!in_flight)
            return;
        memory_.clear();
        states_.clear();
        disk_.rewind(start);
        ASSERT_TRUE(reopen());
        begin();
    }
}

TEST_F(log_scan, a_log_of_a_newer_epoch_beside_a_clean_older_heap_is_corrupt) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover()); // clean, epoch 1
    store_.reset();
    std::vector<std::byte> old_heap(*(*disk_.open(store::k_path, os::access::read_only))->size());
    ASSERT_TRUE((*disk_.open(store::k_path, os::access::read_only))->read(0, old_heap));
    ASSERT_TRUE(reopen());
    begin();
    commit({}, {0}, 2);
    crash();
    store_.reset();
    edit([&](os::file& file) {
        ASSERT_TRUE(file.write("test", 0, old_heap));
    }); // somebody restores an old copy of the heap alone
    ASSERT_TRUE(reopen());
    EXPECT_TRUE(store_->is_clean());
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
        EXPECT_EQ(outcome.why().path, store::log_path(store::k_path));
    }
    EXPECT_EQ(check_clean(disk_, *store_).why().code, errc::corrupt);
    EXPECT_TRUE(*disk_.exists(store::log_path(store::k_path)));
}

TEST_F(log_scan, a_record_with_features_of_a_newer_release_is_refused_as_such) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    edit_log([&](os::file& file) {
        std::vector<std::byte> record(k_sector_bytes);
        ASSERT_TRUE(file.read(offsets_[1], record));
        format::record_header header{};
        std::memcpy(&header, record.data(), sizeof header);
        header.features = format::k_known_record_features + 1;
        header.checksum = 0;
        auto payload = std::span(record).subspan(sizeof header, static_cast<std::size_t>(header.payload_bytes));
        header.checksum = checksum64(payload, checksum64(std::as_bytes(std::span(&header, 1))));
        std::memcpy(record.data(), &header, sizeof header);
        ASSERT_TRUE(file.write("test", offsets_[1], record));
    });
    crash();
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::unsupported_format);
    EXPECT_EQ(outcome.why().offset, offsets_[1]);
}

TEST_F(log_scan, a_missing_log_is_missing_and_a_foreign_one_foreign) {
    commit(0, {}, 1);
    crash();
    store_.reset();
    ASSERT_TRUE(disk_.rename_to_new("test", store::log_path(store::k_path), "dir/elsewhere"));
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover().why().code, errc::log_missing);
    ASSERT_TRUE(log::redo_log::create(disk_, store::log_path(store::k_path), {9, 9, 9}, {1, {}}, 1, 0600, 0));
    EXPECT_EQ(recover().why().code, errc::log_foreign);
    ASSERT_TRUE(disk_.remove("test", store::log_path(store::k_path)));
    ASSERT_TRUE(disk_.rename_to_new("test", "dir/elsewhere", store::log_path(store::k_path)));
    ASSERT_TRUE(recover());
    expect_state(1);
}

TEST_F(log_scan, a_log_header_of_another_kind_or_format_is_damage) {
    commit(0, {}, 1);
    log_.reset();
    for (const bool magic : {true, false}) {
        edit_log([&](os::file& file) {
            format::log_header header{};
            ASSERT_TRUE(file.read(0, std::as_writable_bytes(std::span(&header, 1))));
            header.magic = format::k_log_magic;
            header.format_version = magic ? format::k_log_version : format::k_log_version + 1;
            header.magic[0] = static_cast<char>(header.magic[0] + (magic ? 1 : 0));
            header.checksum =
                checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(format::log_header, checksum)));
            ASSERT_TRUE(file.write("test", 0, std::as_bytes(std::span(&header, 1))));
        });
        crash();
        auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
        EXPECT_EQ(outcome.why().offset, 0U);
    }
}

TEST_F(log_scan, a_record_that_names_another_predecessor_or_session_does_not_count) {
    commit(0, {}, 1);
    log::record_builder builder;
    add_change(builder, 0);
    const auto& super = store_->super();
    builder.finish({super.session, super.epoch, version_ + 1, chain_ + 1, version_}, store::k_chunk);
    submit(builder.take());
    log::record_builder foreign;
    add_change(foreign, 0);
    auto session = super.session;
    session[3] ^= 1;
    foreign.finish({session, super.epoch, version_ + 1, chain_, 5}, store::k_chunk);
    submit(foreign.take());
    ASSERT_TRUE(log_->await(log_->appended_through(), log::durability::durable));
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
}

TEST_F(log_scan, a_part_of_a_new_segment_without_a_record_is_no_damage) {
    commit(0, {}, 1);
    const std::uint64_t size = *log_->file().size();
    edit_log([&](os::file& file) { ASSERT_TRUE(file.resize("test", size + 100 * k_sector_bytes)); });
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
    expect_state(1);
}

// A header is never torn (R6): before it was written it is zeros, or the file is shorter.
TEST_F(log_scan, a_log_whose_creation_was_cut_short_belongs_to_no_heap_that_needs_one) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{10}, 2 * k_sector_bytes}) {
        SCOPED_TRACE(bytes);
        const auto zeros = [&] {
            auto file = std::move(*disk_.open_or_create(store::log_path(store::k_path), 0600));
            ASSERT_TRUE(file->resize("test", 0));
            ASSERT_TRUE(file->resize("test", bytes));
        };
        log_.reset();
        zeros();
        ASSERT_TRUE(reopen());
        auto needed = recover();
        ASSERT_FALSE(needed);
        EXPECT_EQ(needed.why().code, errc::corrupt);
        EXPECT_EQ(needed.why().offset, 0U);
        ASSERT_TRUE(store_->writer().publish(
            {0, 0, store_->session(), true, format::k_log_header_bytes})); // now it is not needed
        ASSERT_TRUE(reopen());
        EXPECT_TRUE(check_clean(disk_, *store_));
        ASSERT_TRUE(recover());
        EXPECT_FALSE(*disk_.exists(store::log_path(store::k_path)));
        begin();
    }
}

TEST_F(log_scan, a_log_of_an_earlier_session_is_foreign_to_a_heap_that_needs_one) {
    commit(0, {}, 1);
    const auto earlier = contents(store::log_path(store::k_path));
    crash();
    ASSERT_TRUE(recover());
    begin();
    log_.reset();
    edit_log([&](os::file& file) { ASSERT_TRUE(file.write("test", 0, earlier)); });
    ASSERT_TRUE(reopen());
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::log_foreign);
    EXPECT_NE(outcome.why().message.find("earlier session"), std::string::npos) << outcome.why().message;
    // It may be another copy's: what it has would go with it.
    const auto& super = store_->super();
    ASSERT_TRUE(store_->writer().publish(
        {super.checkpoint_version, super.chain, store_->session(), true, format::k_log_header_bytes}));
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover().why().code, errc::log_foreign);
    EXPECT_EQ(check_clean(disk_, *store_).why().code, errc::log_foreign);
    EXPECT_EQ(contents(store::log_path(store::k_path)).size(), earlier.size());
    ASSERT_TRUE(disk_.remove("test", store::log_path(store::k_path)));
    ASSERT_TRUE(recover()); // a clean one does without
    expect_state(1);
}

/// Two copies of a heap, each with a log of its own: same UUID, same epochs, commits of the same numbers.
class logs_of_two_copies : public log_scan {
protected:
    struct pair {
        std::vector<std::byte> heap;
        std::vector<std::byte> log;
    };
    pair take() {
        log_.reset();
        store_.reset();
        return {contents(store::k_path), contents(store::log_path(store::k_path))};
    }
    void put(const std::vector<std::byte>& heap, const std::vector<std::byte>& log) {
        log_.reset();
        store_.reset();
        const auto write = [&](const std::string& path, const std::vector<std::byte>& bytes) {
            auto file = std::move(*disk_.open_or_create(path, 0600));
            ASSERT_TRUE(file->resize("test", 0));
            ASSERT_TRUE(file->write("test", 0, bytes));
        };
        write(store::k_path, heap);
        write(store::log_path(store::k_path), log);
        ASSERT_TRUE(reopen());
    }
    /// A heap with a chunk, closed; then a session with `commits` commits, which may end in between.
    void SetUp() override {
        log_scan::SetUp();
        commit(0, {}, 1);
        crash();
        ASSERT_TRUE(recover());
        store_.reset();
        closed_ = contents(store::k_path);
        ASSERT_TRUE(reopen());
    }
    pair session_of(std::uint64_t commits, std::uint64_t value) {
        store_.reset();
        edit([&](os::file& file) { ASSERT_TRUE(file.write("test", 0, closed_)); });
        EXPECT_TRUE(reopen());
        begin();
        for (std::uint64_t i = 0; i < commits; ++i)
            commit({}, {i}, value + i);
        return take();
    }
    void expect_refused(const pair& both, errc code, const std::string& says) {
        put(both.heap, both.log);
        for (int attempt = 0; attempt < 2; ++attempt) {
            auto outcome = recover();
            ASSERT_FALSE(outcome);
            EXPECT_EQ(outcome.why().code, code) << outcome.why().message;
            EXPECT_EQ(outcome.why().path, store::log_path(store::k_path));
            EXPECT_NE(outcome.why().message.find(says), std::string::npos) << outcome.why().message;
        }
        EXPECT_EQ(contents(store::k_path), both.heap);
        EXPECT_EQ(contents(store::log_path(store::k_path)), both.log);
    }
    /// Closed cleanly, with its log left beside it.
    pair recovered(const pair& killed) {
        put(killed.heap, killed.log);
        EXPECT_TRUE(recover());
        store_.reset();
        return {contents(store::k_path), killed.log};
    }

    std::vector<std::byte> closed_;
};

TEST_F(logs_of_two_copies, that_were_swapped_are_foreign_and_nothing_changes) {
    for (const std::uint64_t commits : {1U, 3U}) {
        const pair one = session_of(commits, 10);
        const pair other = session_of(2, 20);
        expect_refused({one.heap, other.log}, errc::log_foreign, "another copy");
        expect_refused({other.heap, one.log}, errc::log_foreign, "another copy");
        put(one.heap, one.log);
        auto outcome = recover();
        ASSERT_TRUE(outcome) << outcome.why().message;
        EXPECT_EQ(outcome->commits, commits);
    }
}

TEST_F(logs_of_two_copies, without_commits_are_told_apart_too) {
    const pair one = session_of(0, 10);
    const pair other = session_of(0, 20);
    expect_refused({one.heap, other.log}, errc::log_foreign, "another copy");
}

TEST_F(logs_of_two_copies, are_not_removed_beside_the_other_copy_once_that_is_closed) {
    const pair one = session_of(3, 10);
    const pair other = session_of(2, 20);
    const pair closed = recovered(one);
    expect_refused({closed.heap, other.log}, errc::log_foreign, "another copy");
    EXPECT_EQ(check_clean(disk_, *store_).why().code, errc::log_foreign);
    put(closed.heap, closed.log); // as a power loss leaves it
    EXPECT_TRUE(check_clean(disk_, *store_));
    EXPECT_TRUE(recover());
    EXPECT_FALSE(*disk_.exists(store::log_path(store::k_path)));
}

TEST_F(logs_of_two_copies, of_a_later_session_than_the_closed_one_are_refused_if_they_have_commits) {
    const pair with = session_of(2, 20);
    const pair without = session_of(0, 20);
    expect_refused({closed_, with.log}, errc::corrupt, "another copy");
    put(closed_, without.log); // as a power loss leaves it before the superblock follows
    EXPECT_TRUE(recover());
}

TEST_F(logs_of_two_copies, copied_together_belong_together) {
    const pair one = session_of(2, 10);
    (void)session_of(3, 20);
    put(one.heap, one.log);
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    EXPECT_EQ(store_->super().checkpoint_version, 3U);
}

// Its header may have been written over: then each record still says whose it is.
TEST_F(logs_of_two_copies, give_no_record_to_the_other_under_its_header) {
    const pair one = session_of(2, 10);
    pair other = session_of(2, 10); // the same commits
    std::copy_n(one.log.begin(), k_sector_bytes, other.log.begin());
    put(one.heap, other.log);
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 0U);
}

} // namespace
} // namespace remanence::recover
