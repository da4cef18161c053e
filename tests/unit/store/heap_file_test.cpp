#include "unit/store/store_fixture.hpp"

#include <random>

namespace remanence::store {
namespace {

class superblock_choice : public store_on_disk {};
class heap_file_contents : public store_on_disk {};
class heap_file_creation : public store_on_disk {};

TEST_F(superblock_choice, the_newer_one_wins) {
    commit_fresh(0, 1);
    publish();
    const auto sequence = store_->super().sequence;
    publish();
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->super().sequence, sequence + 1);
    EXPECT_EQ(store_->super().checkpoint_version, version_);
    EXPECT_FALSE(store_->other_superblock_damage());
    expect_model();
}

TEST_F(superblock_choice, a_torn_newer_one_falls_back_to_the_older) {
    commit_fresh(0, 1);
    publish();
    const auto older = store_->super();
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    for (std::uint64_t offset : {0U, 8U, 40U, 500U, 3000U, 4090U}) {
        flip(place * format::k_superblock_bytes + offset);
        ASSERT_TRUE(reopen()) << offset;
        EXPECT_EQ(store_->super().sequence, older.sequence);
        EXPECT_EQ(store_->other_superblock_damage(), place * format::k_superblock_bytes);
        expect_model();
        publish(); // and the next one goes to the damaged place, not over the valid one
        EXPECT_EQ(store_->super().sequence, older.sequence + 1);
        ASSERT_TRUE(reopen());
        EXPECT_EQ(store_->super().sequence, older.sequence + 1);
    }
}

TEST_F(superblock_choice, both_damaged_is_corrupt_with_the_offset) {
    publish();
    flip(100);
    flip(format::k_superblock_bytes + 100);
    auto opened = reopen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.why().code, errc::corrupt);
    EXPECT_EQ(opened.why().offset, 0U);
    EXPECT_EQ(opened.why().path, k_path);
}

TEST_F(superblock_choice, one_copied_to_the_other_place_is_not_taken_for_valid) {
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    format::superblock newest = store_->super();
    edit([&](os::file& file) {
        ASSERT_TRUE(file.write("test", (1 - place) * format::k_superblock_bytes, std::as_bytes(std::span(&newest, 1))));
    });
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->other_superblock_damage(), (1 - place) * format::k_superblock_bytes);
}

// Every 8 bytes of the superblock, changed in several ways, with a checksum that fits: opening refuses it, or whatever
// is done afterwards stays within the file and ends. (I7)
TEST_F(superblock_choice, every_field_changed_under_a_fitting_checksum_is_refused_or_harmless) {
    for (std::uint64_t chunk : {0U, 3U, 70U, 200U})
        commit_fresh(chunk, chunk + 1);
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    const format::superblock good = store_->super();
    constexpr std::uint64_t k_used = offsetof(format::superblock, regions) + 4 * sizeof(format::region);
    std::uint64_t refused = 0;
    std::uint64_t harmless = 0;
    for (std::uint64_t at = 8; at < k_used; at += 4) {
        for (std::uint32_t value : {0U, 1U, 0x1000U, 0x7fffffffU, 0x80000000U, ~0U}) {
            edit_superblock(place, [&](format::superblock& s) {
                s = good;
                std::memcpy(reinterpret_cast<std::byte*>(&s) + at, &value, sizeof value);
            });
            auto opened = reopen();
            if (!opened) {
                ++refused;
                EXPECT_TRUE(opened.why().code == errc::corrupt || opened.why().code == errc::unsupported_format ||
                            opened.why().code == errc::truncated)
                    << at << ": " << opened.why().message;
                continue;
            }
            ++harmless;
            std::uint64_t covered = 0;
            for (const extent& e : store_->extents()) {
                ASSERT_EQ(e.heap.offset, covered) << at << " = " << value;
                covered = e.heap.end();
            }
            ASSERT_EQ(covered, store_->image_bytes());
            std::vector<std::byte> page(k_page_bytes);
            for (std::uint64_t p = 0; p < std::min<std::uint64_t>(store_->image_bytes() / k_page_bytes, 5000); p += 5) {
                auto read = store_->read_pages(p, page);
                if (!read) {
                    EXPECT_NE(read.why().code, errc::io) << read.why().message;
                }
            }
            std::uint64_t problems = 0;
            auto verified = verify(*store_, [&](const damage&) { ++problems; }, [](std::uint64_t, std::uint64_t) {});
            if (!verified) {
                EXPECT_NE(verified.why().code, errc::io);
            }
        }
    }
    EXPECT_GT(refused, 100U);
    EXPECT_GT(harmless, 0U);
}

TEST_F(superblock_choice, a_chunk_map_that_would_be_written_over_something_else_is_refused) {
    ASSERT_TRUE(store_->add_regions(k_chunk));
    const std::uint64_t place = store_->super().sequence % 2;
    const format::region first = store_->super().regions[0];
    for (const std::uint64_t offset : {std::uint64_t{0}, format::k_superblock_bytes, first.table_offset,
                                       first.home_offset, first.table_offset - 4096}) {
        edit_superblock(place, [&](format::superblock& s) { s.map.area_offset = offset; });
        auto opened = reopen();
        ASSERT_FALSE(opened) << offset;
        EXPECT_EQ(opened.why().code, errc::corrupt);
        EXPECT_EQ(opened.why().offset, place * format::k_superblock_bytes);
        EXPECT_NE(opened.why().message.find("chunk map"), std::string::npos) << opened.why().message;
    }
    edit_superblock(place, [&](format::superblock& s) { s.map.area_offset = first.home_offset + first.bytes; });
    EXPECT_TRUE(reopen());
}

TEST_F(heap_file_contents, a_model_of_commits_folds_and_checkpoints) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 150; ++round) {
        const std::uint64_t chunk = random() % 300;
        if (!store_->is_stored(chunk)) {
            ASSERT_NO_FATAL_FAILURE(commit_fresh(chunk, random() % 1000, random() % k_chunk_pages));
        } else {
            const std::uint64_t page = chunk * k_chunk_pages + random() % k_chunk_pages;
            ASSERT_TRUE(store_->reserve_pages(page, 1));
            ASSERT_NO_FATAL_FAILURE(fold(page, random() % 1000));
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
    auto checked =
        verify(*store_, [&](const damage& d) { problems.push_back(d.what); }, [](std::uint64_t, std::uint64_t) {});
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked, model_.size());
    EXPECT_TRUE(problems.empty()) << problems.front();
}

TEST_F(heap_file_contents, what_was_not_published_is_gone_after_reopening) {
    commit_fresh(0, 1);
    publish();
    commit_fresh(1, 2);
    EXPECT_EQ(store_->image_bytes(), 2 * k_chunk);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->image_bytes(), k_chunk);
    EXPECT_FALSE(store_->is_stored(1));
    // An interrupted commit left its pages there: recovery makes them read as zeros.
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE(store_->file().read(store_->home_of(k_chunk), page));
    EXPECT_NE(page, std::vector<std::byte>(k_page_bytes));
    ASSERT_TRUE(store_->discard_unstored());
    const auto size = *store_->file().size();
    if (size > store_->home_of(k_chunk)) {
        ASSERT_TRUE(store_->file().read(store_->home_of(k_chunk), page));
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
        ASSERT_TRUE(store_->add_regions((chunk + 1) * k_chunk));
        ASSERT_TRUE(store_->write_fresh(chunk * k_chunk_pages, page.span()));
    }
    ASSERT_TRUE(store_->discard_unstored());
    std::vector<std::byte> page(k_page_bytes);
    for (std::uint64_t chunk : {4U, 20U}) {
        ASSERT_TRUE(store_->file().read(store_->home_of(chunk * k_chunk), page));
        EXPECT_EQ(page, std::vector<std::byte>(k_page_bytes)) << chunk;
    }
    expect_model();
}

TEST_F(heap_file_contents, a_flipped_bit_is_found_at_its_place_in_the_file) {
    commit_fresh(0, 1, 3);
    commit_fresh(1, 2);
    publish();
    const std::uint64_t home = store_->home_of(3 * k_page_bytes);
    flip(home + 1234);
    ASSERT_TRUE(reopen());
    std::vector<std::byte> pages(k_chunk);
    auto read = store_->read_pages(0, pages);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.why().code, errc::corrupt);
    EXPECT_EQ(read.why().offset, home);
    std::vector<std::uint64_t> found;
    ASSERT_TRUE(
        verify(*store_, [&](const damage& d) { found.push_back(d.offset); }, [](std::uint64_t, std::uint64_t) {}));
    EXPECT_EQ(found, std::vector<std::uint64_t>{home});
    EXPECT_TRUE(store_->read_pages(k_chunk_pages, pages));
}

TEST_F(heap_file_contents, a_bit_in_a_page_that_was_never_written_is_found_at_its_place) {
    commit_fresh(0, 1);
    commit_fresh(2, 2); // 1 was skipped: what lies there is not mapped
    publish();
    const std::uint64_t never_written = store_->home_of(5 * k_page_bytes);
    const std::uint64_t skipped = store_->home_of(k_chunk);
    flip(never_written + 77);
    flip(skipped + 77);
    ASSERT_TRUE(reopen());
    std::vector<std::uint64_t> found;
    ASSERT_TRUE(
        verify(*store_, [&](const damage& d) { found.push_back(d.offset); }, [](std::uint64_t, std::uint64_t) {}));
    EXPECT_EQ(found, std::vector<std::uint64_t>{never_written});
}

TEST_F(heap_file_contents, regions_are_contiguous_in_the_heap_and_apart_in_the_file) {
    std::vector<byte_range> homes;
    for (std::uint64_t bytes : {1 * k_chunk, 10 * MiB, 10 * MiB, 100 * MiB, 3 * GiB})
        ASSERT_TRUE(store_->add_regions(bytes));
    EXPECT_GE(store_->region_bytes(), 3 * GiB);
    std::uint64_t heap_end = 0;
    std::uint64_t file_end = format::k_first_table_offset;
    for (std::size_t i = 0; i < store_->super().region_count; ++i) {
        const auto& r = store_->super().regions[i];
        EXPECT_EQ(r.heap_offset, heap_end);
        EXPECT_GE(r.table_offset, file_end);
        EXPECT_GE(r.home_offset, r.table_offset + checksum_table::file_bytes(r.bytes));
        EXPECT_TRUE(is_aligned(r.home_offset, format::k_home_alignment));
        heap_end += r.bytes;
        file_end = r.home_offset + r.bytes;
    }
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->region_bytes(), heap_end);
    EXPECT_EQ(store_->add_regions(std::uint64_t{1} << 47).why().code, errc::exhausted);
    std::uint64_t more = store_->region_bytes();
    while (store_->add_regions(more + 1))
        more = store_->region_bytes(); // until the format has no more of them
    EXPECT_GT(more, std::uint64_t{1} << 40);
}

TEST_F(heap_file_creation, appears_whole_or_not_at_all_whichever_operation_fails) {
    store_.reset();
    for (errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            os::simulated_disk disk;
            disk.fail_at(n, code);
            auto made = heap_file::create(disk, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
            if (made) {
                EXPECT_GT(n, 5U);
                break;
            }
            EXPECT_EQ(made.why().code, code) << n;
            made = heap_file::open(disk, k_path, os::access::read_write);
            if (!made) {
                EXPECT_EQ(made.why().code, errc::not_found) << n;
            }
            made = heap_file::create(disk, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
            EXPECT_TRUE(made || made.why().code == errc::exists || made.why().code == errc::in_use)
                << made.why().message;
        }
    }
}

TEST_F(heap_file_creation, of_an_existing_one_is_refused) {
    auto made = heap_file::create(disk_, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.why().code, errc::exists);
    EXPECT_EQ(heap_file::open(disk_, k_path, os::access::read_write).why().code, errc::in_use);
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
    const auto end = store_->home_of(k_chunk);
    edit([&](os::file& file) { ASSERT_TRUE(file.resize("test", end)); });
    EXPECT_EQ(reopen().why().code, errc::truncated);
    std::vector<failure> damage;
    auto opened = heap_file::open_damaged(disk_, k_path, [&](const failure& each) { damage.push_back(each); });
    ASSERT_TRUE(opened) << opened.why().message;
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage[0].code, errc::truncated);
    EXPECT_EQ(damage[0].offset, end);
    std::vector<std::byte> page(k_page_bytes);
    EXPECT_TRUE((*opened)->read_pages(0, page));
    EXPECT_FALSE((*opened)->read_pages(k_chunk_pages, page));
    std::vector<std::string> problems;
    auto pages = verify(
        **opened, [&](const store::damage& each) { problems.push_back(each.what); },
        [](std::uint64_t, std::uint64_t) {});
    ASSERT_TRUE(pages);
    ASSERT_EQ(problems.size(), 2U); // the page, and those behind it that must be zeros
    EXPECT_TRUE(problems[0].starts_with("page 16: ")) << problems[0];
    EXPECT_NE(problems[1].find("ends"), std::string::npos) << problems[1];
}

} // namespace
} // namespace remanence::store
