// Blocks whose contents move by page tables: nothing is lost, and commits, rollbacks and savepoints find what they would
// find if the bytes had been copied.
#include "view/page_mover.hpp"

#include "base/range.hpp"
#include "support/seed.hpp"
#include "unit/view/view_fixture.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <sys/mman.h>

namespace remanence::view {
namespace {

class moved_pages : public view_with_tracker {
protected:
    static constexpr std::uint64_t k_chunks = k_bytes / k_chunk;
    static constexpr std::uint64_t k_moved = 8 * k_chunk; // 512 KiB
    static constexpr std::uint64_t k_from = 4 * k_chunk;
    static constexpr std::uint64_t k_to = 32 * k_chunk;

    void move(heap_range from, std::uint64_t to) {
        page_mover(store_->image(), view_->memory(), view_->written(), view_->committed()).move(from, to);
    }
    void fill(heap_range where, unsigned seed) {
        for (std::uint64_t at = where.offset; at < where.end(); at += 512)
            base()[at] = static_cast<std::byte>(1 + (at / 512 + seed) % 250);
    }
    [[nodiscard]] bool is_filled(heap_range where, unsigned seed, std::uint64_t as_at) {
        for (std::uint64_t at = 0; at < where.bytes; at += 512) {
            if (base()[where.offset + at] != static_cast<std::byte>(1 + ((as_at + at) / 512 + seed) % 250))
                return false;
        }
        return true;
    }
    /// True if none of these pages is in memory.
    [[nodiscard]] bool has_no_memory(heap_range where) {
        std::vector<unsigned char> resident(where.bytes / k_page_bytes);
        EXPECT_EQ(::mincore(base() + where.offset, where.bytes, resident.data()), 0);
        return std::ranges::none_of(resident, [](unsigned char each) { return (each & 1U) != 0; });
    }
    [[nodiscard]] static bool may_move() { return GetParam() != track::tracker_choice::trap; }
    [[nodiscard]] static auto not_in(heap_range unused) {
        return [unused](std::uint64_t page) {
            return page * k_page_bytes >= unused.offset && page * k_page_bytes < unused.end();
        };
    }
    void open_anew() {
        checkpoint(false);
        view_.reset();
        ASSERT_TRUE(reopen());
        ASSERT_NO_FATAL_FAILURE(open());
    }
};

TEST_P(moved_pages, what_was_never_committed_moves_and_is_committed_where_it_is) {
    fill({k_from, k_moved}, 1);
    move({k_from, k_moved}, k_to);
    EXPECT_TRUE(is_filled({k_to, k_moved}, 1, k_from));
    if (may_move()) {
        EXPECT_TRUE(has_no_memory({k_from, k_moved}));
    }
    auto changes = try_to_collect(not_in({k_from, k_moved}));
    ASSERT_TRUE(changes) << changes.why().message;
    ASSERT_EQ(changes->fresh.size(), k_moved / k_chunk);
    EXPECT_EQ(changes->fresh.front().chunk, k_to / k_chunk);
    make_durable(std::move(*changes));
    EXPECT_TRUE(collect().empty());
    ASSERT_NO_FATAL_FAILURE(open_anew());
    EXPECT_TRUE(is_filled({k_to, k_moved}, 1, k_from));
}

TEST_P(moved_pages, a_rollback_takes_both_places_back_to_zeros) {
    fill({k_from, k_moved}, 1);
    move({k_from, k_moved}, k_to);
    fill({k_from + k_chunk, k_chunk}, 2);
    ASSERT_TRUE(view_->rollback());
    const auto all = memory();
    EXPECT_TRUE(std::ranges::all_of(all, [](std::byte each) { return each == std::byte{0}; }));
    EXPECT_TRUE(collect().empty());
}

TEST_P(moved_pages, a_rollback_takes_what_a_commit_has_just_stored_back_to_its_place) {
    fill({k_from, k_moved}, 1);
    commit(); // it stays in anonymous memory
    const auto committed = memory();
    put(k_from / k_page_bytes + 3, 77, 99);
    move({k_from, k_moved}, k_to);
    EXPECT_EQ(base()[k_to + 3 * k_page_bytes + 77], std::byte{99});
    fill({k_from, k_chunk}, 3); // another block there
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(memory(), committed);
    EXPECT_TRUE(collect().empty());
}

TEST_P(moved_pages, what_a_commit_has_just_stored_moves_but_not_what_is_mapped_from_the_file) {
    fill({k_from, k_moved}, 1);
    commit();
    move({k_from, k_moved}, k_to);
    EXPECT_TRUE(is_filled({k_to, k_moved}, 1, k_from));
    if (may_move()) {
        EXPECT_TRUE(view_->memory().maps_copy(k_from / k_chunk)); // its memory left, so it shows the file
    }
    commit();
    ASSERT_NO_FATAL_FAILURE(open_anew());
    const auto before = memory();
    move({k_to, k_moved}, k_from); // is copied
    EXPECT_TRUE(is_filled({k_from, k_moved}, 1, k_from));
    ASSERT_TRUE(view_->rollback());
    EXPECT_EQ(memory(), before);
}

TEST_P(moved_pages, writes_of_later_rounds_are_found_at_both_places) {
    fill({k_from, k_moved}, 1);
    move({k_from, k_moved}, k_to);
    commit();
    (void)collect();
    put(k_to / k_page_bytes + 1, 9, 42);
    put(k_from / k_page_bytes + 2, 9, 43);
    const auto changes = collect();
    EXPECT_EQ(changes.pages.size() + changes.fresh.size(), 2U);
    commit();
    ASSERT_NO_FATAL_FAILURE(open_anew());
    EXPECT_EQ(base()[k_to + k_page_bytes + 9], std::byte{42});
    EXPECT_EQ(base()[k_from + 2 * k_page_bytes + 9], std::byte{43});
}

TEST_P(moved_pages, a_page_that_was_committed_but_moved_since_is_found_when_it_is_written) {
    fill({k_from, k_moved}, 1);
    commit(); // protects the pages
    (void)collect();
    move({k_from, k_moved}, k_to);
    put(k_to / k_page_bytes, 5, 50);
    commit();
    put(k_to / k_page_bytes, 5, 51);
    put(k_to / k_page_bytes + 7, 5, 52);
    commit();
    ASSERT_NO_FATAL_FAILURE(open_anew());
    EXPECT_EQ(base()[k_to + 5], std::byte{51});
    EXPECT_EQ(base()[k_to + 7 * k_page_bytes + 5], std::byte{52});
}

TEST_P(moved_pages, a_savepoint_is_restored_at_both_places) {
    fill({k_from, k_moved}, 1);
    commit();
    fill({k_from, k_moved / 2}, 2);
    fill({k_from + k_moved, k_moved}, 3);
    const auto before = memory();
    auto kept = view_->keep_written();
    ASSERT_TRUE(kept) << kept.why().message;
    move({k_from, 2 * k_moved}, k_to);
    fill({k_to + k_chunk, k_chunk}, 9);
    ASSERT_TRUE(view_->restore(*kept));
    EXPECT_EQ(memory(), before);
}

TEST_P(moved_pages, a_block_that_shares_chunks_with_others_moves_without_them) {
    constexpr std::uint64_t k_odd = 3 * k_page_bytes;
    fill({k_from, k_moved + k_chunk}, 1);
    commit();
    fill({k_to, 2 * k_moved}, 2); // neighbours
    const auto before = memory();
    move({k_from + k_odd, k_moved}, k_to + 5 * k_page_bytes);
    auto after = memory();
    for (std::uint64_t i = 0; i < k_moved; ++i)
        ASSERT_EQ(after[k_to + 5 * k_page_bytes + i], before[k_from + k_odd + i]) << i;
    // All but the two blocks is as before.
    std::copy_n(before.begin() + k_to + 5 * k_page_bytes, k_moved, after.begin() + k_to + 5 * k_page_bytes);
    std::copy_n(before.begin() + k_from + k_odd, k_moved, after.begin() + k_from + k_odd);
    EXPECT_EQ(after, before);
}

TEST_P(moved_pages, addresses_that_differ_within_a_page_are_copied) {
    fill({k_from, k_moved}, 1);
    const auto before = memory();
    move({k_from, k_moved}, k_to + 16);
    for (std::uint64_t i = 0; i < k_moved; ++i)
        ASSERT_EQ(base()[k_to + 16 + i], before[k_from + i]) << i;
}

TEST_P(moved_pages, a_block_that_moves_to_and_fro_adds_few_mappings) {
    const auto mappings = [&] {
        std::size_t count = 0;
        std::FILE* const maps = std::fopen("/proc/self/maps", "r");
        char line[512];
        while (std::fgets(line, sizeof line, maps) != nullptr)
            ++count;
        std::fclose(maps);
        return count;
    };
    fill({k_from, k_moved}, 1);
    const std::size_t before = mappings();
    for (int i = 0; i < 50; ++i) {
        move({k_from, k_moved}, k_to);
        move({k_to, k_moved}, k_from + k_moved);
        move({k_from + k_moved, k_moved}, k_from);
    }
    EXPECT_LE(mappings(), before + 6);
    EXPECT_TRUE(is_filled({k_from, k_moved}, 1, k_from));
}

TEST_P(moved_pages, a_random_program_agrees_with_a_model) {
    std::mt19937_64 random(test::random_seed());
    std::vector<std::byte> committed = memory();
    std::optional<kept_pages> kept;
    std::vector<std::byte> at_savepoint;
    for (int step = 0; step < 300; ++step) {
        switch (random() % 12) {
        case 0: {
            commit();
            committed = memory();
            kept.reset();
            break;
        }
        case 1: {
            ASSERT_TRUE(view_->rollback());
            ASSERT_EQ(memory(), committed) << step;
            kept.reset();
            break;
        }
        case 2: {
            commit();
            committed = memory();
            checkpoint(random() % 2 == 0);
            kept.reset();
            ASSERT_EQ(memory(), committed) << step;
            break;
        }
        case 3: {
            auto made = view_->keep_written();
            ASSERT_TRUE(made);
            kept.emplace(std::move(*made));
            at_savepoint = memory();
            break;
        }
        case 4: {
            if (!kept)
                break;
            ASSERT_TRUE(view_->restore(*kept));
            ASSERT_EQ(memory(), at_savepoint) << step;
            break;
        }
        case 5:
        case 6:
        case 7: {
            const std::uint64_t pages = 1 + random() % 300;
            const std::uint64_t first = random() % (k_pages - pages);
            const std::uint64_t to = random() % (k_pages - pages);
            if (std::max(first, to) - std::min(first, to) < pages)
                break;
            const heap_range from{first * k_page_bytes + random() % 2 * 64,
                                  pages * k_page_bytes - 64 * (random() % 2) - 64};
            const std::uint64_t target = to * k_page_bytes + from.offset % k_page_bytes;
            const auto before = memory();
            move(from, target);
            const auto after = memory();
            ASSERT_TRUE(std::equal(before.begin() + static_cast<std::ptrdiff_t>(from.offset),
                                   before.begin() + static_cast<std::ptrdiff_t>(from.end()),
                                   after.begin() + static_cast<std::ptrdiff_t>(target)))
                << step;
            break;
        }
        default:
            for (std::uint64_t i = random() % 20; i > 0; --i)
                put(random() % k_pages, random() % k_page_bytes, static_cast<std::uint8_t>(random()));
            if (random() % 4 == 0) {
                const std::uint64_t first = random() % (k_chunks - 8);
                fill({first * k_chunk, (1 + random() % 8) * k_chunk}, static_cast<unsigned>(random()));
            }
        }
    }
    commit();
    committed = memory();
    ASSERT_NO_FATAL_FAILURE(open_anew());
    EXPECT_EQ(memory(), committed);
}

INSTANTIATE_TEST_SUITE_P(trackers, moved_pages, k_all_trackers, name_of_tracker);

} // namespace
} // namespace remanence::view
