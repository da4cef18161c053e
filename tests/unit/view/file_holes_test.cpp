// Gaps between stored chunks that are mapped from the holes of the file.
#include "base/range.hpp"
#include "support/seed.hpp"
#include "unit/view/view_fixture.hpp"

#include <random>
#include <set>

namespace remanence::view {
namespace {

class view_of_stretches : public view_with_tracker {
protected:
    static constexpr std::uint64_t k_chunks = k_bytes / k_chunk;

    /// Every third chunk is stored, from the first on, and the last.
    void SetUp() override {
        view_with_tracker::SetUp();
        if (view_ == nullptr)
            return;
        for (std::uint64_t chunk = 0; chunk < k_chunks; chunk += 3)
            put(chunk * k_chunk_pages, 0, 7);
        put((k_chunks - 1) * k_chunk_pages, 0, 7);
        commit();
        ASSERT_NO_FATAL_FAILURE(open_anew());
    }
    void open_anew() {
        checkpoint(false);
        view_.reset();
        ASSERT_TRUE(reopen());
        auto place = os::reservation::at_random(256 * MiB);
        ASSERT_TRUE(place);
        auto opened = view::memory_view::open(*store_, std::move(*place), {.tracker = GetParam(), .stretches_max = 1});
        ASSERT_TRUE(opened) << opened.why().message;
        view_ = std::move(*opened);
        ASSERT_TRUE(view_->memory().make_accessible(k_bytes));
        (void)collect(); // what a tracker wrote to prepare its mappings
    }
    static std::uint64_t page_of(std::uint64_t chunk) { return chunk * k_chunk_pages; }
    std::byte first_byte_of(std::uint64_t chunk) { return base()[chunk * k_chunk]; }
    /// Of one that is stored.
    void give_back(std::uint64_t chunk) {
        const heap_range bytes{chunk * k_chunk, k_chunk};
        auto runs = store_->unused().reserve_to_give_back({&bytes, 1});
        ASSERT_TRUE(runs);
        ASSERT_EQ(runs->size(), 1U);
        store_->whole_chunks().accept_given_back(*runs, ++version_);
        ASSERT_TRUE(view_->forget(bytes));
    }
    /// What a spill leaves that fails, or a crash.
    void leave_bytes_in_the_hole_of(std::uint64_t chunk) {
        ASSERT_TRUE(store_->whole_chunks().write_fresh(page_of(chunk), store::page_bytes(1).span()));
    }
};

TEST_P(view_of_stretches, a_gap_reads_as_zeros_and_is_no_change) {
    const auto all = memory();
    for (std::uint64_t chunk = 0; chunk < k_chunks; ++chunk)
        EXPECT_EQ(first_byte_of(chunk), std::byte(chunk % 3 == 0 || chunk == k_chunks - 1 ? 7 : 0)) << chunk;
    EXPECT_TRUE(collect().empty());
}

TEST_P(view_of_stretches, the_file_is_mapped_in_as_few_pieces_as_can_be) {
    leave_bytes_in_the_hole_of(4); // shows it: nothing else would
    EXPECT_NE(first_byte_of(4), std::byte{0});
}

TEST_P(view_of_stretches, what_is_written_there_is_fresh_and_can_be_rolled_back) {
    put(page_of(4) + 3, 5, 1);
    const auto changes = collect();
    ASSERT_EQ(changes.fresh.size(), 1U);
    EXPECT_EQ(changes.fresh[0].chunk, 4U);
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(base()[(page_of(4) + 3) * k_page_bytes + 5], std::byte{0});
    EXPECT_TRUE(collect().empty());
    put(page_of(4) + 3, 5, 2);
    commit();
    EXPECT_TRUE(collect().empty());
    ASSERT_NO_FATAL_FAILURE(open_anew());
    EXPECT_EQ(base()[(page_of(4) + 3) * k_page_bytes + 5], std::byte{2});
}

TEST_P(view_of_stretches, a_rollback_does_not_show_what_lies_in_the_hole) {
    put(page_of(4), 0, 1);
    leave_bytes_in_the_hole_of(4);
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(first_byte_of(4), std::byte{0});
}

TEST_P(view_of_stretches, nor_does_an_unused_chunk) {
    put(page_of(4), 0, 1);
    leave_bytes_in_the_hole_of(4);
    ASSERT_TRUE(try_to_collect([](std::uint64_t) { return true; }));
    EXPECT_EQ(first_byte_of(4), std::byte{0});
}

TEST_P(view_of_stretches, nor_do_zeros_that_would_give_their_memory_back) {
    put(page_of(4), 0, 1);
    leave_bytes_in_the_hole_of(4);
    put(page_of(4), 0, 0);
    ASSERT_TRUE(view_->spiller().find_spillable({}));
    auto pages = view_->spiller().pages_to_spill(4);
    ASSERT_TRUE(pages);
    EXPECT_TRUE(pages->empty());
    ASSERT_TRUE(view_->spiller().give_back_zeros(4));
    EXPECT_EQ(first_byte_of(4), std::byte{0});
}

TEST_P(view_of_stretches, a_gap_in_which_the_file_has_bytes_is_anonymous) {
    leave_bytes_in_the_hole_of(4);
    ASSERT_NO_FATAL_FAILURE(open_anew());
    EXPECT_EQ(first_byte_of(4), std::byte{0});
    EXPECT_EQ(first_byte_of(7), std::byte{0});
}

// Memory behind the end of a file kills who touches it.
TEST_P(view_of_stretches, the_file_may_end_before_a_gap) {
    for (std::uint64_t chunk = k_chunks - 1; chunk > 3; --chunk) {
        if (!store_->image().is_stored(chunk))
            continue;
        ASSERT_NO_FATAL_FAILURE(give_back(chunk));
        checkpoint(false);
        ASSERT_TRUE(store_->unused().discard_unstored());
        for (std::uint64_t each = 0; each < k_chunks; ++each)
            ASSERT_EQ(first_byte_of(each), std::byte(store_->image().is_stored(each) ? 7 : 0)) << chunk << ' ' << each;
    }
    put(page_of(5), 0, 1);
    commit();
    EXPECT_EQ(first_byte_of(5), std::byte{1});
}

TEST_P(view_of_stretches, random_changes_agree_with_a_model) {
    std::mt19937_64 random(test::random_seed());
    auto committed = memory();
    std::uint64_t spills = 0;
    for (int round = 0; round < 150; ++round) {
        for (std::uint64_t i = random() % 10; i > 0; --i)
            put(random() % k_pages, random() % k_page_bytes, static_cast<std::uint8_t>(random() % 4));
        const auto now = memory();
        switch (random() % 6) {
        case 0:
            ASSERT_NO_FATAL_FAILURE(commit());
            committed = now;
            ASSERT_NO_FATAL_FAILURE(checkpoint(random() % 2 == 0));
            break;
        case 1:
            ASSERT_NO_FATAL_FAILURE(commit());
            committed = now;
            break;
        case 2: { // a chunk in a gap is spilled, perhaps written again, and gone with the next rollback
            auto spillable = view_->spiller().find_spillable({});
            ASSERT_TRUE(spillable);
            for (const auto& [chunk, bytes] : spillable->chunks) {
                if (store_->image().is_stored(chunk))
                    continue;
                ASSERT_TRUE(store_->room().add_regions((chunk + 1) * k_chunk));
                auto pages = view_->spiller().pages_to_spill(chunk);
                ASSERT_TRUE(pages);
                if (pages->empty()) {
                    ASSERT_TRUE(view_->spiller().give_back_zeros(chunk));
                    continue;
                }
                auto spilled = view_->spiller().spill(chunk, *pages);
                ASSERT_TRUE(spilled) << spilled.why().message;
                if (*spilled != 0)
                    ++spills;
                break;
            }
            ASSERT_EQ(memory(), now);
            put(random() % k_pages, random() % k_page_bytes, 3);
            ASSERT_TRUE(view_->rollback());
            ASSERT_TRUE(store_->unused().discard_unstored());
            ASSERT_EQ(memory(), committed);
            break;
        }
        case 3: { // chunks become unused, and are given back
            ASSERT_TRUE(view_->rollback());
            ASSERT_NO_FATAL_FAILURE(checkpoint(true));
            const std::uint64_t chunk = 1 + random() % (k_chunks - 1);
            if (store_->image().is_stored(chunk)) {
                ASSERT_NO_FATAL_FAILURE(give_back(chunk));
                std::fill_n(committed.begin() + static_cast<std::ptrdiff_t>(chunk * k_chunk), k_chunk, std::byte{0});
            }
            ASSERT_NO_FATAL_FAILURE(checkpoint(false));
            ASSERT_TRUE(store_->unused().discard_unstored());
            ASSERT_EQ(memory(), committed);
            break;
        }
        case 4:
            ASSERT_TRUE(view_->rollback());
            if (random() % 4 == 0) {
                ASSERT_NO_FATAL_FAILURE(open_anew());
            }
            ASSERT_EQ(memory(), committed) << "round " << round;
            break;
        default:
            break;
        }
    }
    ASSERT_TRUE(view_->rollback());
    ASSERT_EQ(memory(), committed);
    std::printf("%llu spills\n", static_cast<unsigned long long>(spills));
}

INSTANTIATE_TEST_SUITE_P(trackers, view_of_stretches, k_all_trackers, name_of_tracker);

} // namespace
} // namespace remanence::view
