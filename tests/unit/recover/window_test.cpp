// The log as a window: checkpoints that end while records are appended, lap after lap, read back at every step, cut off,
// torn and garbled.
//
// The window is read back at each of 1,800 steps.
#include "recover/salvage.hpp"
#include "recover/scan.hpp"
#include "support/log_fixture.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <deque>
#include <random>

namespace remanence::recover {
namespace {

struct placed_record {
    std::uint64_t version;
    std::uint64_t offset;
    std::uint64_t bytes; // padding included
    std::uint64_t used_bytes;
    std::uint64_t checksum;
    std::uint64_t durable_through;
    [[nodiscard]] std::uint64_t end() const { return offset + bytes; }
};

struct taken_mark {
    std::uint64_t place;
    std::uint64_t version;
    std::uint64_t chain;
};

/// Knows where each record must be, and what may be read back.
class log_window : public log::log_on_disk {
protected:
    std::uint64_t below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }

    /// A record of about that size, more or less durable. False when there is no room.
    bool add(std::uint64_t bytes, log::durability how) {
        log::record_builder builder;
        const store::page_bytes page(version_ + 1);
        for (std::uint64_t index = 0; builder.empty() || builder.record_bytes() < bytes; ++index) {
            const std::uint64_t left = std::max<std::uint64_t>(bytes, builder.record_bytes()) - builder.record_bytes();
            const format::change_range range{
                0, static_cast<std::uint16_t>(align_up(std::clamp<std::uint64_t>(left, 8, k_page_bytes), 8))};
            builder.add_page(index, page.checksum(), {&range, 1}, page.span().data());
        }
        const std::uint64_t size = builder.record_bytes();
        if (!log_->has_room(size))
            return false;
        const auto& super = store_->super();
        const std::uint64_t durable_through = log_->durable_through();
        EXPECT_TRUE(log_->reserve(size));
        const auto record = builder.finish({super.session, super.epoch, version_ + 1, chain_, durable_through}, 0);
        format::record_header header{};
        std::memcpy(&header, record.data(), sizeof header);
        log_->append(builder.take());
        chain_ = builder.checksum();
        records_.push_back({++version_, next_, size, sizeof header + header.payload_bytes, chain_, durable_through});
        next_ += size;
        EXPECT_TRUE(log_->await(version_, how));
        return true;
    }
    void mark() {
        auto place = log_->mark();
        ASSERT_TRUE(place);
        ASSERT_EQ(log_->durable_through(), version_);
        if (*place != next_) {
            ASSERT_EQ(*place, format::k_log_header_bytes);
            ++wraps_;
        }
        next_ = *place;
        marks_.push_back({*place, version_, chain_});
    }
    /// Publishes that mark; those before it will not be.
    void release(std::size_t index) {
        const taken_mark it = marks_.at(index);
        marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(index) + 1);
        ASSERT_TRUE(store_->writer().publish({it.version, it.chain, store_->session(), false, it.place}));
        log_->release(it.place);
        while (!records_.empty() && records_.front().version <= it.version)
            records_.pop_front();
    }
    void restart() {
        ASSERT_TRUE(log_->await(version_, log::durability::durable));
        ASSERT_TRUE(store_->writer().publish({version_, chain_, store_->session(), false, format::k_log_header_bytes}));
        log_->restart();
        records_.clear();
        marks_.clear();
        next_ = format::k_log_header_bytes;
    }
    void check_size() {
        std::uint64_t bytes = 0;
        for (const placed_record& each : records_)
            bytes += each.bytes;
        ASSERT_EQ(log_->used_bytes(), bytes);
    }
    [[nodiscard]] bool is_in_two_parts() const {
        return !records_.empty() && records_.back().offset < records_.front().offset;
    }

    void expect_records(const std::vector<scanned_record>& found, std::uint64_t count) {
        ASSERT_EQ(found.size(), count);
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].version, records_[i].version);
            ASSERT_EQ(found[i].offset, records_[i].offset) << "version " << found[i].version;
            EXPECT_EQ(found[i].checksum, records_[i].checksum);
        }
    }
    /// As another process would find it: those that reached the file.
    void expect_all() {
        ASSERT_TRUE(reopen());
        auto found = scan(log_->file(), store_->supers());
        ASSERT_TRUE(found) << found.why().message;
        const std::uint64_t first = records_.empty() ? version_ + 1 : records_.front().version;
        ASSERT_NO_FATAL_FAILURE(expect_records(*found, log_->written_through() + 1 - first));
    }
    /// What is left when these records are not whole. Some later one may prove that one of them was durable.
    void expect_without(const std::function<bool(const placed_record&)>& is_whole, const std::string& what) {
        SCOPED_TRACE(what);
        std::size_t count = 0;
        while (count < records_.size() && is_whole(records_[count]))
            ++count;
        const bool is_proven =
            count < records_.size() && std::any_of(
                                           records_.begin() + static_cast<std::ptrdiff_t>(count), records_.end(),
                                           [&](const placed_record& each) {
                                               return is_whole(each) && each.durable_through >= records_[count].version;
                                           });
        auto found = scan_up_to_damage(log_->file(), store_->supers());
        ASSERT_TRUE(found);
        ASSERT_NO_FATAL_FAILURE(expect_records(found->records, count));
        ASSERT_EQ(found->damage.has_value(), is_proven) << (found->damage ? found->damage->message : "no damage");
        if (is_proven) {
            EXPECT_EQ(found->damage->code, errc::corrupt);
            const std::uint64_t behind = count > 0 ? records_[count - 1].end() : store_->super().log_begin;
            if (found->damage->offset != behind) {
                EXPECT_EQ(found->damage->offset, records_[count].offset);
            }
        }
    }
    /// Each bit of a record counts.
    void garble(std::size_t index) {
        const placed_record& it = records_[index];
        const std::uint64_t at = it.offset + below(it.used_bytes);
        const std::byte mask{static_cast<unsigned char>(1U << below(8))};
        disk_.rot(store::log_path(store::k_path), at, mask);
        expect_without([&](const placed_record& each) { return each.version != it.version; },
                       "version " + std::to_string(it.version) + " garbled at " + std::to_string(at));
        disk_.rot(store::log_path(store::k_path), at, mask);
    }
    /// Where the segments end that a superblock's window, and records which were durable, prove to have been there.
    [[nodiscard]] std::uint64_t proven_bytes(std::uint64_t durable_through) const {
        std::uint64_t end = std::max(store_->super().log_begin, format::k_log_header_bytes + 1);
        for (const placed_record& each : records_) {
            if (each.version <= durable_through)
                end = std::max(end, each.end());
        }
        return format::k_log_header_bytes + format::log_segments_around(end - format::k_log_header_bytes);
    }
    /// The file ends at any sector. Whatever is not there any more and is known to have been durable is missed.
    void cut_everywhere() {
        simulation::simulated_disk copies;
        auto copy = std::move(*copies.open_or_create("dir/copy", 0600));
        ASSERT_TRUE(copy->write("test", 0, contents(store::log_path(store::k_path))));
        const std::uint64_t size = *copy->size();
        std::uint64_t told = 0;
        std::uint64_t not_told = 0;
        for (std::uint64_t end = size; end > 0;) {
            end -= std::min(end, k_cut_step);
            SCOPED_TRACE("cut off at " + std::to_string(end));
            ASSERT_TRUE(copy->resize("test", end));
            const auto is_whole = [&](const placed_record& each) { return each.end() <= end; };
            const auto first_gone = std::find_if_not(records_.begin(), records_.end(), is_whole);
            std::uint64_t durable_through = store_->super().checkpoint_version;
            for (const placed_record& each : records_) {
                if (is_whole(each))
                    durable_through = std::max(durable_through, each.durable_through);
            }
            const std::uint64_t places = end - std::min(end, format::k_log_header_bytes);
            const bool is_in_segment = places != format::log_segments_within(places);
            const bool is_gone = first_gone != records_.end() && first_gone->version <= durable_through;
            const bool is_short = end < proven_bytes(store_->super().checkpoint_version) ||
                                  (is_in_segment && end < proven_bytes(durable_through));
            auto found = scan_up_to_damage(*copy, store_->supers());
            ASSERT_TRUE(found);
            ASSERT_NO_FATAL_FAILURE(
                expect_records(found->records, static_cast<std::uint64_t>(first_gone - records_.begin())));
            if (is_gone || is_short) {
                ASSERT_TRUE(found->damage);
                ASSERT_TRUE(is_damage(found->damage->code));
            }
            ++(found->damage ? told : not_told);
        }
        EXPECT_GT(told, 0U);
        EXPECT_GT(not_told + told, size / k_cut_step - 1);
    }

#ifdef NDEBUG
    static constexpr std::uint64_t k_cut_step = k_sector_bytes;
#else
    static constexpr std::uint64_t k_cut_step = 31 * k_sector_bytes; // debug builds and sanitizers are slow
#endif
    std::mt19937_64 random_;
    std::deque<placed_record> records_; // those behind the superblock
    std::vector<taken_mark> marks_;     // not released
    std::uint64_t next_ = format::k_log_header_bytes;
    std::uint64_t wraps_ = 0;
};

// Everything at random, for many laps. Whatever is in the file is found in order, and one record that is not whole ends
// it: as damage, when a later one proves that it was durable.
TEST_F(log_window, is_read_back_at_every_step_of_many_laps) {
    std::uint64_t wraps = 0;
    std::uint64_t rooms_lacked = 0;
    std::uint64_t in_two_parts = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_.seed(test::seed_or(seed));
        for (int step = 0; step < 300; ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            const std::uint64_t chance = below(100);
            if (chance < 70) {
                const std::uint64_t bytes = below(20) == 0  ? below(1200 * KiB)
                                            : below(3) == 0 ? below(60 * KiB)
                                                            : below(3000);
                const auto how = below(2) == 0   ? log::durability::durable
                                 : below(2) == 0 ? log::durability::lazy
                                                 : log::durability::none;
                if (!add(bytes, how)) {
                    ++rooms_lacked;
                    if (marks_.empty()) {
                        ASSERT_NO_FATAL_FAILURE(mark());
                    }
                    ASSERT_NO_FATAL_FAILURE(release(marks_.size() - 1));
                    ASSERT_TRUE(add(bytes, how)); // the window is in one part now
                }
            } else if (chance < 85) {
                ASSERT_NO_FATAL_FAILURE(mark());
            } else if (chance < 99) {
                if (!marks_.empty()) {
                    ASSERT_NO_FATAL_FAILURE(release(below(marks_.size())));
                }
            } else {
                ASSERT_NO_FATAL_FAILURE(restart());
            }
            ASSERT_NO_FATAL_FAILURE(check_size());
            ASSERT_NO_FATAL_FAILURE(expect_all());
            in_two_parts += is_in_two_parts() ? 1U : 0U;
            if (!records_.empty() && log_->written_through() == version_) {
                ASSERT_NO_FATAL_FAILURE(garble(records_.size() - 1));
                ASSERT_NO_FATAL_FAILURE(garble(below(records_.size())));
            }
        }
        wraps += std::exchange(wraps_, 0);
        ASSERT_NO_FATAL_FAILURE(restart());
    }
    EXPECT_GT(wraps, 25U);
    EXPECT_GT(rooms_lacked, 0U);
    EXPECT_GT(in_two_parts, 100U);
}

TEST_F(log_window, goes_on_at_the_logs_beginning_only_where_as_much_is_free_as_it_has) {
    ASSERT_TRUE(add(100 * KiB, log::durability::durable));
    ASSERT_NO_FATAL_FAILURE(mark()); // nothing is free yet
    EXPECT_EQ(wraps_, 0U);
    ASSERT_TRUE(add(k_sector_bytes, log::durability::durable));
    ASSERT_NO_FATAL_FAILURE(release(0));
    ASSERT_TRUE(add(200 * KiB, log::durability::durable));
    ASSERT_NO_FATAL_FAILURE(mark()); // too little
    EXPECT_EQ(wraps_, 0U);
    ASSERT_NO_FATAL_FAILURE(release(0));
    ASSERT_TRUE(add(200 * KiB, log::durability::lazy));
    ASSERT_NO_FATAL_FAILURE(mark());
    EXPECT_EQ(wraps_, 1U);
    const std::uint64_t begin = records_.front().offset;
    EXPECT_TRUE(log_->has_room(begin - format::k_log_header_bytes - k_sector_bytes));
    EXPECT_FALSE(log_->has_room(begin - format::k_log_header_bytes)); // full would look like empty
    const std::uint64_t size = *log_->file().size();
    while (add(5000, log::durability::lazy)) {
    }
    EXPECT_EQ(*log_->file().size(), size);
    expect_all();
    ASSERT_NO_FATAL_FAILURE(mark()); // straight on, but there is no room
    EXPECT_EQ(wraps_, 1U);
    EXPECT_FALSE(log_->has_room(20 * KiB));
    ASSERT_NO_FATAL_FAILURE(release(0)); // the one at the beginning
    EXPECT_TRUE(log_->has_room(20 * KiB));
    ASSERT_TRUE(add(20 * KiB, log::durability::durable));
    expect_all();
    ASSERT_NO_FATAL_FAILURE(release(0));
    expect_all();
    EXPECT_EQ(log_->used_bytes(), records_.back().bytes);
}

TEST_F(log_window, that_is_in_two_parts_without_a_record_in_one_of_them_is_found) {
    ASSERT_TRUE(add(10 * KiB, log::durability::durable));
    ASSERT_NO_FATAL_FAILURE(mark());
    const std::uint64_t straight_on = next_;
    ASSERT_NO_FATAL_FAILURE(release(0)); // the window is empty, and begins behind what was there
    expect_all();
    ASSERT_NO_FATAL_FAILURE(mark());
    EXPECT_EQ(wraps_, 1U); // while the superblock says where the window's far part would begin
    expect_all();
    ASSERT_TRUE(add(600, log::durability::durable));
    ASSERT_TRUE(add(600, log::durability::durable));
    EXPECT_EQ(store_->super().log_begin, straight_on);
    expect_all();
    garble(0);
    garble(1);
    ASSERT_NO_FATAL_FAILURE(release(0));
    expect_all();
}

TEST_F(log_window, that_is_cut_off_lacks_nothing_durable_without_a_word) {
    ASSERT_TRUE(add(700 * KiB, log::durability::durable));
    ASSERT_NO_FATAL_FAILURE(mark());
    ASSERT_NO_FATAL_FAILURE(release(0));
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(add(150 * KiB, log::durability::durable)); // on into the second segment
    cut_everywhere();
    ASSERT_FALSE(HasFailure());
    ASSERT_NO_FATAL_FAILURE(mark());
    ASSERT_EQ(wraps_, 1U);
    ASSERT_EQ(*log_->file().size(), format::k_log_header_bytes + 2 * MiB);
    cut_everywhere(); // nothing is at the beginning yet
    ASSERT_FALSE(HasFailure());
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(add(20 * KiB, log::durability::durable));
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(add(900, log::durability::lazy));
    cut_everywhere();
    ASSERT_FALSE(HasFailure());
    for (std::size_t i = 0; i < records_.size(); ++i)
        garble(i);
    // The first one at the beginning is in flight, and its header is there: it says what had been durable.
    const std::vector<std::byte> rest(100 * KiB);
    ASSERT_TRUE(log_->file().write("test", format::k_log_header_bytes + k_sector_bytes, rest));
    while (records_.back().offset < records_.front().offset)
        records_.pop_back();
    edit_log([&](os::file& file) { ASSERT_TRUE(file.resize("test", records_.back().end())); });
    auto found = scan(log_->file(), store_->supers());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.why().code, errc::truncated);
}

class recovery_of_window : public log::log_on_disk {};

// What a checkpoint applies is as of its mark, and more was committed before it ended.
TEST_F(recovery_of_window, brings_every_commit_back_wherever_it_lies) {
    const auto start = [&] {
        log_.reset();
        store_.reset();
        return disk_.now();
    }();
    std::uint64_t replayed = 0;
    std::uint64_t in_two_parts = 0;
    for (std::uint64_t commits = 1; commits <= 60; ++commits) {
        SCOPED_TRACE(commits);
        memory_.clear();
        states_.clear();
        ASSERT_TRUE(reopen());
        begin();
        std::optional<begun_checkpoint> begun;
        std::mt19937_64 random(test::seed_or(commits));
        for (std::uint64_t i = 0; i < commits; ++i) {
            if (begun && random() % 4 == 0) {
                ASSERT_NO_FATAL_FAILURE(end_checkpoint(*begun));
                begun.reset();
            }
            if (!begun && i > 0 && random() % 4 == 0)
                begun = begin_checkpoint();
            if (!log_->has_room(k_sector_bytes)) {
                ASSERT_NO_FATAL_FAILURE(end_checkpoint(*begun));
                begun.reset();
            }
            if (i == 0) {
                commit(0, {}, i);
            } else {
                commit({}, {random() % store::k_chunk_pages, store::k_chunk_pages - 1}, i, 8 * (random() % 500));
            }
        }
        const std::uint64_t left = commits - store_->super().checkpoint_version;
        crash();
        {
            auto log = std::move(*open_log(disk_, *store_, os::access::read_only));
            const auto found = scan(*log, store_->supers());
            ASSERT_TRUE(found) << found.why().message;
            in_two_parts += !found->empty() && found->back().offset < found->front().offset ? 1U : 0U;
        }
        auto outcome = recover();
        ASSERT_TRUE(outcome) << outcome.why().message;
        EXPECT_EQ(outcome->commits, left);
        replayed += left;
        expect_state(commits);
        store_.reset();
        disk_.rewind(start);
    }
    EXPECT_GT(replayed, 60U);
    EXPECT_GT(in_two_parts, 0U); // some ten; how many, the seed decides
}

TEST_F(recovery_of_window, finds_damage_in_either_part) {
    ASSERT_NO_FATAL_FAILURE(commit_in_two_parts());
    crash();
    for (std::size_t i = 5; i < offsets_.size() - 1; ++i) {
        SCOPED_TRACE(i);
        flip_log(offsets_[i] + 100); // in the payload
        const auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
        EXPECT_EQ(outcome.why().offset, offsets_[i]);
        flip_log(offsets_[i] + 100);
    }
    flip_log(offsets_[7] + 100);
    std::vector<failure> damage;
    const auto outcome = salvage(disk_, *store_, [&](const failure& each) { damage.push_back(each); }, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->commits, 2U); // those before it
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].offset, offsets_[7]);
    ASSERT_TRUE(disk_.remove("test", store::log_path(store::k_path))); // salvage leaves it, for whoever looks
    ASSERT_TRUE(reopen());
    expect_state(7);
}

} // namespace
} // namespace remanence::recover
