// Commits of what was declared, and of nothing else.

#include "support/seed.hpp"
#include "unit/view/view_fixture.hpp"

#include <fstream>
#include <random>
#include <set>

namespace remanence::view {
namespace {

class declared_changes : public view_with_tracker {
protected:
    void SetUp() override {
        view_with_tracker::SetUp();
        if (view_)
            view_->note_declarations(true);
    }
    void declare(std::uint64_t page) { ASSERT_TRUE(view_->declare(page * k_page_bytes + 100, 8)); }
    void declare_word(std::uint64_t offset) { ASSERT_TRUE(view_->declare_words(offset + 3, 2)); }
    void put_declared(std::uint64_t page, std::uint64_t at, std::uint8_t value) {
        declare(page);
        put(page, at, value);
    }
    change_set collect_declared() {
        auto changes = view_->collector().collect_declared(nothing_is_unused);
        EXPECT_TRUE(changes) << changes.why().message;
        return std::move(*changes);
    }
    void commit_declared() { make_durable(collect_declared(), commit_scope::declared); }
    void copy_page(std::uint64_t page, std::vector<std::byte>& into) {
        std::copy_n(base() + page * k_page_bytes, k_page_bytes,
                    into.begin() + static_cast<std::ptrdiff_t>(page * k_page_bytes));
    }
    /// Of a chunk that is not stored, the page.
    void copy_word(std::uint64_t offset, std::vector<std::byte>& into) {
        if (!store_->image().is_stored(offset / k_chunk))
            copy_page(offset / k_page_bytes, into);
        else
            std::copy_n(base() + offset, 8, into.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void expect_in_the_file(const std::vector<std::byte>& committed) {
        checkpoint(false);
        view_.reset();
        ASSERT_TRUE(reopen());
        open();
        EXPECT_EQ(memory(), committed);
    }
};

TEST_P(declared_changes, alone_are_committed_and_others_are_found_later) {
    std::mt19937_64 random(test::random_seed());
    auto committed = memory();
    int declared_commits = 0;
    for (int round = 0; round < 300; ++round) {
        std::set<std::uint64_t> declared;
        std::set<std::uint64_t> declared_words; // their offsets
        for (std::uint64_t i = random() % 30; i > 0; --i) {
            const std::uint64_t page = random() % (round < 30 ? 40 : k_pages);
            if (random() % 2 == 0) {
                declare(page);
                declared.insert(page);
            }
            for (std::uint64_t words = random() % 4; words > 0; --words) {
                const std::uint64_t at = random() % k_page_bytes & ~std::uint64_t{7};
                if (random() % 2 == 0) {
                    declare_word(page * k_page_bytes + at);
                    declared_words.insert(page * k_page_bytes + at);
                }
                put(page, at + random() % 8, static_cast<std::uint8_t>(random() % 4));
            }
        }
        const auto now = memory();
        auto after = committed;
        for (const std::uint64_t offset : declared_words)
            copy_word(offset, after);
        for (const std::uint64_t page : declared)
            copy_page(page, after);
        switch (random() % 9) {
        case 0:
        case 1:
        case 2:
        case 3:
            ASSERT_NO_FATAL_FAILURE(commit_declared());
            committed = after;
            ASSERT_EQ(memory(), now);
            ++declared_commits;
            if (random() % 4 == 0) {
                ASSERT_NO_FATAL_FAILURE(checkpoint(random() % 3 != 0 ? settling::beside_other_changes : settling::no));
                ASSERT_EQ(memory(), now) << "a checkpoint lost what was not committed, round " << round;
            }
            break;
        case 4: // one that fails before it is durable
            (void)collect_declared();
            break;
        case 5: // as debug builds look for what was not declared
            (void)view_->collector().collect_undeclared(nothing_is_unused);
            break;
        case 6:
            ASSERT_NO_FATAL_FAILURE(commit());
            committed = now;
            if (random() % 2 == 0) {
                ASSERT_NO_FATAL_FAILURE(checkpoint(settling::yes));
            }
            break;
        case 7:
            ASSERT_TRUE(view_->rollback());
            ASSERT_EQ(memory(), committed) << "round " << round;
            break;
        default:
            (void)collect(); // an ordinary one that fails
        }
        view_->note_declarations(true); // another section
    }
    EXPECT_GT(declared_commits, 50);
    ASSERT_TRUE(view_->rollback());
    ASSERT_EQ(memory(), committed);
    expect_in_the_file(committed);
}

TEST_P(declared_changes, leave_the_rest_of_a_fresh_chunk_to_a_later_commit) {
    put_declared(3, 0, 1);
    put(4, 0, 2);
    ASSERT_NO_FATAL_FAILURE(commit_declared());
    EXPECT_TRUE(store_->image().is_stored(0));
    checkpoint(settling::beside_other_changes);
    EXPECT_EQ(base()[4 * k_page_bytes], std::byte{2});
    const auto rest = collect();
    ASSERT_EQ(rest.pages.size(), 1U);
    EXPECT_EQ(rest.pages[0].page, 4U);
    const auto all = memory();
    commit();
    expect_in_the_file(all);
}

TEST_P(declared_changes, of_words_leave_the_rest_of_their_page_to_a_later_commit) {
    put(1, 0, 1);
    commit();
    declare_word(k_page_bytes + 64);
    put(1, 64, 2);
    put(1, 72, 3); // not declared
    ASSERT_NO_FATAL_FAILURE(commit_declared());
    const auto rest = collect();
    ASSERT_EQ(rest.pages.size(), 1U);
    ASSERT_EQ(rest.ranges.size(), 1U);
    EXPECT_EQ(rest.ranges[0].offset, 72);
    EXPECT_EQ(rest.ranges[0].bytes, 8);
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(base()[k_page_bytes + 64], std::byte{2});
    EXPECT_EQ(base()[k_page_bytes + 72], std::byte{0});
    expect_in_the_file(memory());
}

TEST_P(declared_changes, that_are_none_cost_no_record) {
    put(1, 0, 1);
    commit();
    declare(1);
    declare(700);
    declare_word(2 * k_page_bytes);
    declare_word(700 * k_page_bytes);
    EXPECT_TRUE(collect_declared().empty());
}

TEST_P(declared_changes, behind_the_accessible_memory_are_none) {
    ASSERT_TRUE(view_->declare(view_->memory().accessible_bytes() - k_page_bytes, 16 * k_page_bytes));
    EXPECT_TRUE(collect_declared().empty());
}

TEST_P(declared_changes, end_the_promise_that_their_pages_stay_in_memory) {
    const auto is_spillable = [&] {
        auto found = view_->spiller().find_spillable({});
        EXPECT_TRUE(found);
        return std::ranges::count(found->chunks, 3U, &chunk_spiller::written_chunk::chunk) != 0;
    };
    ASSERT_TRUE(store_->room().add_regions(k_bytes));
    put(3 * k_chunk_pages, 0, 1);
    view_->spiller().keep_in_memory(3 * k_chunk, 8);
    EXPECT_FALSE(is_spillable());
    put_declared(1, 0, 1);
    ASSERT_NO_FATAL_FAILURE(commit_declared());
    EXPECT_TRUE(is_spillable());
}

TEST_P(declared_changes, are_told_from_others) {
    put(1, 0, 1);
    put(70, 0, 1);
    commit();
    put_declared(1, 8, 2);
    declare_word(70 * k_page_bytes);
    put(70, 0, 2);
    put(70, 8, 2);
    put(71, 8, 2);
    declare_word(72 * k_page_bytes);
    put(72, 0, 2);
    auto others = view_->collector().collect_undeclared(nothing_is_unused);
    ASSERT_TRUE(others);
    ASSERT_EQ(others->pages.size(), 2U);
    EXPECT_EQ(others->pages[0].page, 70U);
    ASSERT_EQ(others->ranges.size(), 2U);
    EXPECT_EQ(others->ranges[0].offset, 8);
    EXPECT_EQ(others->ranges[0].bytes, 8);
    EXPECT_EQ(others->pages[1].page, 71U);
    const auto declared = collect_declared();
    ASSERT_EQ(declared.pages.size(), 3U);
    EXPECT_EQ(declared.pages[0].page, 1U);
    EXPECT_EQ(declared.pages[1].page, 70U);
    EXPECT_EQ(declared.pages[2].page, 72U);
}

TEST_P(declared_changes, are_forgotten_with_the_section) {
    put_declared(1, 0, 1);
    EXPECT_FALSE(view_->has_no_declarations());
    view_->note_declarations(false);
    EXPECT_TRUE(view_->has_no_declarations());
    declare(2);
    EXPECT_TRUE(view_->has_no_declarations());
    EXPECT_EQ(collect().fresh.size(), 1U);
}

// A program that only ever makes declared sections must not hold every page it ever changed twice.
TEST_P(declared_changes, settling_beside_others_gives_back_what_equals_its_before_image) {
    for (std::uint64_t page = 0; page < k_pages; ++page)
        put(page, 0, 1);
    commit();
    checkpoint(settling::yes); // mapped from the file now
    const auto private_bytes = [&] {
        std::ifstream maps("/proc/self/smaps");
        std::uint64_t kib = 0;
        bool ours = false;
        for (std::string line; std::getline(maps, line);) {
            if (std::uint64_t from = 0, to = 0; std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
                ours = from >= reinterpret_cast<std::uint64_t>(base()) &&
                       to <= reinterpret_cast<std::uint64_t>(base()) + k_bytes;
            if (std::uint64_t anonymous = 0; ours && std::sscanf(line.c_str(), "Anonymous: %lu kB", &anonymous) == 1)
                kib += anonymous;
        }
        return kib * KiB;
    };
    for (std::uint64_t page = 0; page < k_pages; ++page)
        put_declared(page, 8, 2);
    ASSERT_NO_FATAL_FAILURE(commit_declared());
    put(5, 16, 3);
    EXPECT_GE(private_bytes(), k_bytes - 2 * MiB);
    const auto now = memory();
    checkpoint(settling::beside_other_changes);
    EXPECT_EQ(memory(), now);
    EXPECT_LE(private_bytes(), 64 * KiB);
    EXPECT_EQ(collect().pages.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(trackers, declared_changes, k_all_trackers, name_of_tracker);

} // namespace
} // namespace remanence::view
