#include "base/range.hpp"
#include "support/seed.hpp"
#include "unit/store/store_fixture.hpp"

#include <random>

namespace remanence::store {
namespace {

class heap_file_contents : public store_on_disk {};

TEST_F(heap_file_contents, a_model_of_commits_applies_and_checkpoints) {
    std::mt19937_64 random(test::random_seed());
    for (int round = 0; round < 150; ++round) {
        const std::uint64_t chunk = random() % 300;
        if (!store_->image().is_stored(chunk)) {
            ASSERT_NO_FATAL_FAILURE(commit_fresh(chunk, random() % 1000, random() % k_chunk_pages));
        } else {
            const std::uint64_t page = chunk * k_chunk_pages + random() % k_chunk_pages;
            ASSERT_TRUE(store_->room().reserve_pages(page, 1));
            ASSERT_NO_FATAL_FAILURE(apply(page, random() % 1000));
        }
        if (random() % 8 == 0) {
            ASSERT_NO_FATAL_FAILURE(publish());
            if (random() % 2 == 0) {
                ASSERT_TRUE(reopen());
            }
        }
        if (round % 30 == 0) {
            ASSERT_NO_FATAL_FAILURE(expect_model());
        }
    }
    publish();
    ASSERT_TRUE(reopen());
    expect_model();
    std::vector<std::string> problems;
    auto checked = verify(*store_, [&](const damage& d) { problems.push_back(d.what); }, {});
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked, model_.size());
    EXPECT_TRUE(problems.empty()) << problems.front();
}

TEST_F(heap_file_contents, what_was_not_published_is_gone_after_reopening) {
    commit_fresh(0, 1);
    publish();
    commit_fresh(1, 2);
    EXPECT_EQ(store_->image().bytes(), 2 * k_chunk);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->image().bytes(), k_chunk);
    EXPECT_FALSE(store_->image().is_stored(1));
    // An interrupted commit left its pages there: recovery makes them read as zeros.
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE(store_->file().read(store_->image().copy_of(k_chunk), page));
    EXPECT_NE(page, std::vector<std::byte>(k_page_bytes));
    ASSERT_TRUE(store_->unused().discard_unstored());
    const auto size = *store_->file().size();
    if (size > store_->image().copy_of(k_chunk)) {
        ASSERT_TRUE(store_->file().read(store_->image().copy_of(k_chunk), page));
        EXPECT_EQ(page, std::vector<std::byte>(k_page_bytes));
    }
    model_.erase(k_chunk_pages);
    expect_model();
}

TEST_F(heap_file_contents, discarding_frees_what_lies_between_and_behind_and_keeps_the_rest) {
    commit_fresh(0, 1);
    commit_fresh(9, 2, 5);
    publish();
    for (std::uint64_t chunk : {4U, 20U}) { // written, never accepted
        page_bytes page(77);
        ASSERT_TRUE(store_->room().add_regions((chunk + 1) * k_chunk));
        ASSERT_TRUE(store_->whole_chunks().write_fresh(chunk * k_chunk_pages, page.span()));
    }
    ASSERT_TRUE(store_->unused().discard_unstored());
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE(store_->file().read(store_->image().copy_of(4 * k_chunk), page));
    EXPECT_EQ(page, std::vector<std::byte>(k_page_bytes));
    EXPECT_EQ(*store_->file().size(), store_->image().copy_of(10 * k_chunk)); // and is extended again when it is needed
    expect_model();
    const page_bytes again(78);
    ASSERT_TRUE(store_->whole_chunks().write_fresh(20 * k_chunk_pages, again.span()));
    EXPECT_EQ(*store_->file().size(), store_->image().copy_of(20 * k_chunk) + k_chunk);
}

TEST_F(heap_file_contents, regions_are_contiguous_in_the_heap_and_apart_in_the_file) {
    std::vector<file_range> copies;
    for (std::uint64_t bytes : {1 * k_chunk, 10 * MiB, 10 * MiB, 100 * MiB, 3 * GiB})
        ASSERT_TRUE(store_->room().add_regions(bytes));
    EXPECT_GE(store_->where().region_bytes(), 3 * GiB);
    std::uint64_t heap_end = 0;
    std::uint64_t file_end = format::k_first_table_offset;
    for (std::size_t i = 0; i < store_->super().region_count; ++i) {
        const auto& r = store_->super().regions[i];
        EXPECT_EQ(r.heap_offset, heap_end);
        EXPECT_GE(r.table_offset, file_end);
        EXPECT_GE(r.copy_a_offset, r.table_offset + checksum_table::file_bytes(r.bytes));
        EXPECT_TRUE(is_aligned(r.copy_a_offset, format::k_copy_alignment));
        heap_end += r.bytes;
        file_end = r.copy_a_offset + r.bytes;
    }
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->where().region_bytes(), heap_end);
    EXPECT_EQ(store_->room().add_regions(std::uint64_t{1} << 47).why().code, errc::exhausted);
    std::uint64_t more = store_->where().region_bytes();
    while (store_->room().add_regions(more + 1))
        more = store_->where().region_bytes(); // until the format has no more of them
    EXPECT_GT(more, std::uint64_t{1} << 45);
    EXPECT_TRUE(reopen());
}

TEST_F(heap_file_contents, chunks_are_given_back_as_long_as_there_are_mappings_for_the_gaps) {
    constexpr std::uint64_t k_gaps = 4096;
    ASSERT_TRUE(store_->room().add_regions((2 * k_gaps + 10) * k_chunk));
    for (std::uint64_t chunk = 0; chunk < 2 * k_gaps + 10; ++chunk)
        store_->whole_chunks().accept_fresh(chunk, std::vector<std::uint32_t>(k_chunk_pages), ++version_);
    std::uint64_t gaps = 0;
    for (std::uint64_t chunk = 1; chunk < 2 * k_gaps + 9; chunk += 2) {
        const auto runs = give_back({chunk, 1});
        gaps += runs.size();
        EXPECT_EQ(store_->image().is_stored(chunk), runs.empty());
    }
    EXPECT_EQ(gaps, k_gaps);
    publish();
    ASSERT_TRUE(reopen());
    EXPECT_FALSE(store_->image().is_stored(1));
    EXPECT_TRUE(store_->image().is_stored(2));
    EXPECT_TRUE(store_->image().is_stored(2 * k_gaps + 3));
}

TEST_F(heap_file_contents, a_heap_whose_file_has_no_more_offsets_is_exhausted_and_stays_valid) {
    commit_fresh(0, 1);
    publish();
    edit_superblock(store_->super().sequence % 2, [](format::superblock& s) {
        const format::region& last = s.regions[0];
        s.regions[1] = {last.heap_offset + last.bytes,
                        format::k_region_alignment,
                        k_layout_bytes_max - k_page_bytes,
                        k_layout_bytes_max,
                        {}};
        s.regions[1].table_offset -= checksum_table::file_bytes(s.regions[1].bytes);
        s.regions[1].table_offset = align_down(s.regions[1].table_offset, k_page_bytes);
        s.region_count = 2;
    });
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->room().add_regions(store_->where().region_bytes() + 1).why().code, errc::exhausted);
    EXPECT_EQ(store_->room().reserve_map(1000).why().code, errc::exhausted);
    publish();
    EXPECT_TRUE(reopen());
}

TEST_F(store_on_disk, opened_in_spite_of_damage_tells_of_a_damaged_map_and_reads_on) {
    commit_fresh(0, 1);
    commit_fresh(3, 2); // behind chunks that the map calls zero
    publish();
    const auto& map = store_->super().map;
    ASSERT_EQ(map.count, 1U);
    const auto at = map.area_offset + map.slot * map.slot_bytes;
    flip(at);
    EXPECT_EQ(reopen().why().code, errc::corrupt);
    std::vector<failure> damage;
    auto opened = heap_file::open_damaged(disk_, k_path, [&](const failure& each) { damage.push_back(each); });
    ASSERT_TRUE(opened) << opened.why().message;
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].offset, at);
    store_ = std::move(*opened);
    expect_model();
}

TEST_F(store_on_disk, opened_in_spite_of_damage_tells_of_a_file_that_ends_too_early) {
    commit_fresh(0, 1);
    commit_fresh(1, 2);
    publish();
    const auto end = store_->image().copy_of(k_chunk);
    edit([&](os::file& file) { ASSERT_TRUE(file.resize("test", end)); });
    EXPECT_EQ(reopen().why().code, errc::truncated);
    std::vector<failure> damage;
    auto opened = heap_file::open_damaged(disk_, k_path, [&](const failure& each) { damage.push_back(each); });
    ASSERT_TRUE(opened) << opened.why().message;
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].code, errc::truncated);
    EXPECT_EQ(damage[0].offset, end);
    std::vector<std::byte> page(k_page_bytes);
    EXPECT_TRUE((*opened)->image().read_pages(0, page));
    EXPECT_FALSE((*opened)->image().read_pages(k_chunk_pages, page));
    std::vector<std::string> problems;
    auto pages = verify(**opened, [&](const store::damage& each) { problems.push_back(each.what); }, {});
    ASSERT_TRUE(pages);
    ASSERT_EQ(problems.size(), 1U); // the page, and those behind it that must be zeros
    EXPECT_EQ(problems[0], "pages 16 to 31: missing, since the file ends at byte " + std::to_string(end));
}

TEST_F(heap_file_contents, pages_on_both_sides_of_a_region_border_are_read_at_once) {
    ASSERT_TRUE(store_->room().add_regions(k_chunk));
    const std::uint64_t border = store_->where().region_bytes() / k_page_bytes;
    commit_fresh(border / k_chunk_pages - 1, 1, k_chunk_pages - 1);
    commit_fresh(border / k_chunk_pages, 2, 0);
    ASSERT_NE(store_->image().copy_of(border * k_page_bytes),
              store_->image().copy_of((border - 1) * k_page_bytes) + k_page_bytes);
    std::vector<std::byte> pages(2 * k_page_bytes);
    ASSERT_TRUE(store_->image().read_pages(border - 1, pages));
    EXPECT_TRUE(std::equal(pages.begin(), pages.begin() + k_page_bytes, page_bytes(1).span().begin()));
    EXPECT_TRUE(std::equal(pages.begin() + k_page_bytes, pages.end(), page_bytes(2).span().begin()));
}

TEST_F(heap_file_contents, pages_on_both_sides_of_a_region_border_have_room_for_their_checksums) {
    ASSERT_TRUE(store_->room().add_regions(k_chunk));
    const std::uint64_t border = store_->where().region_bytes() / k_chunk;
    commit_fresh(border - 1, 1);
    commit_fresh(border, 2);
    publish();
    ASSERT_TRUE(store_->room().add_copies_b({{border - 1, border}}));
    move(border - 1, 3);
    move(border, 4);
    publish();
    ASSERT_TRUE(reopen());
    const std::uint64_t page = border * k_chunk_pages - 1;
    ASSERT_EQ(store_->image().copy_of((page + 1) * k_page_bytes),
              store_->image().copy_of(page * k_page_bytes) + k_page_bytes);
    std::size_t reserved = 0;
    (void)disk_.take_trace();
    ASSERT_TRUE(store_->room().reserve_pages(page, 2));
    for (const auto& each : disk_.trace())
        reserved += std::string_view(each.where) == "store: reserve checksums" ? 1U : 0U;
    EXPECT_EQ(reserved, 2U); // a table of one leaf for each of these regions
    apply(page, 5);
    apply(page + 1, 6);
    publish();
    ASSERT_TRUE(reopen());
    expect_model();
}

TEST_F(heap_file_contents, chunks_are_given_back_in_the_middle_of_runs_that_moved_until_the_chunk_map_is_full) {
    constexpr std::uint64_t k_chunks = 300;
    ASSERT_TRUE(store_->room().add_regions(k_chunks * k_chunk));
    for (std::uint64_t chunk = 0; chunk < k_chunks; ++chunk)
        store_->whole_chunks().accept_fresh(chunk, std::vector<std::uint32_t>(k_chunk_pages), ++version_);
    publish();
    for (std::uint64_t chunk = 0; chunk < k_chunks; ++chunk)
        ASSERT_NO_FATAL_FAILURE(move(chunk, chunk));
    publish();
    for (std::uint64_t chunk = 1; chunk + 1 < k_chunks; chunk += 2) { // each makes two exceptions more of one run
        ASSERT_EQ(give_back({chunk, 1}).size(), 1U);
        ASSERT_NO_FATAL_FAILURE(publish());
    }
    ASSERT_TRUE(reopen());
    EXPECT_TRUE(store_->image().is_stored(k_chunks - 2));
    EXPECT_FALSE(store_->image().is_stored(k_chunks - 3));
}

// R3: the current superblock names one of the two, and may be current again after a crash.
TEST_F(heap_file_contents, both_copies_of_chunks_given_back_keep_their_bytes_until_a_checkpoint_covers_that) {
    for (std::uint64_t chunk = 0; chunk < 4; ++chunk)
        commit_fresh(chunk, chunk + 1);
    publish();
    const std::uint64_t copy_a = store_->image().copy_of(2 * k_chunk);
    move(2, 9);
    const std::uint64_t copy_b = store_->image().copy_of(2 * k_chunk);
    const auto bytes_at = [&](std::uint64_t copy) {
        std::vector<std::byte> bytes(k_page_bytes);
        EXPECT_TRUE(store_->file().read(copy, bytes));
        return bytes;
    };
    const auto has = [&](std::uint64_t copy, std::uint64_t seed) {
        return std::ranges::equal(bytes_at(copy), page_bytes(seed).span());
    };
    EXPECT_EQ(give_back({1, 9}), (std::vector<chunk_range>{{1, 3}}));
    EXPECT_EQ(store_->image().bytes(), k_chunk);
    const std::uint64_t before = *store_->file().size();
    ASSERT_TRUE(store_->unused().discard_unstored());
    EXPECT_EQ(*store_->file().size(), before);
    EXPECT_TRUE(has(copy_a, 3) && has(copy_b, 9) && has(store_->image().copy_of(k_chunk), 2));
    for (std::uint64_t chunk = 1; chunk < 4; ++chunk) {
        EXPECT_FALSE(store_->image().is_stored(chunk));
        EXPECT_FALSE(store_->copies().hold_early(chunk));
    }
    EXPECT_TRUE(store_->copies().hold_early(4));
    store_->copies().release_early(4);
    publish();
    EXPECT_TRUE(store_->copies().not_yet_free().empty());
    ASSERT_TRUE(store_->unused().discard_unstored());
    EXPECT_EQ(*store_->file().size(), store_->image().copy_of(k_chunk));
    commit_fresh(2, 7); // whose other pages rely on zeros
    publish();
    expect_model();
    ASSERT_TRUE(reopen());
    expect_model();
}

TEST_F(heap_file_contents, the_file_ends_before_copies_that_chunks_have_left) {
    commit_fresh(0, 1);
    publish();
    const std::uint64_t copy_a = store_->image().copy_of(0);
    move(0, 2);
    publish();
    move(0, 3); // back
    ASSERT_EQ(store_->image().copy_of(0), copy_a);
    publish();
    store_->copies().retired().note_all_unmapped();
    ASSERT_TRUE(store_->unused().discard_unstored());
    EXPECT_EQ(*store_->file().size(), copy_a + k_chunk);
    expect_model();
}

TEST_F(heap_file_contents, a_heap_with_all_the_regions_of_its_format_is_exhausted) {
    ASSERT_TRUE(store_->room().add_regions(k_chunk));
    edit_superblock(store_->super().sequence % 2, [](format::superblock& s) {
        for (; s.region_count < s.regions.size(); ++s.region_count) {
            const format::region& last = s.regions[s.region_count - 1];
            format::region& next = s.regions[s.region_count];
            next = last;
            next.heap_offset += last.bytes;
            next.table_offset = last.copy_a_offset + last.bytes;
            next.copy_a_offset =
                align_up(next.table_offset + checksum_table::file_bytes(next.bytes), format::k_copy_alignment);
        }
    });
    ASSERT_TRUE(reopen());
    EXPECT_TRUE(store_->room().add_regions(store_->where().region_bytes()));
    auto added = store_->room().add_regions(store_->where().region_bytes() + 1);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.why().code, errc::exhausted);
}

TEST_F(heap_file_contents, a_chunk_that_counts_as_stored_has_contents_once_a_page_was_written) {
    commit_fresh(0, 1);
    commit_fresh(2, 2, 7); // 1 was skipped
    publish();
    const auto& map = store_->super().map;
    flip(map.area_offset + map.slot * map.slot_bytes);
    auto opened = heap_file::open_damaged(disk_, k_path, [](const failure&) {}); // without the map, 1 counts as stored
    ASSERT_TRUE(opened);
    store_ = std::move(*opened);
    ASSERT_TRUE(store_->image().is_stored(1));
    EXPECT_FALSE(*store_->image().has_contents(1));
    EXPECT_TRUE(*store_->image().has_contents(0));
    EXPECT_TRUE(*store_->image().has_contents(2));
    EXPECT_FALSE(*store_->image().has_contents(3)); // beyond the image
    const format::region region = store_->super().regions[0];
    const std::uint64_t leaf = region.table_offset + region.root.slot * format::k_node_bytes;
    flip(leaf + 5);
    opened = heap_file::open_damaged(disk_, k_path, [](const failure&) {});
    ASSERT_TRUE(opened);
    auto unknown = (*opened)->image().has_contents(1);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.why().offset, leaf);
}

} // namespace
} // namespace remanence::store
