// Two engines that share a heap, as two processes would, of which one changes memory outside of sections: such a change
// never becomes part of a commit, and following others neither hides it nor mixes with it.
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace remanence::txn {
namespace {

constexpr std::uint64_t k_block_pages = 192;
constexpr std::uint64_t k_chunk = 64 * KiB;
constexpr std::uint64_t k_rewritten = k_block_pages / 2; // pages of chunks that are rewritten as a whole

/// The numbers of pages are those within one block. What a test compares is the first word of each page.
class shared_follow : public testing::TestWithParam<track::tracker_choice> {
protected:
    void SetUp() override {
        first_ = open();
        if (IsSkipped())
            return;
        second_ = open();
        ASSERT_TRUE(first_ && second_);
        begin_to_write(*first_);
        std::optional<unexpected> why;
        auto* const block = static_cast<std::byte*>(first_->memory().allocate(k_bytes + k_chunk, 8, why));
        ASSERT_NE(block, nullptr);
        const auto offset = static_cast<std::uint64_t>(block - first_->memory().base());
        begin_ = align_up(offset, k_chunk);
        for (std::uint64_t page = 0; page < k_block_pages; ++page)
            poke(*first_, page);
        ASSERT_TRUE(first_->commit());
        end_writing(*first_);
        ASSERT_TRUE(first_->checkpoint());
        ASSERT_TRUE(second_->shared()->catch_up());
    }
    std::unique_ptr<engine> open() {
        engine_options options;
        options.reserve_bytes = 64 * MiB;
        options.chunk_bytes = k_chunk;
        options.is_shared = true;
        options.has.sharing = &k_sharing_part;
        options.when_taken = when_base_taken::elsewhere;
        options.tracker = GetParam();
        auto opened = engine::open(disk_, "dir/heap", open_mode::open_or_create, options, "abi");
        if (!opened && opened.why().code == errc::not_supported) {
            [&] { GTEST_SKIP() << opened.why().message; }();
            return nullptr;
        }
        EXPECT_TRUE(opened) << opened.why().message;
        return opened ? std::move(*opened) : nullptr;
    }
    static void begin_to_write(engine& heap) {
        const auto has_writer_lock = heap.shared()->take_writer_lock({});
        ASSERT_TRUE(has_writer_lock && *has_writer_lock);
    }
    static void end_writing(engine& heap) { heap.shared()->release_writer_lock(); }
    std::byte* page_of(engine& heap, std::uint64_t page) { return heap.memory().base() + begin_ + page * k_page_bytes; }
    /// Each value is another than all before.
    void poke(engine& heap, std::uint64_t page) {
        ++last_;
        std::memcpy(page_of(heap, page), &last_, sizeof last_);
    }
    std::uint64_t value(engine& heap, std::uint64_t page) {
        std::uint64_t found = 0;
        std::memcpy(&found, page_of(heap, page), sizeof found);
        return found;
    }
    std::vector<std::uint64_t> values(engine& heap) {
        std::vector<std::uint64_t> all(k_block_pages);
        for (std::uint64_t page = 0; page < k_block_pages; ++page)
            all[page] = value(heap, page);
        return all;
    }
    /// The first engine commits changes of these pages. Before that it rewrites chunks from page `rewritten` on, which
    /// then move.
    void commit_elsewhere(const std::vector<std::uint64_t>& pages, std::optional<std::uint64_t> rewritten = {}) {
        begin_to_write(*first_);
        if (rewritten)
            std::memset(page_of(*first_, *rewritten), static_cast<int>(last_ % 255 + 1), k_rewritten * k_page_bytes);
        for (const std::uint64_t page : pages)
            poke(*first_, page);
        ASSERT_TRUE(first_->commit());
        end_writing(*first_);
    }
    static void expect_refused(const result<void>& got) {
        ASSERT_FALSE(got);
        EXPECT_EQ(got.why().code, errc::outside_section) << got.why().message;
    }
    static result<void> try_to_write(engine& heap) {
        auto taken = heap.shared()->take_writer_lock({});
        return taken ? result<void>() : taken.error();
    }
    /// The file then lacks what the second engine's memory is compared with, and all of it is mapped anew. So its
    /// changes outside of sections are undone, but it need not hear of them.
    [[nodiscard]] bool is_passed_by_checkpoint() const {
        return second_->shared()->protocol().apply_target() > second_->version();
    }
    /// The trap tracker tells of all of memory each time.
    [[nodiscard]] static bool looks_everywhere() { return GetParam() != track::tracker_choice::scan; }
    void commit_and_leave(std::uint64_t page, std::mt19937_64& random, std::set<std::uint64_t>& strays);
    void go_on_in_random_ways(std::mt19937_64& random);
    void check_following(const std::vector<std::uint64_t>& committed, std::set<std::uint64_t>& strays,
                         std::set<std::uint64_t>& changed);

    static constexpr std::uint64_t k_bytes = k_block_pages * k_page_bytes;
    simulation::simulated_disk disk_;
    std::unique_ptr<engine> first_;
    std::unique_ptr<engine> second_;
    std::uint64_t begin_ = 0; // of the block, within the heap
    std::uint64_t last_ = 0;
};

TEST_P(shared_follow, a_stray_change_where_a_commit_changes_memory_is_undone_before_it_is_followed) {
    poke(*second_, 7);
    commit_elsewhere({7, 100});
    const std::uint64_t before = value(*second_, 100);
    expect_refused(second_->shared()->catch_up());
    EXPECT_EQ(value(*second_, 100), before); // nothing was followed yet
    ASSERT_TRUE(second_->shared()->catch_up());
    EXPECT_EQ(values(*second_), values(*first_));
}

TEST_P(shared_follow, a_stray_change_elsewhere_is_never_committed) {
    const std::uint64_t committed = value(*second_, 7);
    poke(*second_, 7);
    const std::uint64_t stray = value(*second_, 7);
    for (std::uint64_t i = 0; i < 3; ++i) {
        commit_elsewhere({100 + i, 150});
        if (looks_everywhere()) {
            expect_refused(second_->shared()->catch_up());
            poke(*second_, 7);
        } else {
            ASSERT_TRUE(second_->shared()->catch_up());
            EXPECT_EQ(value(*second_, 150), value(*first_, 150));
            EXPECT_EQ(value(*second_, 7), stray);
        }
    }
    expect_refused(try_to_write(*second_));
    EXPECT_EQ(value(*second_, 7), committed);
    begin_to_write(*second_);
    poke(*second_, 8);
    ASSERT_TRUE(second_->commit());
    end_writing(*second_);
    ASSERT_TRUE(first_->shared()->catch_up());
    EXPECT_EQ(value(*first_, 7), committed);
    EXPECT_EQ(values(*second_), values(*first_));
}

TEST_P(shared_follow, a_stray_change_anywhere_is_found_where_a_checkpoint_is_passed) {
    for (const bool is_changed_before : {true, false}) {
        commit_elsewhere({7, 9});
        ASSERT_TRUE(second_->shared()->catch_up());
        if (is_changed_before)
            poke(*second_, 7);
        commit_elsewhere({100});
        begin_to_write(*first_);
        ASSERT_TRUE(first_->checkpoint());
        end_writing(*first_);
        if (!is_changed_before)
            poke(*second_, 7);
        commit_elsewhere({101});
        expect_refused(second_->shared()->catch_up());
        ASSERT_TRUE(second_->shared()->catch_up());
        EXPECT_EQ(values(*second_), values(*first_));
    }
}

// The commit changes no structure of the allocator, so nobody looks there before following it.
TEST_P(shared_follow, a_stray_change_of_the_allocators_structures_is_undone_and_does_not_poison) {
    commit_elsewhere({7});
    std::memset(second_->memory().base() + 64, 0xff, 512);
    expect_refused(second_->shared()->catch_up());
    ASSERT_TRUE(second_->shared()->catch_up());
    EXPECT_FALSE(second_->is_poisoned());
    EXPECT_EQ(values(*second_), values(*first_));
    begin_to_write(*second_);
    std::optional<unexpected> why;
    EXPECT_NE(second_->memory().allocate(100, 8, why), nullptr);
    EXPECT_TRUE(second_->commit());
    end_writing(*second_);
}

TEST_P(shared_follow, what_is_followed_is_no_change_of_the_follower) {
    for (std::uint64_t i = 0; i < 20; ++i) {
        commit_elsewhere({i, 40, 170 - i});
        if (i % 2 == 0) {
            ASSERT_TRUE(second_->shared()->catch_up());
            const auto written = second_->written_pages();
            ASSERT_TRUE(written);
            EXPECT_TRUE(written->empty());
        }
        begin_to_write(*second_);
        const std::uint64_t version = second_->version();
        ASSERT_TRUE(second_->commit());
        EXPECT_EQ(second_->version(), version);
        end_writing(*second_);
    }
}

/// A declared section of the second engine changes these pages, and commits those that it declares.
TEST_P(shared_follow, a_declared_section_commits_what_it_declares_and_leaves_the_rest_to_be_undone) {
    commit_elsewhere({3, 4, 5});
    begin_to_write(*second_);
    second_->memory().begin_declared();
    for (const std::uint64_t page : {std::uint64_t{3}, std::uint64_t{4}}) {
        ASSERT_TRUE(second_->memory().declare(page_of(*second_, page), 8));
        poke(*second_, page);
    }
    poke(*second_, 100);
    ASSERT_TRUE(second_->commit({.scope = commit_scope::declared}));
    second_->memory().end_declared();
    end_writing(*second_);
    ASSERT_TRUE(first_->shared()->catch_up());
    for (const std::uint64_t page : {std::uint64_t{3}, std::uint64_t{4}})
        EXPECT_EQ(value(*first_, page), value(*second_, page));
    EXPECT_NE(value(*first_, 100), value(*second_, 100));
    commit_elsewhere({6});
    expect_refused(try_to_write(*second_));
    begin_to_write(*second_);
    end_writing(*second_);
    EXPECT_EQ(values(*second_), values(*first_));
}

TEST_P(shared_follow, a_declared_section_whose_changes_are_rolled_back_is_followed_by_one_that_commits) {
    begin_to_write(*second_);
    second_->memory().begin_declared();
    ASSERT_TRUE(second_->memory().declare(page_of(*second_, 3), 8));
    poke(*second_, 3);
    ASSERT_TRUE(second_->rollback());
    second_->memory().end_declared();
    end_writing(*second_);
    begin_to_write(*second_);
    second_->memory().begin_declared();
    ASSERT_TRUE(second_->memory().declare(page_of(*second_, 4), 8));
    poke(*second_, 4);
    ASSERT_TRUE(second_->commit({.scope = commit_scope::declared}));
    second_->memory().end_declared();
    end_writing(*second_);
    ASSERT_TRUE(first_->shared()->catch_up());
    EXPECT_EQ(values(*second_), values(*first_));
}

/// The second engine follows. `strays` and `changed` are the pages that it changed outside of sections, and those that
/// commits have changed since it followed last.
void shared_follow::check_following(const std::vector<std::uint64_t>& committed, std::set<std::uint64_t>& strays,
                                    std::set<std::uint64_t>& changed) {
    const std::vector<std::uint64_t> before = values(*second_);
    const bool is_mapped_anew = is_passed_by_checkpoint();
    const auto followed = second_->shared()->catch_up();
    const std::vector<std::uint64_t> now = values(*second_);
    if (!followed) {
        expect_refused(followed);
        ASSERT_FALSE(strays.empty());
        for (std::uint64_t page = 0; page < k_block_pages && !is_mapped_anew; ++page) {
            if (strays.contains(page))
                ASSERT_NE(now[page], before[page]) << "is not undone";
            else
                ASSERT_EQ(now[page], before[page]) << "is followed";
        }
        strays.clear();
        return;
    }
    if (is_mapped_anew)
        strays.clear();
    for (std::uint64_t page = 0; page < k_block_pages; ++page) {
        if (!strays.contains(page)) {
            ASSERT_EQ(now[page], committed[page]) << "page " << page;
            continue;
        }
        ASSERT_FALSE(changed.contains(page)) << "is hidden or mixed";
        ASSERT_EQ(now[page], before[page]) << "is lost";
    }
    changed.clear();
}

/// Commits a change of this page, and ends the section. A declared section may change other pages, too, without
/// declaring them; these become stray.
void shared_follow::commit_and_leave(std::uint64_t page, std::mt19937_64& random, std::set<std::uint64_t>& strays) {
    const bool is_declared = random() % 2 == 0;
    if (is_declared) {
        second_->memory().begin_declared();
        ASSERT_TRUE(second_->memory().declare(page_of(*second_, page), 8));
        if (const std::uint64_t other = random() % k_block_pages; other != page && random() % 3 == 0) {
            poke(*second_, other);
            strays.insert(other);
        }
    }
    poke(*second_, page);
    ASSERT_TRUE(second_->commit({.scope = is_declared ? commit_scope::declared : commit_scope::everything}));
    if (is_declared)
        second_->memory().end_declared();
    end_writing(*second_);
}

void shared_follow::go_on_in_random_ways(std::mt19937_64& random) {
    std::set<std::uint64_t> strays;
    std::set<std::uint64_t> changed;
    std::vector<std::uint64_t> committed = values(*first_);
    for (int step = 0; step < 250; ++step) {
        const std::uint64_t page = random() % k_block_pages;
        switch (random() % 12) {
        case 0:
        case 1:
            poke(*second_, page);
            strays.insert(page);
            break;
        case 2:
        case 3:
        case 4:
        case 5: {
            std::vector<std::uint64_t> pages;
            for (std::uint64_t i = 1 + random() % 4; i > 0; --i)
                pages.push_back(random() % k_block_pages);
            std::optional<std::uint64_t> rewritten;
            if (random() % 8 == 0) {
                rewritten = random() % 2 * k_rewritten;
                for (std::uint64_t i = 0; i < k_rewritten; ++i)
                    pages.push_back(*rewritten + i);
            }
            ASSERT_NO_FATAL_FAILURE(commit_elsewhere(pages, rewritten));
            committed = values(*first_);
            changed.insert(pages.begin(), pages.end());
            break;
        }
        case 6:
            begin_to_write(*first_);
            ASSERT_TRUE(first_->checkpoint());
            end_writing(*first_);
            break;
        case 7: {
            const bool is_mapped_anew = is_passed_by_checkpoint();
            if (const auto taken = try_to_write(*second_); !taken) {
                expect_refused(taken);
                ASSERT_FALSE(strays.empty());
                strays.clear();
                break;
            }
            ASSERT_TRUE(strays.empty() || is_mapped_anew);
            strays.clear();
            ASSERT_EQ(values(*second_), committed);
            ASSERT_NO_FATAL_FAILURE(commit_and_leave(page, random, strays));
            changed.clear();
            ASSERT_TRUE(first_->shared()->catch_up());
            committed = values(*first_);
            break;
        }
        case 8:
            if (!is_passed_by_checkpoint()) {
                ASSERT_TRUE(second_->written_pages()); // asks the tracker, and changes nothing
            }
            break;
        default:
            ASSERT_NO_FATAL_FAILURE(check_following(committed, strays, changed));
        }
    }
    ASSERT_TRUE(first_->verify());
}

TEST_P(shared_follow, random_stray_changes_are_never_committed_hidden_or_lost) {
    std::mt19937_64 random(test::random_seed());
    ASSERT_NO_FATAL_FAILURE(go_on_in_random_ways(random));
}

INSTANTIATE_TEST_SUITE_P(trackers, shared_follow,
                         testing::Values(track::tracker_choice::scan, track::tracker_choice::trap,
                                         track::tracker_choice::fallback),
                         [](const auto& tracker) {
                             return tracker.param == track::tracker_choice::scan   ? "scan"
                                    : tracker.param == track::tracker_choice::trap ? "trap"
                                                                                   : "fallback";
                         });

} // namespace
} // namespace remanence::txn
