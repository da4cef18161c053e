#include "support/seed.hpp"
#include "unit/view/view_fixture.hpp"

#include <fstream>
#include <new>
#include <random>
#include <string>
#include <sys/mman.h>

namespace remanence::view {
namespace {

using memory_view = view_with_tracker;

TEST_P(memory_view, random_changes_commits_rollbacks_and_checkpoints_agree_with_a_model) {
    std::mt19937_64 random(test::random_seed());
    auto committed = memory();
    for (int round = 0; round < 200; ++round) {
        for (std::uint64_t i = random() % 30; i > 0; --i) {
            const std::uint64_t page = random() % (round < 20 ? 40 : k_pages);
            put(page, random() % k_page_bytes, static_cast<std::uint8_t>(random() % 4));
        }
        fresh_ = random() % 2 == 0 ? fresh_contents::in_copy : fresh_contents::in_log_if_few;
        const auto now = memory();
        switch (random() % 8) {
        case 0:
        case 1:
            ASSERT_NO_FATAL_FAILURE(commit());
            committed = now;
            break;
        case 2:
            ASSERT_TRUE(view_->rollback());
            break;
        case 3: // a commit that fails before it is durable, perhaps repeated, perhaps given up
            (void)collect();
            if (random() % 2 == 0) {
                ASSERT_TRUE(view_->rollback());
            }
            break;
        case 4: // with uncommitted changes: they stay what they are
            ASSERT_NO_FATAL_FAILURE(checkpoint(false));
            ASSERT_EQ(memory(), now);
            break;
        case 5:
            ASSERT_NO_FATAL_FAILURE(commit());
            committed = now;
            ASSERT_NO_FATAL_FAILURE(checkpoint(true));
            ASSERT_EQ(memory(), now);
            break;
        case 6: {
            (void)collect();
            ASSERT_NO_FATAL_FAILURE(checkpoint(false)); // before-images of an unaccepted collect must not be applied
            ASSERT_TRUE(view_->rollback());
            break;
        }
        default:
            continue;
        }
        if (random() % 3 == 0) {
            ASSERT_TRUE(view_->rollback());
        }
        if (random() % 3 == 0 && memory() != committed) {
            ASSERT_TRUE(view_->rollback());
        }
        if (random() % 4 == 0) {
            ASSERT_TRUE(view_->rollback());
            ASSERT_EQ(memory(), committed) << "round " << round;
        }
    }
    ASSERT_TRUE(view_->rollback());
    ASSERT_EQ(memory(), committed);
    // What the image has after a last checkpoint is what a new view shows.
    checkpoint(false);
    view_.reset();
    ASSERT_TRUE(reopen());
    open();
    EXPECT_EQ(memory(), committed);
}

TEST_P(memory_view, an_unused_chunk_is_no_change_and_reads_as_committed) {
    for (const bool is_settled : {false, true}) { // anonymous memory, and a mapping of the file
        SCOPED_TRACE(is_settled);
        put(0, 7, 1);
        put(k_chunk_pages, 8, 2);
        commit();
        if (is_settled) {
            ASSERT_NO_FATAL_FAILURE(checkpoint(true));
        }
        const std::vector<std::byte> committed = memory();
        for (std::uint64_t page = 0; page < 3 * k_chunk_pages; ++page) // two stored chunks, and one that is not
            put(page, 9, static_cast<std::uint8_t>(page + 3));
        auto changes = try_to_collect([](std::uint64_t page) { return page != 1; });
        ASSERT_TRUE(changes);
        EXPECT_EQ(changes->pages.size(), k_chunk_pages) << "all of the chunk that page 1 is in";
        EXPECT_TRUE(changes->fresh.empty());
        const std::vector<std::byte> now = memory();
        EXPECT_TRUE(std::equal(now.begin() + k_chunk, now.end(), committed.begin() + k_chunk));
        put(k_chunk_pages, 10, 4); // it is watched again
        EXPECT_EQ(collect().pages.size(), k_chunk_pages + 1);
        ASSERT_TRUE(view_->rollback());
        EXPECT_EQ(memory(), committed);
    }
}

TEST_P(memory_view, an_unused_chunk_with_content_that_only_before_images_have_is_a_change) {
    put(0, 7, 1);
    commit();
    put(0, 7, 2);
    commit(); // a before-image
    put(0, 7, 3);
    auto changes = try_to_collect([](std::uint64_t) { return true; });
    ASSERT_TRUE(changes);
    EXPECT_EQ(changes->pages.size(), 1U);
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(base()[7], std::byte{2});
}

// Each chunk mapped back from the file costs mappings, of which a process has a limited number.
TEST_P(memory_view, more_unused_chunks_than_may_lie_scattered_are_changes_until_the_view_settles) {
    constexpr std::uint64_t k_scattered_max = 4096;
    constexpr std::uint64_t k_count = k_scattered_max + 10;
    ASSERT_TRUE(view_->memory().make_accessible(k_count * k_chunk));
    const auto touch_all = [&](std::uint8_t value) {
        for (std::uint64_t chunk = 0; chunk < k_count; ++chunk)
            put(chunk * k_chunk_pages, 0, value);
    };
    const auto all_are_unused = [](std::uint64_t) { return true; };
    touch_all(1);
    ASSERT_NO_FATAL_FAILURE(commit());
    touch_all(2);
    auto changes = try_to_collect(all_are_unused);
    ASSERT_TRUE(changes) << changes.why().message;
    EXPECT_EQ(changes->pages.size(), k_count - k_scattered_max);
    make_durable(std::move(*changes));
    for (std::uint64_t chunk = 0; chunk < k_count; ++chunk)
        ASSERT_EQ(base()[chunk * k_chunk], std::byte(chunk < k_scattered_max ? 1 : 2)) << chunk;
    ASSERT_NO_FATAL_FAILURE(checkpoint(true));
    touch_all(3);
    changes = try_to_collect(all_are_unused);
    ASSERT_TRUE(changes) << changes.why().message;
    EXPECT_TRUE(changes->empty());
}

TEST_P(memory_view, collect_reports_again_what_was_not_accepted) {
    put(3, 0, 1);
    commit();
    checkpoint(true);
    put(3, 8, 2);
    put(4, 16, 3);
    put(100, 0, 4);
    for (int attempt = 0; attempt < 3; ++attempt) {
        auto changes = collect();
        ASSERT_EQ(changes.pages.size(), 2U);
        EXPECT_EQ(changes.pages[0].page, 3U);
        EXPECT_EQ(changes.pages[1].page, 4U);
        ASSERT_EQ(changes.fresh.size(), 1U);
        EXPECT_EQ(changes.fresh[0].chunk, 100 / k_chunk_pages);
        put(5, 8, static_cast<std::uint8_t>(0)); // touched, not changed
    }
    commit();
    EXPECT_TRUE(collect().empty());
}

TEST_P(memory_view, what_little_fresh_chunks_hold_is_for_the_log_if_it_may_be) {
    fresh_ = fresh_contents::in_log_if_few;
    put(3, 8, 2);
    put(100, 0, 4);
    const auto few = collect();
    ASSERT_EQ(few.fresh.size(), 2U);
    EXPECT_FALSE(few.fresh[0].has_contents() || few.fresh[1].has_contents());
    ASSERT_EQ(few.pages.size(), 2U);
    EXPECT_EQ(few.pages[1].page, 100U);
    EXPECT_EQ(few.changed_bytes(), 16U);
    for (std::uint64_t page = 0; page <= 64; ++page)
        put(page, 0, 1);
    const auto many = collect(); // 66 pages
    EXPECT_TRUE(many.pages.empty());
    EXPECT_EQ(many.changed_bytes(), 66 * k_page_bytes);
    make_durable(many);
    put(3, 8, 5); // the zeros that were for the log are not what is committed
    const auto next = collect();
    ASSERT_EQ(next.pages.size(), 1U);
    EXPECT_EQ(next.changed_bytes(), 8U);
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(base()[3 * k_page_bytes + 8], std::byte{2});
    EXPECT_EQ(base()[3 * k_page_bytes], std::byte{1});
}

TEST_P(memory_view, a_change_taken_back_is_no_change) {
    put(1, 0, 1);
    commit();
    put(1, 0, 2);
    EXPECT_EQ(collect().pages.size(), 1U);
    put(1, 0, 1);
    EXPECT_TRUE(collect().empty());
    put(200, 5, 1);
    EXPECT_EQ(collect().fresh.size(), 1U);
    put(200, 5, 0);
    EXPECT_TRUE(collect().empty());
}

TEST_P(memory_view, settling_gives_memory_back_and_shows_the_same) {
    for (std::uint64_t page = 0; page < k_pages; page += 3)
        put(page, page % 4000, 7);
    const auto before = memory();
    commit();
    put(6, 1, 9);
    put(6, 1, static_cast<std::uint8_t>(before[6 * k_page_bytes + 1]));
    commit();
    for (int round = 0; round < 3; ++round) {
        checkpoint(true);
        EXPECT_EQ(view_->committed().before_image_bytes(), 0U);
        ASSERT_EQ(memory(), before);
        EXPECT_TRUE(collect().empty());
    }
    put(6, 1, 3);
    EXPECT_EQ(collect().pages.size(), 1U); // a mapping laid anew is watched
    ASSERT_TRUE(view_->rollback());
    ASSERT_EQ(memory(), before);
}

TEST_P(memory_view, damage_of_the_image_is_found_before_it_is_compared_with) {
    put(0, 0, 1);
    put(1, 0, 1);
    commit();
    checkpoint(true);
    const std::uint64_t copy = store_->image().copy_of(k_page_bytes);
    std::byte bad{0x77};
    ASSERT_TRUE(store_->file().write("test", copy + 100, {&bad, 1}));
    put(0, 0, 2);
    put(1, 0, 2);
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto changes = try_to_collect(nothing_is_unused);
        ASSERT_FALSE(changes);
        EXPECT_EQ(changes.why().code, errc::corrupt);
        EXPECT_EQ(changes.why().offset, copy);
    }
    std::byte good{0};
    ASSERT_TRUE(store_->file().write("test", copy + 100, {&good, 1}));
    EXPECT_EQ(collect().pages.size(), 2U);
}

// Pages that were written but not changed are read for comparison; that must not cost memory that stays.
TEST_P(memory_view, rewriting_the_same_bytes_does_not_gather_memory) {
    for (std::uint64_t page = 0; page < 512; ++page)
        put(page, 0, 1);
    commit();
    checkpoint(true);
    auto resident = [] {
        std::ifstream status("/proc/self/statm");
        std::uint64_t total = 0;
        std::uint64_t pages = 0;
        status >> total >> pages;
        return pages * k_page_bytes;
    };
    auto rewrite = [&] {
        for (std::uint64_t page = 0; page < 512; ++page)
            put(page, 0, 1);
        auto changes = collect();
        EXPECT_TRUE(changes.empty());
        view_->accept(changes);
    };
    rewrite();
    const auto before = resident();
    for (int round = 0; round < 60; ++round)
        rewrite();
    EXPECT_LT(resident(), before + 16 * MiB); // it was 2 MiB for each round
}

TEST_P(memory_view, growth_beyond_the_reservation_is_exhausted_when_something_is_in_the_way) {
    auto blocker = os::reservation::at(reinterpret_cast<std::uint64_t>(base()) + view_->memory().reserved_bytes(), MiB);
    ASSERT_TRUE(blocker);
    ASSERT_TRUE(view_->memory().make_accessible(view_->memory().reserved_bytes()));
    auto more = view_->memory().make_accessible(view_->memory().reserved_bytes() + 1);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.why().code, errc::exhausted);
    EXPECT_NE(more.why().message.find(store::k_path), std::string::npos);
    put(0, 0, 1);
    commit();
    blocker = os::reservation::at_random(MiB);
    EXPECT_TRUE(view_->memory().make_accessible(256 * MiB + 1));
    EXPECT_EQ(collect().pages.size(), 0U);
}

// The kernel leaves markers in the place of protected pages that are dropped, which look like swapped pages.
TEST_P(memory_view, what_a_checkpoint_has_written_does_not_count_as_written_memory) {
    ASSERT_TRUE(store_->room().add_regions(k_bytes));
    constexpr std::uint64_t k_chunks = 8;
    const auto written_chunks = [&] { // of those; where the kernel gave a huge page, others are in memory, too
        auto found = view_->spiller().find_spillable({k_bytes, 0});
        EXPECT_TRUE(found);
        return std::ranges::count_if(found->chunks, [](const auto& each) { return each.chunk < k_chunks; });
    };
    for (std::uint8_t round = 1; round <= 2; ++round) {
        for (std::uint64_t page = 0; page < k_chunks * k_chunk_pages; ++page)
            put(page, 0, round);
        EXPECT_EQ(written_chunks(), k_chunks);
        commit();
        checkpoint(true);
        EXPECT_EQ(written_chunks(), 0);
    }
}

// The tracker has protected them since, so that in swap they look like markers.
TEST_P(memory_view, written_pages_in_swap_are_spilled_after_somebody_has_looked_at_them) {
    std::ifstream swaps("/proc/swaps");
    std::string line;
    std::getline(swaps, line); // the heading
    if (!std::getline(swaps, line))
        GTEST_SKIP() << "this machine has no swap";
    ASSERT_TRUE(store_->room().add_regions(k_bytes));
    constexpr std::uint64_t k_first = 3 * k_chunk_pages;
    for (std::uint64_t page = k_first; page < k_first + k_chunk_pages; ++page)
        put(page, 0, 7);
    ASSERT_TRUE(view_->collector().written());
    ASSERT_EQ(::madvise(base() + 3 * k_chunk, k_chunk, MADV_PAGEOUT), 0);
    ASSERT_TRUE(view_->spiller().find_spillable({k_bytes, 0}));
    auto pages = view_->spiller().pages_to_spill(3);
    ASSERT_TRUE(pages);
    auto spilled = view_->spiller().spill(3, *pages);
    ASSERT_TRUE(spilled) << spilled.why().message;
    EXPECT_EQ(*spilled, k_chunk);
    for (std::uint64_t page = k_first; page < k_first + k_chunk_pages; ++page)
        EXPECT_EQ(base()[page * k_page_bytes], std::byte{7});
}

// As when the process lacks memory in the midst of a commit, and spills before the next one.
TEST_P(memory_view, copies_that_were_left_are_told_of_even_if_something_is_spilled_before_anybody_asks) {
    ASSERT_TRUE(store_->room().add_regions(k_bytes));
    for (std::uint64_t page = 0; page < 8 * k_chunk_pages; ++page)
        put(page, 0, 1);
    ASSERT_TRUE(view_->spiller().find_spillable({}));
    const auto spill = [&](std::uint64_t chunk) {
        auto pages = view_->spiller().pages_to_spill(chunk);
        ASSERT_TRUE(pages);
        auto bytes = view_->spiller().spill(chunk, *pages);
        ASSERT_TRUE(bytes);
        EXPECT_EQ(*bytes, k_chunk);
    };
    spill(3);
    EXPECT_FALSE(view_->spiller().has_left_copies());
    const auto is_unused = [](std::uint64_t page) {
        if (page / k_chunk_pages == 5)
            throw std::bad_alloc();
        return page / k_chunk_pages == 3;
    };
    EXPECT_THROW((void)try_to_collect(is_unused), std::bad_alloc);
    EXPECT_FALSE(!view_->spiller().spilled().is_empty());
    spill(5);
    EXPECT_TRUE(view_->spiller().has_left_copies());
    EXPECT_FALSE(view_->spiller().has_left_copies());
}

// Whether or not somebody has asked for changes meanwhile.
TEST_P(memory_view, what_is_written_to_zeros_that_gave_their_memory_back_is_found) {
    for (const bool are_known : {false, true}) {
        const std::uint64_t page = (are_known ? 3 : 5) * k_chunk_pages;
        put(page, 0, 1);
        EXPECT_FALSE(are_known && collect().empty());
        put(page, 0, 0);
        ASSERT_TRUE(view_->spiller().find_spillable({}));
        auto given_back = view_->spiller().give_back_zeros(page / k_chunk_pages);
        ASSERT_TRUE(given_back) << given_back.why().message;
        EXPECT_GE(*given_back, k_page_bytes); // of a huge page, all
        given_back = view_->spiller().give_back_zeros(page / k_chunk_pages);
        ASSERT_TRUE(given_back);
        EXPECT_EQ(*given_back, 0U);
        EXPECT_TRUE(collect().empty());
        put(page, 7, 2);
        auto changes = collect();
        view_->collector().make_checksums(changes);
        ASSERT_EQ(changes.fresh.size(), 1U);
        EXPECT_EQ(changes.fresh[0].chunk, page / k_chunk_pages);
        EXPECT_EQ(changes.fresh[0].checksums[0], page_checksum({base() + page * k_page_bytes, k_page_bytes}));
        ASSERT_TRUE(view_->rollback());
    }
}

TEST_P(memory_view, zeros_keep_their_memory_where_the_file_has_something_else) {
    put(0, 0, 1);
    put(k_chunk_pages, 0, 1);
    put(3 * k_chunk_pages, 0, 1);
    commit();
    checkpoint(true);
    put(0, 0, 0);
    put(3 * k_chunk_pages, 0, 0);
    put(3 * k_chunk_pages + 1, 0, 1); // and of a chunk, part of which is not zeros
    put(4 * k_chunk_pages, 0, 0);
    put(4 * k_chunk_pages + 1, 0, 1);
    ASSERT_TRUE(view_->spiller().find_spillable({}));
    for (const std::uint64_t chunk : {0U, 1U, 3U, 4U}) {
        auto given_back = view_->spiller().give_back_zeros(chunk);
        ASSERT_TRUE(given_back);
        EXPECT_EQ(*given_back, 0U) << chunk;
    }
    EXPECT_EQ(base()[0], std::byte{0});
    EXPECT_EQ(base()[k_chunk], std::byte{1});
    EXPECT_EQ(base()[3 * k_chunk], std::byte{0});
    EXPECT_EQ(base()[4 * k_chunk + k_page_bytes], std::byte{1});
    EXPECT_EQ(collect().pages.size(), 3U);
}

class memory_view_of_many_runs : public memory_view {
protected:
    static constexpr std::uint64_t k_rotten = 3; // a chunk with a page that is not what its checksum says

    /// So many chunks at their copies B, from the tenth on, each alone. 8192 exceptions are as many as chunks may move for.
    void open_with(std::uint64_t exceptions);
};

void memory_view_of_many_runs::open_with(std::uint64_t exceptions) {
    constexpr std::uint64_t k_first = 10;
    const std::uint64_t last = k_first + 2 * (exceptions - 1);
    view_.reset();
    ASSERT_TRUE(store_->room().add_regions((last + 1) * k_chunk));
    ASSERT_TRUE(store_->room().add_copies_b({{last}}));
    ASSERT_TRUE(store_->whole_chunks().write_fresh(last * k_chunk_pages, store::page_bytes(1).span()));
    ASSERT_TRUE(store_->whole_chunks().write_relocated(last * k_chunk_pages, store::page_bytes(1).span()));
    for (std::uint64_t chunk = 0; chunk <= last; ++chunk) {
        std::vector<std::uint32_t> checksums(k_chunk_pages);
        if (chunk == k_rotten)
            checksums.back() = 77;
        store_->whole_chunks().accept_fresh(chunk, checksums, version_);
    }
    for (std::uint64_t chunk = k_first; chunk <= last; chunk += 2)
        store_->whole_chunks().accept_relocated(chunk, std::vector<std::uint32_t>(k_chunk_pages), version_, false);
    auto place = os::reservation::at_random(2 * GiB);
    ASSERT_TRUE(place);
    auto opened = view::memory_view::open(*store_, std::move(*place),
                                          {.tracker = GetParam(), .scattered_max = store::chunk_map::k_exceptions_max});
    ASSERT_TRUE(opened) << opened.why().message;
    view_ = std::move(*opened);
    (void)collect(); // what a tracker wrote to prepare its mappings
}

TEST_P(memory_view_of_many_runs, nothing_is_to_be_spilled_to_where_it_cannot_move) {
    open_with(8190);
    base()[k_chunk] = std::byte{1};
    ASSERT_TRUE(view_->spiller().find_spillable({}));
    auto pages = view_->spiller().pages_to_spill(1);
    ASSERT_TRUE(pages);
    EXPECT_EQ(*pages, (std::vector<track::page_run>{{k_chunk, k_chunk}}));
    ASSERT_TRUE(store_->copies().hold_early(1));
    for (const std::uint64_t chunk : {std::uint64_t{5}, k_rotten}) {
        base()[chunk * k_chunk] = std::byte{1};
        pages = view_->spiller().pages_to_spill(chunk);
        ASSERT_TRUE(pages);
        EXPECT_TRUE(pages->empty());
        auto given_back = view_->spiller().give_back_zeros(chunk);
        ASSERT_TRUE(given_back);
        EXPECT_EQ(*given_back, 0U);
        EXPECT_EQ(base()[chunk * k_chunk], std::byte{1});
    }
}

// One has a page that rotted; what moves without it parts a run in two.
TEST_P(memory_view_of_many_runs, no_more_chunks_move_than_there_is_room_for) {
    open_with(8191);
    for (std::uint64_t page = k_chunk_pages; page < 6 * k_chunk_pages; ++page) {
        if (page % k_chunk_pages < k_chunk_pages - 1)
            std::fill_n(base() + page * k_page_bytes, k_page_bytes, std::byte{1});
    }
    std::vector<std::uint64_t> moved;
    const auto changes = collect();
    for (const whole_chunk& each : changes.relocated)
        moved.push_back(each.chunk);
    EXPECT_EQ(moved, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(changes.pages.size(), 3 * (k_chunk_pages - 1)); // the others, for the log
}

INSTANTIATE_TEST_SUITE_P(trackers, memory_view, k_all_trackers, name_of_tracker);
INSTANTIATE_TEST_SUITE_P(trackers, memory_view_of_many_runs, k_all_trackers, name_of_tracker);

} // namespace
} // namespace remanence::view
