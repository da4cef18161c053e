// Scanning and replaying a log beside a heap file. Both are real, on a simulated disk; commits are made here by hand,
// so that each can be placed, torn and damaged at will.

#include "log/recovery.hpp"

#include "log/salvage.hpp"

#include "base/checksum.hpp"
#include "log/redo_log.hpp"
#include "support/failing_files.hpp"
#include "unit/store/store_fixture.hpp"

namespace remanence::log {
namespace {

using store::k_chunk;
using store::k_chunk_pages;
using store::k_path;

class recovery : public store::store_on_disk {
protected:
    void SetUp() override {
        store_on_disk::SetUp();
        begin();
    }
    /// Starts a session: a log, and a superblock that needs it.
    void begin() {
        const auto& super = store_->super();
        auto log = redo_log::create(disk_, k_path, super.uuid, super.epoch + 1, super.sequence + 1, 0600);
        ASSERT_TRUE(log);
        ASSERT_TRUE(store_->publish(super.checkpoint_version, super.chain, super.epoch + 1, false));
        log_ = std::move(*log);
        version_ = super.checkpoint_version;
        chain_ = super.chain;
    }
    /// Appends a commit: perhaps a fresh chunk, of which page 0 is written, and 8 bytes at `at` in each of `pages`.
    void commit(std::optional<std::uint64_t> fresh, const std::vector<std::uint64_t>& pages, std::uint64_t value,
                std::uint64_t at = 0) {
        record_builder builder;
        std::uint64_t image_bytes = store_->image_bytes();
        std::vector<std::uint32_t> sums(k_chunk_pages);
        if (fresh) {
            store::page_bytes page(value);
            ASSERT_TRUE(store_->add_regions((*fresh + 1) * k_chunk));
            ASSERT_TRUE(store_->write_fresh(*fresh * k_chunk_pages, page.span()));
            ASSERT_TRUE(store_->sync_fresh());
            sums[0] = page.checksum();
            builder.add_fresh(*fresh, sums);
            memory_[*fresh * k_chunk_pages].assign(page.span().begin(), page.span().end());
            image_bytes = std::max(image_bytes, (*fresh + 1) * k_chunk);
        }
        for (std::uint64_t page : pages) {
            auto& bytes = memory_[page];
            bytes.resize(k_page_bytes);
            std::memcpy(bytes.data() + at, &value, sizeof value);
            format::change_range range{static_cast<std::uint16_t>(at), sizeof value};
            builder.add_page(page, page_checksum(bytes), {&range, 1}, bytes.data());
        }
        auto record =
            builder.finish({store_->super().uuid, store_->super().epoch, version_ + 1, chain_, version_}, image_bytes);
        offsets_.push_back(format::k_log_header_bytes + log_->used_bytes());
        ASSERT_TRUE(log_->reserve(record.size()));
        ASSERT_TRUE(log_->append(record));
        ++version_;
        chain_ = builder.checksum();
        if (fresh)
            store_->accept_fresh(*fresh, sums, version_);
        states_.push_back(memory_);
    }
    /// The process dies, and the heap is opened again.
    void crash() {
        log_.reset();
        auto opened = reopen();
        ASSERT_TRUE(opened) << opened.why().message;
    }
    void edit_log(const std::function<void(os::file&)>& f) {
        auto file = std::move(*disk_.open(store::log_path(k_path), os::access::read_write));
        f(*file);
    }
    void flip_log(std::uint64_t offset) {
        edit_log([&](os::file& file) {
            std::byte b{};
            ASSERT_TRUE(file.read(offset, {&b, 1}));
            b ^= std::byte{8};
            ASSERT_TRUE(file.write("test", offset, {&b, 1}));
        });
    }
    std::vector<std::byte> contents(const std::string& path) {
        auto file = std::move(*disk_.open(path, os::access::read_only));
        std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
        EXPECT_TRUE(file->read(0, bytes));
        return bytes;
    }
    result<recovery_outcome> recover() { return log::recover(disk_, *store_, {}); }
    void expect_state(std::size_t commits) {
        ASSERT_EQ(store_->super().checkpoint_version, commits);
        EXPECT_TRUE(store_->is_clean());
        EXPECT_FALSE(*disk_.exists(store::log_path(k_path)));
        if (commits == 0)
            return;
        std::vector<std::byte> page(k_page_bytes);
        for (const auto& [index, bytes] : states_[commits - 1]) {
            auto read = store_->read_pages(index, page);
            ASSERT_TRUE(read) << read.why().message;
            EXPECT_EQ(page, bytes) << "page " << index;
        }
    }

    std::unique_ptr<redo_log> log_;
    std::uint64_t chain_ = 0;
    std::map<std::uint64_t, std::vector<std::byte>> memory_;
    std::vector<std::map<std::uint64_t, std::vector<std::byte>>> states_; // after each commit
    std::vector<std::uint64_t> offsets_;                                  // of each record
};

TEST_F(recovery, brings_every_commit_back) {
    commit(0, {}, 1);
    commit({}, {0, 1, 5}, 2);
    commit(7, {0}, 3); // chunks in between are skipped
    commit({}, {7 * k_chunk_pages, 1}, 4, 4088);
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 4U);
    expect_state(4);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover()->commits, 0U); // and only once
    expect_state(4);
}

TEST_F(recovery, of_a_session_without_commits) {
    crash();
    EXPECT_EQ(recover()->commits, 0U);
    expect_state(0);
}

TEST_F(recovery, a_torn_final_record_is_ignored) {
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

TEST_F(recovery, damage_before_a_later_record_is_corrupt_with_the_offset_and_changes_nothing) {
    commit(0, {}, 1);
    for (std::uint64_t i = 0; i < 4; ++i)
        commit({}, {i}, i + 2);
    crash();
    for (std::size_t damaged = 0; damaged < 4; ++damaged) {
        for (std::uint64_t at : {0U, 24U, 33U, 90U, 97U}) {
            flip_log(offsets_[damaged] + at);
            const auto before = contents(k_path);
            const auto log_before = contents(store::log_path(k_path));
            auto outcome = recover();
            ASSERT_FALSE(outcome) << damaged << " at " << at;
            EXPECT_EQ(outcome.why().code, errc::corrupt);
            EXPECT_EQ(outcome.why().offset, offsets_[damaged]);
            EXPECT_EQ(outcome.why().path, store::log_path(k_path));
            EXPECT_EQ(contents(k_path), before);
            EXPECT_EQ(contents(store::log_path(k_path)), log_before);
            flip_log(offsets_[damaged] + at);
        }
    }
    ASSERT_TRUE(recover());
    expect_state(5);
}

TEST_F(recovery, stale_records_after_a_restart_are_ignored) {
    commit(0, {}, 1);
    for (std::uint64_t i = 0; i < 5; ++i)
        commit({}, {i}, i + 2);
    // A checkpoint: everything folded, the log starts again from its beginning.
    for (const auto& [index, bytes] : memory_) {
        store::folded_page page{index, bytes.data(), page_checksum(bytes)};
        ASSERT_TRUE(store_->fold({&page, 1}));
    }
    ASSERT_TRUE(store_->publish(version_, chain_, store_->super().epoch, false));
    log_->restart();
    commit({}, {0}, 100);
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
    expect_state(7);
}

// The size of a segment that was only just reserved may persist in part, and a record in flight may lie before that end as
// a whole; but no record begins in such a segment.
TEST_F(recovery, a_part_of_a_new_segment_behind_the_record_in_flight_is_no_damage) {
    commit(0, {}, 1);
    record_builder builder;
    const auto& page = memory_[0];
    const format::change_range whole{0, k_page_bytes};
    while (builder.record_bytes() <= format::k_log_segment_bytes)
        builder.add_page(0, page_checksum(page), {&whole, 1}, page.data());
    auto record = builder.finish({store_->super().uuid, store_->super().epoch, version_ + 1, chain_, version_},
                                 store_->image_bytes());
    ASSERT_TRUE(log_->reserve(record.size()));
    ASSERT_TRUE(log_->append(record));
    ++version_;
    chain_ = builder.checksum();
    states_.push_back(memory_);
    const std::uint64_t end = format::k_log_header_bytes + log_->used_bytes();
    commit({}, {0}, 5);
    edit_log([&](os::file& file) {
        ASSERT_TRUE(file.resize("test", end + k_sector_bytes / 2)); // in the midst of the record that follows
    });
    crash();
    auto cut_off = recover();
    ASSERT_FALSE(cut_off);
    EXPECT_EQ(cut_off.why().code, errc::truncated);

    edit_log([&](os::file& file) {
        ASSERT_TRUE(file.resize("test", end));
        ASSERT_TRUE(file.resize("test", end + 100 * k_sector_bytes)); // zeros
    });
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    expect_state(2);
}

TEST_F(recovery, a_log_of_a_newer_epoch_beside_a_clean_older_heap_is_corrupt) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover()); // clean, epoch 1
    store_.reset();
    std::vector<std::byte> old_heap(*(*disk_.open(k_path, os::access::read_only))->size());
    ASSERT_TRUE((*disk_.open(k_path, os::access::read_only))->read(0, old_heap));
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
        EXPECT_EQ(outcome.why().path, store::log_path(k_path));
    }
    EXPECT_EQ(check_clean(disk_, *store_).why().code, errc::corrupt);
    EXPECT_TRUE(*disk_.exists(store::log_path(k_path)));
}

TEST_F(recovery, is_idempotent_and_may_be_cut_short_anywhere) {
    commit(0, {}, 1);
    commit(3, {0, 1}, 2);
    commit({}, {0, 1, 2, 3 * k_chunk_pages}, 3, 2048);
    crash();
    store_.reset();
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        ASSERT_TRUE(reopen());
        disk_.fail_at(n, errc::io);
        auto first = recover();
        const bool finished = static_cast<bool>(first);
        store_.reset();
        ASSERT_TRUE(reopen());
        auto second = recover(); // with what the first one left
        ASSERT_TRUE(second) << "after operation " << n << ": " << second.why().message;
        ASSERT_NO_FATAL_FAILURE(expect_state(3)) << n;
        store_.reset();
        disk_.rewind(start);
        if (finished) {
            EXPECT_GT(n, 5U);
            break;
        }
    }
}

TEST_F(recovery, ranges_of_a_record_not_younger_than_the_chunk_are_never_applied) {
    // R3. The page's bytes at home are the chunk's, of the same record; a range beside it in that record is older.
    commit(0, {}, 1);
    record_builder builder;
    store::page_bytes page(9);
    ASSERT_TRUE(store_->add_regions(2 * k_chunk));
    ASSERT_TRUE(store_->write_fresh(k_chunk_pages, page.span()));
    std::vector<std::uint32_t> sums(k_chunk_pages);
    sums[0] = page.checksum();
    builder.add_fresh(1, sums);
    std::uint64_t stale = 12345;
    std::vector<std::byte> other(k_page_bytes);
    std::memcpy(other.data(), &stale, sizeof stale);
    format::change_range range{0, 8};
    builder.add_page(k_chunk_pages, 77, {&range, 1}, other.data());
    auto record =
        builder.finish({store_->super().uuid, store_->super().epoch, version_ + 1, chain_, version_}, 2 * k_chunk);
    ASSERT_TRUE(log_->append(record));
    crash();
    ASSERT_TRUE(recover());
    std::vector<std::byte> got(k_page_bytes);
    ASSERT_TRUE(store_->read_pages(k_chunk_pages, got));
    EXPECT_TRUE(std::equal(got.begin(), got.end(), page.span().begin()));
}

TEST_F(recovery, a_page_that_does_not_become_what_the_record_says_is_corrupt) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    const std::uint64_t home = store_->home_of(0);
    crash();
    store_.reset();
    flip(home + 2000);
    ASSERT_TRUE(reopen());
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::corrupt);
    EXPECT_EQ(outcome.why().offset, home);
    store_.reset();
    flip(home + 2000);
    ASSERT_TRUE(reopen());
    ASSERT_TRUE(recover());
    expect_state(2);
}

TEST_F(recovery, a_record_that_commits_a_chunk_a_second_time_is_corrupt) {
    commit(0, {}, 1);
    commit(0, {}, 2);
    crash();
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::corrupt);
    EXPECT_EQ(outcome.why().offset, offsets_[1]) << outcome.why().message;
}

TEST_F(recovery, a_record_with_features_of_a_newer_release_is_refused_as_such) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    edit_log([&](os::file& file) {
        std::vector<std::byte> record(k_sector_bytes);
        ASSERT_TRUE(file.read(offsets_[1], record));
        format::record_header header{};
        std::memcpy(&header, record.data(), sizeof header);
        header.features = 2;
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

// What recover() refuses as a whole, salvage() takes as far as it is sound.
TEST_F(recovery, salvage_passes_over_a_record_that_does_not_fit) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    record_builder builder;
    std::vector<std::uint32_t> sums(k_chunk_pages, 7);
    builder.add_fresh(0, sums); // a chunk that is there already
    const auto ours = memory_.at(0);
    std::vector<std::byte> page(k_page_bytes, std::byte{9});
    format::change_range range{8, 16};
    builder.add_page(0, page_checksum(page), {&range, 1}, page.data());
    auto record =
        builder.finish({store_->super().uuid, store_->super().epoch, version_ + 1, chain_, version_}, k_chunk);
    const auto at = format::k_log_header_bytes + log_->used_bytes();
    ASSERT_TRUE(log_->reserve(record.size()));
    ASSERT_TRUE(log_->append(record));
    crash();
    EXPECT_EQ(recover().why().code, errc::corrupt);
    ASSERT_TRUE(reopen());
    std::vector<failure> damage;
    auto outcome = salvage(disk_, *store_, [&](const failure& each) { damage.push_back(each); }, {});
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 2U);
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].offset, at);
    EXPECT_EQ(store_->super().checkpoint_version, 2U);
    ASSERT_TRUE(store_->read_pages(0, page));
    EXPECT_EQ(page, ours); // nothing of that record was applied
}

TEST_F(recovery, salvage_puts_in_a_page_that_does_not_become_what_its_record_says_so_that_checks_notice) {
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

TEST_F(recovery, salvage_of_what_is_whole_is_a_recovery) {
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

TEST_F(recovery, a_missing_log_is_missing_and_a_foreign_one_foreign) {
    commit(0, {}, 1);
    crash();
    store_.reset();
    ASSERT_TRUE(disk_.rename_to_new("test", store::log_path(k_path), "dir/elsewhere"));
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover().why().code, errc::log_missing);
    ASSERT_TRUE(redo_log::create(disk_, k_path, {9, 9, 9}, 1, 1, 0600));
    EXPECT_EQ(recover().why().code, errc::log_foreign);
    ASSERT_TRUE(disk_.remove("test", store::log_path(k_path)));
    ASSERT_TRUE(disk_.rename_to_new("test", "dir/elsewhere", store::log_path(k_path)));
    ASSERT_TRUE(recover());
    expect_state(1);
}

/// Records whose checksums fit, but that no program of ours has written.
class forged_record : public recovery {
protected:
    void append(record_builder& builder, std::uint64_t image_bytes, std::uint64_t predecessor) {
        auto record = builder.finish({store_->super().uuid, store_->super().epoch, version_ + 1, predecessor, version_},
                                     image_bytes);
        ASSERT_TRUE(log_->append(record));
    }
    void expect_corrupt_at(std::uint64_t offset) {
        crash();
        auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
        EXPECT_EQ(outcome.why().path, store::log_path(k_path));
        EXPECT_EQ(outcome.why().offset, offset);
    }
    static void add_change(record_builder& builder, std::uint64_t page) {
        const format::change_range range{0, 8};
        const store::page_bytes bytes(9);
        builder.add_page(page, bytes.checksum(), {&range, 1}, bytes.span().data());
    }
};

TEST_F(forged_record, that_does_not_fit_the_heap_is_corrupt_at_its_place) {
    const std::vector<std::uint32_t> sums(k_chunk_pages);
    commit(0, {}, 1);
    commit(3, {}, 1); // 1 and 2 are skipped
    const auto start_chain = chain_;
    store_.reset();
    log_.reset();
    const auto start = disk_.now();
    struct forgery {
        const char* what;
        std::uint64_t image_bytes;
        std::function<void(record_builder&)> fill;
        bool has_place;
    };
    const std::uint64_t image = 4 * k_chunk;
    const forgery forgeries[] = {
        {"an image larger than the regions", 1 * TiB, [&](record_builder& b) { add_change(b, 0); }, true},
        {"an image of half a chunk more", image + k_chunk / 2, [&](record_builder& b) { add_change(b, 0); }, true},
        {"an image that no chunk explains", image + k_chunk, [&](record_builder& b) { add_change(b, 0); }, true},
        {"a chunk that has contents", image, [&](record_builder& b) { b.add_fresh(0, sums); }, true},
        {"a page that is nowhere", image, [&](record_builder& b) { add_change(b, k_chunk_pages); }, false},
    };
    for (const forgery& each : forgeries) {
        SCOPED_TRACE(each.what);
        disk_.rewind(start);
        auto file = std::move(*disk_.open(store::log_path(k_path), os::access::read_write));
        record_builder builder;
        each.fill(builder);
        ASSERT_TRUE(reopen());
        auto record = builder.finish({store_->super().uuid, store_->super().epoch, version_ + 1, start_chain, version_},
                                     each.image_bytes);
        const std::uint64_t at = offsets_.back() + (offsets_[1] - offsets_[0]);
        ASSERT_TRUE(file->write("test", at, record));
        file.reset();
        ASSERT_NO_FATAL_FAILURE(expect_corrupt_at(each.has_place ? at : 0));
        store_.reset();
    }
}

TEST_F(forged_record, that_names_another_predecessor_or_heap_does_not_count) {
    commit(0, {}, 1);
    record_builder builder;
    add_change(builder, 0);
    append(builder, k_chunk, chain_ + 1);
    record_builder foreign;
    add_change(foreign, 0);
    auto uuid = store_->super().uuid;
    uuid[3] ^= 1;
    ASSERT_TRUE(log_->append(foreign.finish({uuid, store_->super().epoch, version_ + 1, chain_, 5}, k_chunk)));
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
}

TEST_F(recovery, of_a_log_that_is_full_to_its_last_sector) {
    commit(0, {}, 1);
    while (log_->used_bytes() < format::k_log_segment_bytes)
        ASSERT_NO_FATAL_FAILURE(commit({}, {0}, version_));
    ASSERT_EQ(*log_->file().size(), format::k_log_header_bytes + log_->used_bytes());
    const std::uint64_t commits = version_;
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, commits);
    expect_state(commits);
}

TEST_F(recovery, of_more_pages_than_a_batch_and_over_the_borders_of_regions) {
    std::vector<std::uint64_t> pages;
    for (std::uint64_t chunk = 56; chunk < 80; ++chunk) { // the first region ends at chunk 64
        commit(chunk, {}, chunk);
        for (std::uint64_t i = 0; i < k_chunk_pages; ++i)
            pages.push_back(chunk * k_chunk_pages + i);
    }
    commit({}, pages, 7);
    const std::uint64_t commits = version_;
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    expect_state(commits);
    auto checked =
        verify(*store_, [](store::damage d) { ADD_FAILURE() << d.what; }, [](std::uint64_t, std::uint64_t) {});
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked, pages.size());
}

TEST_F(recovery, a_log_header_of_another_kind_or_format_is_damage) {
    commit(0, {}, 1);
    log_.reset();
    for (const bool magic : {true, false}) {
        edit_log([&](os::file& file) {
            format::log_header header{};
            ASSERT_TRUE(file.read(0, std::as_writable_bytes(std::span(&header, 1))));
            header.magic = format::k_log_magic;
            header.format_version = magic ? 1 : 2;
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

TEST_F(recovery, a_log_that_came_back_beside_a_clean_heap_is_removed_again) {
    commit(0, {}, 1);
    const auto log = contents(store::log_path(k_path));
    crash();
    ASSERT_TRUE(recover());
    store_.reset();
    {
        auto file = std::move(*disk_.open_or_create(store::log_path(k_path), 0600));
        ASSERT_TRUE(file->write("test", 0, log));
    }
    ASSERT_TRUE(reopen());
    EXPECT_TRUE(check_clean(disk_, *store_));
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 0U);
    expect_state(1);
}

class failing_recovery : public recovery {
protected:
    /// Opens and recovers, with each call failing in turn; what comes of it without a failure, `expected` says.
    void fail_each_call(const std::function<void(const result<recovery_outcome>&)>& expected) {
        log_.reset();
        store_.reset();
        const auto start = disk_.now();
        test::failing_files files(disk_);
        for (std::uint64_t n = 0;; ++n) {
            files.fail_at(n, errc::io);
            auto outcome = [&]() -> result<recovery_outcome> {
                auto opened = store::heap_file::open(files, k_path, os::access::read_write);
                if (!opened)
                    return opened.error();
                return log::recover(files, **opened, {});
            }();
            files.work_again();
            if (files.failed().empty()) {
                EXPECT_GT(n, 5U);
                return expected(outcome);
            }
            EXPECT_FALSE(outcome) << "nobody heard of the failed " << files.failed();
            ASSERT_TRUE(reopen());
            expected(recover()); // with what that one left
            store_.reset();
            disk_.rewind(start);
        }
    }
};

TEST_F(failing_recovery, reports_every_failed_call_and_may_be_repeated) {
    commit(0, {}, 1);
    commit(80, {0, 1}, 2); // in another leaf of the table
    commit({}, {0, 1, 2, 80 * k_chunk_pages}, 3, 2048);
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

TEST_F(failing_recovery, of_a_damaged_log_stays_damage) {
    commit(0, {}, 1);
    commit({}, {0, 1}, 2);
    commit({}, {0}, 3);
    flip_log(offsets_[1] + 100);
    fail_each_call([](const auto& outcome) {
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
    });
}

TEST_F(failing_recovery, makes_a_torn_superblock_whole) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover());
    flip((1 - store_->super().sequence % 2) * format::k_superblock_bytes + 100);
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

TEST_F(failing_recovery, with_a_map_that_outgrows_its_place) {
    for (std::uint64_t chunk = 0; chunk < 180; chunk += 2) // 4096 bytes take 85 exceptions
        ASSERT_NO_FATAL_FAILURE(commit(chunk, {}, 1));
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

TEST_F(recovery, that_meets_a_damaged_table_of_checksums_is_corrupt_at_its_place) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover());
    begin();
    commit({}, {0}, 2);
    log_.reset();
    const auto root = store_->super().regions[0].root;
    const std::uint64_t node = store_->super().regions[0].table_offset + root.slot * format::k_node_bytes;
    flip(node + 8);
    ASSERT_TRUE(reopen());
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::corrupt);
    EXPECT_EQ(outcome.why().offset, node);
}

TEST(redo_log, grows_by_segments_of_zeros_and_keeps_its_size_on_restart) {
    os::simulated_disk disk;
    auto log = std::move(*redo_log::create(disk, "dir/h", {}, 1, 1, 0600));
    const auto first = *log->file().size();
    EXPECT_EQ(first, format::k_log_header_bytes + format::k_log_segment_bytes);
    std::vector<std::byte> record(3 * MiB + 512, std::byte{1});
    ASSERT_TRUE(log->reserve(record.size()));
    ASSERT_TRUE(log->append(record));
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 4 * format::k_log_segment_bytes);
    std::vector<std::byte> rest(512);
    ASSERT_TRUE(log->file().read(format::k_log_header_bytes + record.size(), rest));
    EXPECT_EQ(rest, std::vector<std::byte>(512));
    log->restart();
    EXPECT_EQ(log->used_bytes(), 0U);
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 4 * format::k_log_segment_bytes);
}

TEST(redo_log, that_cannot_grow_stays_as_it_was) {
    os::simulated_disk disk;
    test::failing_files files(disk);
    auto log = std::move(*redo_log::create(files, "dir/h", {}, 1, 1, 0600));
    const std::uint64_t size = *log->file().size();
    for (std::uint64_t n = 0;; ++n) {
        files.fail_at(n, errc::no_space);
        auto grown = log->reserve(2 * MiB + 512); // the rest of the third segment is written with zeros
        files.work_again();
        if (files.failed().empty()) {
            EXPECT_TRUE(grown);
            EXPECT_GT(n, 1U);
            break;
        }
        ASSERT_FALSE(grown) << files.failed();
        if (n == 0) { // there is no room
            EXPECT_EQ(*log->file().size(), size);
        }
    }
    EXPECT_EQ(*log->file().size(), size + 2 * MiB);
}

TEST(redo_log, that_cannot_be_made_leaves_nothing_behind) {
    for (std::uint64_t n = 0;; ++n) {
        os::simulated_disk disk;
        disk.fail_at(n, errc::no_space);
        auto log = redo_log::create(disk, "dir/h", {}, 1, 1, 0600);
        if (log) {
            EXPECT_GT(n, 3U);
            break;
        }
        EXPECT_FALSE(*disk.exists("dir/h-log")) << n;
    }
}

} // namespace
} // namespace remanence::log
