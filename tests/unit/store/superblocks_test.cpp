#include "store/superblocks.hpp"

#include "format/heap_header.hpp"
#include "format/log_record.hpp"
#include "store/heap_copy.hpp"
#include "unit/store/store_fixture.hpp"

namespace remanence::store {
namespace {

class superblock_choice : public store_on_disk {};

TEST_F(superblock_choice, the_newer_one_wins) {
    commit_fresh(0, 1);
    publish();
    const auto sequence = store_->super().sequence;
    publish();
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->super().sequence, sequence + 1);
    EXPECT_EQ(store_->super().checkpoint_version, version_);
    EXPECT_FALSE(store_->supers().other_damage());
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
        EXPECT_EQ(store_->supers().other_damage(), place * format::k_superblock_bytes);
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
    EXPECT_EQ(store_->supers().other_damage(), (1 - place) * format::k_superblock_bytes);
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
            for (const extent& e : store_->image().extents()) {
                ASSERT_EQ(e.heap.offset, covered) << at << " = " << value;
                covered = e.heap.end();
            }
            ASSERT_EQ(covered, store_->image().bytes());
            std::vector<std::byte> page(k_page_bytes);
            for (std::uint64_t p = 0; p < std::min<std::uint64_t>(store_->image().bytes() / k_page_bytes, 5000);
                 p += 5) {
                auto read = store_->image().read_pages(p, page);
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

TEST_F(superblock_choice, a_second_copy_that_lies_over_something_else_is_refused) {
    ASSERT_NO_FATAL_FAILURE(commit_fresh(0, 1));
    ASSERT_NO_FATAL_FAILURE(move(0, 2));
    ASSERT_NO_FATAL_FAILURE(publish());
    const std::uint64_t place = store_->super().sequence % 2;
    const format::region first = store_->super().regions[0];
    const std::uint64_t copy = store_->super().copy_b_offsets[0];
    EXPECT_EQ(copy, align_up(first.copy_a_offset + first.bytes, format::k_copy_alignment));
    ASSERT_TRUE(reopen());
    expect_model();
    const auto expect_refused = [&](const std::function<void(format::superblock&)>& change) {
        edit_superblock(place, change);
        auto opened = reopen();
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.why().code, errc::corrupt);
        EXPECT_EQ(opened.why().offset, place * format::k_superblock_bytes);
        edit_superblock(place, [&](format::superblock& s) {
            s.copy_b_offsets = {copy};
            s.features_incompat = format::k_feature_copy_b;
        });
        ASSERT_TRUE(reopen());
    };
    for (const std::uint64_t wrong : {first.copy_a_offset, first.copy_a_offset + first.bytes - format::k_copy_alignment,
                                      copy + k_page_bytes, std::uint64_t{0} - format::k_copy_alignment})
        expect_refused([&](format::superblock& s) { s.copy_b_offsets[0] = wrong; });
    expect_refused([&](format::superblock& s) { s.copy_b_offsets[1] = copy + first.bytes; }); // of no region
    expect_refused([&](format::superblock& s) { s.features_incompat = 0; });
    edit_superblock(place, [&](format::superblock& s) { s.copy_b_offsets[0] = copy + first.bytes; }); // not the map's
    EXPECT_EQ(reopen().why().code, errc::corrupt);
}

TEST_F(superblock_choice, a_chunk_map_that_would_be_written_over_something_else_is_refused) {
    ASSERT_TRUE(store_->room().add_regions(k_chunk));
    const std::uint64_t place = store_->super().sequence % 2;
    const format::region first = store_->super().regions[0];
    for (const std::uint64_t offset : {std::uint64_t{0}, format::k_superblock_bytes, first.table_offset,
                                       first.copy_a_offset, first.table_offset - 4096}) {
        edit_superblock(place, [&](format::superblock& s) { s.map.area_offset = offset; });
        auto opened = reopen();
        ASSERT_FALSE(opened) << offset;
        EXPECT_EQ(opened.why().code, errc::corrupt);
        EXPECT_EQ(opened.why().offset, place * format::k_superblock_bytes);
        EXPECT_NE(opened.why().message.find("chunk map"), std::string::npos) << opened.why().message;
    }
    edit_superblock(place, [&](format::superblock& s) { s.map.area_offset = first.copy_a_offset + first.bytes; });
    EXPECT_TRUE(reopen());
    // Whatever comes to lie behind it would begin within a page.
    edit_superblock(place, [&](format::superblock& s) { ++s.map.area_offset; });
    EXPECT_EQ(reopen().why().code, errc::corrupt);
    edit_superblock(place, [&](format::superblock& s) { --s.map.area_offset, ++s.map.slot_bytes; });
    EXPECT_EQ(reopen().why().code, errc::corrupt);
}

TEST_F(superblock_choice, one_whose_successors_would_count_from_0_again_is_refused) {
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    const format::superblock good = store_->super();
    for (auto number :
         {&format::superblock::sequence, &format::superblock::epoch, &format::superblock::checkpoint_version}) {
        for (const std::uint64_t least : {k_number_max + 1, std::uint64_t{0} - 2}) {
            edit_superblock(place, [&](format::superblock& s) {
                s = good;
                s.*number = least + (least + place) % 2; // its place is that of even or of odd ones
            });
            auto opened = reopen();
            ASSERT_FALSE(opened) << least;
            EXPECT_EQ(opened.why().code, errc::corrupt);
            EXPECT_EQ(opened.why().offset, place * format::k_superblock_bytes);
        }
    }
    edit_superblock(place, [&](format::superblock& s) {
        s = good;
        s.sequence = k_number_max - place;
        s.epoch = s.checkpoint_version = k_number_max;
    });
    ASSERT_TRUE(reopen());
    EXPECT_EQ(store_->super().sequence, k_number_max - place);
}

TEST_F(superblock_choice, one_whose_log_begins_where_no_record_can_is_refused) {
    publish(false);
    const std::uint64_t place = store_->super().sequence % 2;
    const format::superblock good = store_->super();
    const auto refused = [&](std::uint64_t log_begin, bool clean) {
        edit_superblock(place, [&](format::superblock& s) {
            s = good;
            s.log_begin = log_begin;
            s.flags = clean ? format::k_flag_clean : 0;
        });
        auto opened = reopen();
        const bool is_damage_of_it =
            !opened && opened.why().code == errc::corrupt && opened.why().offset == place * format::k_superblock_bytes;
        EXPECT_TRUE(opened || is_damage_of_it);
        return !opened;
    };
    constexpr std::uint64_t k_first = format::k_log_header_bytes;
    for (const std::uint64_t wrong :
         {std::uint64_t{0}, k_first - k_sector_bytes, k_first + 8, k_layout_bytes_max + 512})
        EXPECT_TRUE(refused(wrong, false)) << wrong;
    EXPECT_FALSE(refused(k_first, false));
    EXPECT_FALSE(refused(k_first + 77 * k_sector_bytes, false));
    EXPECT_FALSE(refused(k_first, true));
    EXPECT_TRUE(refused(k_first + k_sector_bytes, true)); // no log is needed
}

TEST_F(superblock_choice, one_that_names_a_place_without_its_feature_or_one_that_cannot_be_is_refused) {
    commit_fresh(0, 1);
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    const format::superblock good = store_->super();
    const std::uint64_t behind = align_up(store_->copies().file_end(), k_page_bytes);
    const auto opens_with = [&](std::uint64_t features, const format::area_reference& history) {
        edit_superblock(place, [&](format::superblock& s) {
            s = good;
            s.features_ro_compat = features;
            s.history = history;
        });
        auto opened = reopen(os::access::read_only);
        const bool is_damage_of_it =
            !opened && opened.why().code == errc::corrupt && opened.why().offset == place * format::k_superblock_bytes;
        EXPECT_TRUE(opened || is_damage_of_it);
        return static_cast<bool>(opened);
    };
    EXPECT_TRUE(opens_with(format::k_feature_history, {}));
    EXPECT_TRUE(opens_with(format::k_feature_history, {behind, 100, 7, 1, 0}));
    EXPECT_FALSE(opens_with(0, {behind, 100, 7, 1, 0}));
    EXPECT_FALSE(opens_with(0, {0, 0, 7, 0, 0}));
    const format::region& region = good.regions[0];
    for (const format::area_reference& wrong : {
             format::area_reference{behind, 0, 7, 1, 0},
             format::area_reference{behind, 100, 7, 0, 0},
             format::area_reference{behind, 100, 7, 1, 1},
             format::area_reference{behind + 512, 100, 7, 1, 0},
             format::area_reference{0, 100, 7, 1, 0},
             format::area_reference{format::k_first_map_offset, 100, 7, 1, 0},
             format::area_reference{region.table_offset, 100, 7, 1, 0},
             format::area_reference{region.copy_a_offset + region.bytes - k_page_bytes, 5000, 7, 1, 0},
             format::area_reference{behind, ~std::uint64_t{0}, 7, 1, 0},
             format::area_reference{~std::uint64_t{0} - 4095, 100, 7, 1, 0},
         })
        EXPECT_FALSE(opens_with(format::k_feature_history, wrong)) << wrong.offset << ' ' << wrong.bytes;
    edit_superblock(place, [&](format::superblock& s) {
        s = good;
        s.log_directory = {behind, 100, 7, 1, 0};
    });
    EXPECT_EQ(reopen(os::access::read_only).why().code, errc::corrupt);
    edit_superblock(place, [](format::superblock& s) { s.features_incompat |= format::k_feature_log_directory; });
    const auto unfit = reopen(os::access::read_only); // a place that may be, where no such page is
    ASSERT_FALSE(unfit);
    EXPECT_EQ(unfit.why().code, errc::corrupt);
    EXPECT_EQ(unfit.why().offset, behind);
}

TEST_F(superblock_choice, one_with_a_feature_that_writers_must_know_is_read_but_neither_written_to_nor_copied) {
    commit_fresh(0, 1);
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    for (const std::uint64_t feature : {format::k_feature_schema, format::k_feature_versions, std::uint64_t{1} << 63}) {
        edit_superblock(place, [&](format::superblock& s) { s.features_ro_compat = feature; });
        auto opened = reopen();
        ASSERT_FALSE(opened) << feature;
        EXPECT_EQ(opened.why().code, errc::unsupported_format);
        EXPECT_EQ(opened.why().offset, place * format::k_superblock_bytes);
        EXPECT_NE(opened.why().message.find("Use a newer release"), std::string::npos) << opened.why().message;
        EXPECT_FALSE(heap_file::open_to_upgrade(disk_, k_path, os::access::read_write));
        ASSERT_TRUE(reopen(os::access::read_only));
        expect_model();
        auto copied = copy_to_new(*store_, disk_, "dir/copy", {});
        ASSERT_FALSE(copied);
        EXPECT_EQ(copied.why().code, errc::unsupported_format);
        store_.reset(); // its lock
        EXPECT_TRUE(heap_file::open_damaged(disk_, k_path, [](const failure& why) { ADD_FAILURE() << why.message; }));
    }
}

TEST_F(superblock_choice, one_of_an_application_that_may_not_be_called_so_is_refused) {
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    const format::superblock good = store_->super();
    const auto opens_with = [&](std::string_view name) {
        edit_superblock(place, [&](format::superblock& s) {
            s = good;
            std::ranges::copy(name, s.application.begin());
        });
        auto opened = reopen();
        const bool is_damage_of_it =
            !opened && opened.why().code == errc::corrupt && opened.why().offset == place * format::k_superblock_bytes;
        EXPECT_TRUE(opened || is_damage_of_it);
        return static_cast<bool>(opened);
    };
    using namespace std::string_view_literals;
    for (const std::string_view fits : {""sv, "a"sv, "BOOK"sv, "fifteen_letters"sv}) {
        EXPECT_TRUE(opens_with(fits)) << fits;
        EXPECT_EQ(store_->application(), fits);
    }
    for (const std::string_view does_not : {"sixteen_letters_"sv, "a b"sv, "\n"sv, "\0a"sv, "a\0b"sv, "\x80"sv})
        EXPECT_FALSE(opens_with(does_not)) << does_not;
}

TEST_F(superblock_choice, one_of_the_older_format_is_refused_with_the_way_to_convert_it_but_can_be_looked_at) {
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    edit_superblock(place, [](format::superblock& s) { s.format_version = format::k_format_version_oldest; });
    auto opened = reopen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.why().code, errc::unsupported_format);
    EXPECT_NE(opened.why().message.find(std::string("rem upgrade ") + k_path), std::string::npos)
        << opened.why().message;
    EXPECT_EQ(opened.why().offset, place * format::k_superblock_bytes + offsetof(format::superblock, format_version));
    EXPECT_TRUE(heap_file::open_damaged(disk_, k_path, [](const failure& why) { ADD_FAILURE() << why.message; }));
    edit_superblock(place, [](format::superblock& s) { s.format_version = format::k_format_version_oldest - 1; });
    opened = reopen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.why().code, errc::unsupported_format);
    EXPECT_EQ(opened.why().message.find("rem upgrade"), std::string::npos) << opened.why().message;
    EXPECT_FALSE(heap_file::open_to_upgrade(disk_, k_path, os::access::read_write));
}

TEST_F(superblock_choice, one_that_would_be_refused_is_not_written) {
    publish();
    const std::uint64_t place = store_->super().sequence % 2;
    const auto refused = [&](std::uint64_t version, std::uint64_t epoch) {
        const auto before = store_->super().sequence;
        const auto published = store_->writer().publish({version, 0, {epoch, {}}, true, format::k_log_header_bytes});
        EXPECT_FALSE(published);
        EXPECT_EQ(published ? errc::io : published.why().code, errc::corrupt);
        ASSERT_TRUE(reopen());
        EXPECT_EQ(store_->super().sequence, before);
    };
    refused(k_number_max + 1, 0);
    refused(0, k_number_max + 1);
    edit_superblock(place, [&](format::superblock& s) { s.sequence = k_number_max - place; });
    ASSERT_TRUE(reopen());
    if (place == 1) {
        ASSERT_TRUE(store_->writer().publish({k_number_max, 0, {k_number_max, {}}, true, format::k_log_header_bytes}));
    }
    ASSERT_EQ(store_->super().sequence, k_number_max);
    refused(0, 0);
}

TEST_F(superblock_choice, neither_valid_and_both_of_a_newer_format_is_unsupported) {
    store_.reset();
    const auto make_newer = [](format::superblock& s) { s.format_version = 7; };
    edit_superblock(0, make_newer, false);
    edit_superblock(1, make_newer, false);
    auto opened = reopen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.why().code, errc::unsupported_format);
    EXPECT_NE(opened.why().message.find("format 7"), std::string::npos) << opened.why().message;
    for (const auto& damage : std::vector<std::function<void(format::superblock&)>>{
             [](format::superblock& s) { s.magic[1] = 'x'; },
             [](format::superblock& s) { s.format_version = 8; },
             [](format::superblock& s) { s.format_version = format::k_format_version; },
         }) {
        edit_superblock(0, damage, false);
        opened = reopen();
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.why().code, errc::corrupt);
        EXPECT_NE(opened.why().message.find("format 7"), std::string::npos) << opened.why().message;
    }
}

TEST_F(superblock_choice, zeros_instead_of_both_are_damage_unless_there_is_nothing_else) {
    edit([](os::file& file) {
        ASSERT_TRUE(file.write("test", 0, std::vector<std::byte>(2 * format::k_superblock_bytes)));
    });
    EXPECT_EQ(reopen().why().code, errc::corrupt);
    edit([](os::file& file) { ASSERT_TRUE(file.resize("test", 100)); });
    EXPECT_EQ(reopen().why().code, errc::not_a_heap);
}

TEST_F(superblock_choice, neither_valid_and_one_without_a_beginning_is_corrupt) {
    store_.reset();
    edit_superblock(0, [](format::superblock& s) { s.chunk_bytes = 1; }, false);
    edit_superblock(1, [](format::superblock& s) { s.magic[1] = 'x'; });
    EXPECT_EQ(reopen().why().code, errc::corrupt);
    edit_superblock(0, [](format::superblock& s) { s.magic[1] = 'x'; });
    EXPECT_EQ(reopen().why().code, errc::not_a_heap);
}

TEST_F(superblock_choice, neither_left_is_damage_where_a_heaps_memory_or_its_log_shows_that_there_was_a_heap) {
    commit_fresh(0, 1);
    publish();
    const std::uint64_t copy = store_->image().copy_of(0);
    const page_bytes noise(7, 2 * format::k_superblock_bytes / k_page_bytes);
    edit([&](os::file& file) { ASSERT_TRUE(file.write("test", 0, noise.span())); });
    EXPECT_EQ(reopen().why().code, errc::not_a_heap); // the page is none of a heap's
    edit([&](os::file& file) {
        const std::uint64_t magic = format::k_header_magic;
        ASSERT_TRUE(file.write("test", copy, std::as_bytes(std::span(&magic, 1))));
    });
    auto refused = reopen();
    EXPECT_EQ(refused.why().code, errc::corrupt);
    EXPECT_NE(refused.why().message.find("begins at byte " + std::to_string(copy)), std::string::npos);
    edit([&](os::file& file) {
        std::vector<std::byte> mark(sizeof format::k_copy_magic);
        std::memcpy(mark.data(), format::k_copy_magic.data(), mark.size());
        ASSERT_TRUE(file.write("test", 0, mark));
    });
    refused = reopen();
    EXPECT_EQ(refused.why().code, errc::not_a_heap);
    EXPECT_NE(refused.why().message.find("copy of a heap that was not finished"), std::string::npos);
    for (const std::uint64_t bytes : {100U, 0U}) {
        edit([&](os::file& file) { ASSERT_TRUE(file.resize("test", bytes)); });
        EXPECT_EQ(reopen().why().code, errc::not_a_heap) << bytes;
    }
    auto log = std::move(*disk_.open_or_create(log_path(k_path), 0600));
    ASSERT_TRUE(log->write("test", 0, std::as_bytes(std::span("a diary, not a log"))));
    EXPECT_EQ(reopen().why().code, errc::not_a_heap);
    ASSERT_TRUE(log->write("test", 0, std::as_bytes(std::span(&format::k_log_magic, 1))));
    for (const std::uint64_t bytes : {0U, 100U}) {
        edit([&](os::file& file) { ASSERT_TRUE(file.resize("test", bytes)); });
        refused = reopen();
        EXPECT_EQ(refused.why().code, errc::truncated);
        EXPECT_NE(refused.why().message.find("Keep that log"), std::string::npos) << refused.why().message;
    }
}

TEST_F(superblock_choice, regions_that_together_exceed_the_format_are_refused) {
    ASSERT_TRUE(store_->room().add_regions(k_chunk));
    const std::uint64_t place = store_->super().sequence % 2;
    const auto with_second_region = [&](std::uint64_t bytes) {
        edit_superblock(place, [&](format::superblock& s) {
            format::region& first = s.regions[0];
            first.bytes = k_layout_bytes_max / 2;
            first.copy_a_offset =
                align_up(first.table_offset + checksum_table::file_bytes(first.bytes), format::k_copy_alignment);
            format::region& second = s.regions[1];
            second.heap_offset = first.bytes;
            second.bytes = bytes;
            second.table_offset = first.copy_a_offset + first.bytes;
            second.copy_a_offset =
                align_up(second.table_offset + checksum_table::file_bytes(bytes), format::k_copy_alignment);
            s.region_count = 2;
        });
        return reopen();
    };
    auto fits = with_second_region(k_layout_bytes_max / 2);
    EXPECT_TRUE(fits) << fits.why().message;
    auto exceeds = with_second_region(k_layout_bytes_max / 2 + format::k_region_alignment);
    ASSERT_FALSE(exceeds);
    EXPECT_EQ(exceeds.why().code, errc::corrupt);
    EXPECT_EQ(exceeds.why().offset, place * format::k_superblock_bytes);
}

} // namespace
} // namespace remanence::store
