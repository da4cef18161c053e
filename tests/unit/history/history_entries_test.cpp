// The last entries of a history file, which are found from its end.
#include "history/history_entries.hpp"

#include "os/file.hpp"
#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::history {

namespace {

constexpr heap_uuid k_heap{1, 2, 3};

class last_entries_of_a_history : public testing::Test {
protected:
    static std::span<const std::byte> bytes_of(const format::history_header& header) {
        return std::as_bytes(std::span(&header, 1));
    }
    void SetUp() override {
        const format::history_header header = header_of(k_heap);
        file_.assign(static_cast<std::size_t>(format::k_history_header_bytes), std::byte{0});
        std::memcpy(file_.data(), &header, sizeof header);
        end_ = {{}, format::k_history_header_bytes, header.checksum};
    }
    void add(std::vector<std::byte> events) {
        append_entry(file_, {events_.size() + 1, 77 * events_.size()}, events, end_);
        begins_.push_back(end_.offset - entry_bytes(events.size()));
        events_.push_back(std::move(events));
    }
    static std::vector<std::byte> some_bytes(std::mt19937_64& random, std::size_t most) {
        std::vector<std::byte> all(random() % most);
        for (std::byte& each : all)
            each = static_cast<std::byte>(random());
        return all;
    }
    [[nodiscard]] static commit_name name_of(std::size_t entry) { return {entry + 1, 77 * entry}; }
    /// Reads the file's end; `last` is the last entry that is known.
    [[nodiscard]] last_entries read(std::uint64_t bytes, std::size_t last, const heap_uuid& heap = k_heap) const {
        const std::string path = (dir_ / "history").string();
        (void)std::filesystem::remove(path);
        auto file = os::posix_file_system().open_or_create(path, 0600);
        EXPECT_TRUE(file && (*file)->write("test", 0, file_));
        auto found = read_last_entries(**file, heap, bytes, [&](const commit_name& each) {
            return each.version <= last + 1 && each == name_of(static_cast<std::size_t>(each.version - 1));
        });
        EXPECT_TRUE(found);
        return found ? std::move(*found) : last_entries{};
    }
    /// Returns how many were found. They must be those before and including `last`.
    std::size_t expect_sound(const last_entries& found, std::size_t last) const {
        for (std::size_t i = 0; i < found.all.size(); ++i) {
            const std::size_t which = last + 1 - found.all.size() + i;
            EXPECT_EQ(found.all[i].commit, name_of(which));
            EXPECT_TRUE(std::ranges::equal(found.all[i].events, events_[which]));
        }
        return found.all.size();
    }

    test::temp_dir dir_;
    std::vector<std::byte> file_;
    std::vector<std::vector<std::byte>> events_;
    std::vector<std::uint64_t> begins_;
    entry_end end_;
};

TEST_F(last_entries_of_a_history, are_those_of_which_the_one_before_is_read_too) {
    std::mt19937_64 random(test::seed_or(1));
    for (int i = 0; i < 12; ++i)
        add(some_bytes(random, 200));
    const std::size_t last = events_.size() - 1;
    for (const std::size_t behind : {0U, 8U, 24U, 1000U}) { // reserved space
        file_.resize(static_cast<std::size_t>(end_.offset) + behind);
        for (std::uint64_t bytes = 8; bytes <= file_.size() + 8; bytes += 8) {
            const std::uint64_t begin = file_.size() - std::min<std::uint64_t>(bytes, file_.size());
            const auto whole =
                static_cast<std::size_t>(std::ranges::count_if(begins_, [&](auto each) { return each >= begin; }));
            EXPECT_EQ(expect_sound(read(bytes, last), last), whole == 0 || begin <= begins_[0] ? whole : whole - 1)
                << bytes;
        }
    }
    EXPECT_EQ(expect_sound(read(file_.size(), 7), 7), 8U); // entries of commits that the heap has lost
    EXPECT_TRUE(read(file_.size(), last, {9}).all.empty());
}

TEST_F(last_entries_of_a_history, are_not_confused_by_events_that_contain_entries) {
    std::mt19937_64 random(test::seed_or(2));
    for (int i = 0; i < 4; ++i)
        add(some_bytes(random, 100));
    add({file_.begin() + static_cast<std::ptrdiff_t>(format::k_history_header_bytes), file_.end()});
    std::vector<std::byte> magic;
    for (int i = 0; i < 1000; ++i) { // as long as the rest of the entry
        const format::history_entry fake{format::k_entry_magic, 7, 77 * 6,
                                         (1000 - static_cast<std::uint64_t>(i)) * sizeof fake - sizeof fake, 0};
        magic.insert(magic.end(), reinterpret_cast<const std::byte*>(&fake),
                     reinterpret_cast<const std::byte*>(&fake + 1));
    }
    add(some_bytes(random, 100));
    add(magic);
    add(some_bytes(random, 100));
    EXPECT_EQ(expect_sound(read(file_.size(), 5), 5), 6U);
    (void)expect_sound(read(file_.size(), 7), 7); // some, or none: it gives up
}

TEST_F(last_entries_of_a_history, are_sound_wherever_the_file_is_damaged) {
    std::mt19937_64 random(test::seed_or(3));
    for (int i = 0; i < 6; ++i)
        add(some_bytes(random, 60));
    for (std::size_t i = static_cast<std::size_t>(format::k_history_header_bytes); i < file_.size(); ++i) {
        file_[i] ^= std::byte{0x10};
        const last_entries found = read(file_.size(), 5);
        const std::size_t last = found.all.empty() ? 5 : static_cast<std::size_t>(found.all.back().commit.version - 1);
        (void)expect_sound(found, last);
        file_[i] ^= std::byte{0x10};
    }
}

} // namespace
} // namespace remanence::history
