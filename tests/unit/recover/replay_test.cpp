// What the records make of the image, forged ones included: their checksums fit, but no program of ours has written them.
#include "base/checksum.hpp"
#include "support/log_fixture.hpp"

namespace remanence::recover {
namespace {

class log_replay : public log::log_on_disk {};

TEST_F(log_replay, ranges_of_a_record_not_younger_than_the_chunk_are_never_applied) {
    // R3. The page's bytes in its copy are the chunk's, of the same record; a range beside it in that record is older.
    commit(0, {}, 1);
    log::record_builder builder;
    store::page_bytes page(9);
    ASSERT_TRUE(store_->room().add_regions(2 * store::k_chunk));
    ASSERT_TRUE(store_->whole_chunks().write_fresh(store::k_chunk_pages, page.span()));
    std::vector<std::uint32_t> sums(store::k_chunk_pages);
    sums[0] = page.checksum();
    builder.add_chunk(1, false, sums);
    std::uint64_t stale = 12345;
    std::vector<std::byte> other(k_page_bytes);
    std::memcpy(other.data(), &stale, sizeof stale);
    format::change_range range{0, 8};
    builder.add_page(store::k_chunk_pages, 77, {&range, 1}, other.data());
    append(builder, 2 * store::k_chunk);
    crash();
    ASSERT_TRUE(recover());
    std::vector<std::byte> got(k_page_bytes);
    ASSERT_TRUE(store_->image().read_pages(store::k_chunk_pages, got));
    EXPECT_TRUE(std::equal(got.begin(), got.end(), page.span().begin()));
}

class log_replay_of_chunks_given_back : public log_replay {
protected:
    void give_back(const std::vector<chunk_range>& chunks, std::uint64_t image_bytes) {
        log::record_builder builder;
        builder.give_back(chunks);
        append(builder, image_bytes);
        store_->whole_chunks().accept_given_back(chunks, version_);
    }
    static void add_whole_page(log::record_builder& builder, std::uint64_t page) {
        const format::change_range range{0, k_page_bytes};
        const store::page_bytes bytes(9);
        builder.add_page(page, bytes.checksum(), {&range, 1}, bytes.span().data());
    }
    std::vector<std::byte> page_at(std::uint64_t page) {
        std::vector<std::byte> got(k_page_bytes);
        EXPECT_TRUE(store_->image().read_pages(page, got));
        return got;
    }
};

// R3. Some of it is in the image already, some only in the log, some in chunks that the log places.
TEST_F(log_replay_of_chunks_given_back, leaves_out_what_earlier_records_changed_in_them) {
    for (std::uint64_t chunk = 0; chunk < 4; ++chunk)
        commit(chunk, {}, chunk + 1);
    end_checkpoint(begin_checkpoint());
    commit(4, {store::k_chunk_pages, 2 * store::k_chunk_pages + 3, 3 * store::k_chunk_pages}, 77);
    commit({}, {store::k_chunk_pages + 1, 4 * store::k_chunk_pages + 5}, 78);
    give_back({{1, 1}, {3, 2}}, 3 * store::k_chunk);
    commit({}, {0, 2 * store::k_chunk_pages}, 79);
    const auto wanted = memory_;
    const std::uint64_t bytes = *store_->file().size();
    crash();
    auto recovered = recover();
    ASSERT_TRUE(recovered) << recovered.why().message;
    EXPECT_EQ(store_->image().bytes(), 3 * store::k_chunk);
    EXPECT_FALSE(store_->image().is_stored(1));
    for (std::uint64_t page = 0; page < 3 * store::k_chunk_pages; ++page) {
        const auto found = wanted.find(page);
        const bool is_there = found != wanted.end() && page / store::k_chunk_pages != 1;
        EXPECT_EQ(page_at(page), is_there ? found->second : std::vector<std::byte>(k_page_bytes)) << page;
    }
    EXPECT_LT(*store_->file().size(), bytes) << "their space is given back";
    ASSERT_TRUE(reopen());
    std::uint64_t problems = 0;
    ASSERT_TRUE(store::verify(*store_, [&](const store::damage&) { ++problems; }, [](std::uint64_t, std::uint64_t) {}));
    EXPECT_EQ(problems, 0U);
}

TEST_F(log_replay_of_chunks_given_back, stores_them_again_behind_the_checkpoint_that_covers_that_and_not_before) {
    for (std::uint64_t chunk = 0; chunk < 3; ++chunk)
        commit(chunk, {}, chunk + 1);
    const auto begun = begin_checkpoint();
    end_checkpoint(begun);
    give_back({{1, 1}}, 3 * store::k_chunk);
    const std::vector<std::uint32_t> zeros(store::k_chunk_pages);
    store_.reset();
    log_.reset();
    const auto start = disk_.now();
    for (const bool is_covered : {false, true}) {
        SCOPED_TRACE(is_covered);
        disk_.rewind(start);
        ASSERT_TRUE(reopen());
        if (is_covered) {
            ASSERT_TRUE(recover());
            ASSERT_NO_FATAL_FAILURE(begin());
            log::record_builder builder;
            builder.add_chunk(1, false, zeros);
            add_whole_page(builder, store::k_chunk_pages + 2);
            append(builder, 3 * store::k_chunk);
            crash();
            auto recovered = recover();
            ASSERT_TRUE(recovered) << recovered.why().message;
            EXPECT_TRUE(std::ranges::equal(page_at(store::k_chunk_pages + 2), store::page_bytes(9).span()));
            EXPECT_TRUE(is_all_zeros(page_at(store::k_chunk_pages)));
            continue;
        }
        log::record_builder builder;
        builder.add_chunk(1, false, zeros);
        add_whole_page(builder, store::k_chunk_pages + 2);
        const std::uint64_t at = offsets_.back() + k_sector_bytes;
        const auto record = builder.finish(
            {store_->super().session, store_->super().epoch, version_ + 1, chain_, version_}, 3 * store::k_chunk);
        edit_log([&](os::file& file) { ASSERT_TRUE(file.write("test", at, record)); });
        auto refused = recover();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.why().code, errc::corrupt);
        EXPECT_EQ(refused.why().offset, at);
        store_.reset();
    }
}

class log_replay_of_contents : public log_replay {
protected:
    /// One page of a chunk behind all others is in the log; nothing is written where the chunk lies.
    void commit_in_log(std::uint64_t chunk, std::uint64_t page_in_chunk, const store::page_bytes& page) {
        const std::uint64_t size = *store_->file().size();
        log::record_builder builder;
        builder.add_chunk(chunk, false, std::vector<std::uint32_t>(store::k_chunk_pages));
        const format::change_range range{0, k_page_bytes};
        builder.add_page(chunk * store::k_chunk_pages + page_in_chunk, page.checksum(), {&range, 1},
                         page.span().data());
        append(builder, (chunk + 1) * store::k_chunk);
        ASSERT_EQ(*store_->file().size(), size);
    }
    std::vector<std::byte> page_at(std::uint64_t page) {
        std::vector<std::byte> got(k_page_bytes);
        EXPECT_TRUE(store_->image().read_pages(page, got));
        return got;
    }
};

TEST_F(log_replay_of_contents, applies_what_a_record_changes_in_a_chunk_that_it_places_without_contents) {
    commit(0, {}, 1);
    ASSERT_TRUE(store_->room().add_regions(3 * store::k_chunk));
    const store::page_bytes page(9);
    commit_in_log(2, 1, page);
    crash();
    ASSERT_TRUE(recover());
    EXPECT_TRUE(std::ranges::equal(page_at(2 * store::k_chunk_pages + 1), page.span()));
    EXPECT_TRUE(is_all_zeros(page_at(2 * store::k_chunk_pages)));
    EXPECT_FALSE(store_->image().is_stored(1));
    EXPECT_GE(*store_->file().size(), store_->image().copy_of(3 * store::k_chunk - 1)) << "the chunk is to be mapped";
}

TEST_F(log_replay_of_contents, leaves_what_lies_behind_the_last_chunk) {
    commit(0, {}, 1);
    commit(2, {}, 2);
    ASSERT_TRUE(store_->room().reserve_map(1000)); // behind all copies then
    ASSERT_TRUE(store_->writer().publish({version_, chain_, store_->session(), false, format::k_log_header_bytes}));
    log_->restart();
    const std::uint64_t map = store_->super().map.area_offset;
    ASSERT_GT(map, store_->image().copy_of(3 * store::k_chunk));
    commit_in_log(3, 0, store::page_bytes(9)); // the map stays as it is
    crash();
    ASSERT_TRUE(recover());
    ASSERT_EQ(store_->super().map.area_offset, map);
    const auto opened = reopen();
    ASSERT_TRUE(opened) << opened.why().message;
    EXPECT_FALSE(store_->image().is_stored(1));
    EXPECT_TRUE(store_->image().is_stored(3));
}

TEST_F(log_replay, a_page_that_does_not_become_what_the_record_says_is_corrupt) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    const std::uint64_t copy = store_->image().copy_of(0);
    crash();
    store_.reset();
    flip(copy + 2000);
    ASSERT_TRUE(reopen());
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::corrupt);
    EXPECT_EQ(outcome.why().offset, copy);
    store_.reset();
    flip(copy + 2000);
    ASSERT_TRUE(reopen());
    ASSERT_TRUE(recover());
    expect_state(2);
}

TEST_F(log_replay, a_record_that_commits_a_chunk_a_second_time_is_corrupt) {
    commit(0, {}, 1);
    commit(0, {}, 2);
    crash();
    auto outcome = recover();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.why().code, errc::corrupt);
    EXPECT_EQ(outcome.why().offset, offsets_[1]) << outcome.why().message;
}

TEST_F(log_replay, of_more_pages_than_a_batch_and_over_the_borders_of_regions) {
    std::vector<std::uint64_t> pages;
    for (std::uint64_t chunk = 56; chunk < 80; ++chunk) { // the first region ends at chunk 64
        commit(chunk, {}, chunk);
        for (std::uint64_t i = 0; i < store::k_chunk_pages; ++i)
            pages.push_back(chunk * store::k_chunk_pages + i);
    }
    commit({}, pages, 7);
    const std::uint64_t commits = version_;
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    expect_state(commits);
    auto checked = verify(*store_, [](store::damage d) { ADD_FAILURE() << d.what; }, {});
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked, pages.size());
}

TEST_F(log_replay, that_meets_a_damaged_table_of_checksums_is_corrupt_at_its_place) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover());
    for (const bool fresh : {false, true}) { // the table is asked for the page's checksum, and for the chunk's contents
        begin();
        log::record_builder builder;
        if (fresh)
            builder.add_chunk(0, false, std::vector<std::uint32_t>(store::k_chunk_pages));
        else
            add_change(builder, 0);
        append(builder, store::k_chunk);
        log_.reset();
        const auto root = store_->super().regions[0].root;
        const std::uint64_t node = store_->super().regions[0].table_offset + root.slot * format::k_node_bytes;
        store_.reset();
        const auto start = disk_.now();
        flip(node + 8);
        ASSERT_TRUE(reopen());
        auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
        EXPECT_EQ(outcome.why().offset, node);
        store_.reset();
        disk_.rewind(start);
        ASSERT_TRUE(reopen());
    }
}

// Their order in the record is not that in which they were found to fit: on the way the map may have more exceptions.
TEST_F(log_replay, chunks_that_move_fit_if_the_chunk_map_has_room_for_all_of_them_together) {
    constexpr std::uint64_t k_first = 10;
    constexpr std::uint64_t k_exceptions = 8190; // of 8192 that chunks may move for
    constexpr std::uint64_t k_last = k_first + 2 * (k_exceptions - 1);
    const std::vector<std::uint32_t> zeros(store::k_chunk_pages);
    ASSERT_TRUE(store_->room().add_regions((k_last + 1) * store::k_chunk));
    ASSERT_TRUE(store_->room().add_copies_b({{k_last}}));
    ASSERT_TRUE(store_->whole_chunks().write_fresh(k_last * store::k_chunk_pages, store::page_bytes(1).span()));
    ASSERT_TRUE(store_->whole_chunks().write_relocated(k_last * store::k_chunk_pages, store::page_bytes(1).span()));
    for (std::uint64_t chunk = 0; chunk <= k_last; ++chunk)
        store_->whole_chunks().accept_fresh(chunk, zeros, version_);
    for (std::uint64_t chunk = k_first; chunk <= k_last; chunk += 2)
        store_->whole_chunks().accept_relocated(chunk, zeros, version_, false);
    ASSERT_TRUE(store_->room().reserve_map(0));
    ASSERT_TRUE(store_->writer().publish({version_, chain_, store_->session(), false, format::k_log_header_bytes}));

    for (const std::uint64_t back : {k_last - 4, k_last - 2, k_last})
        ASSERT_TRUE(store_->copies().hold_early(back));
    log::record_builder builder;
    for (const std::uint64_t away : {1U, 3U, 5U, 7U}) {
        ASSERT_TRUE(store_->copies().hold_early(away));
        builder.add_chunk(away, true, zeros);
    }
    for (const std::uint64_t back : {k_last - 4, k_last - 2, k_last})
        builder.add_chunk(back, false, zeros);
    append(builder, store_->image().bytes());
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
    EXPECT_EQ(store_->copies().other_place_of(1), store::chunk_place::copy_a);
    EXPECT_EQ(store_->copies().other_place_of(k_last), store::chunk_place::copy_b);
}

/// Records whose checksums fit, but that no program of ours has written.
class forged_record : public log::log_on_disk {
protected:
    void expect_corrupt_at(std::uint64_t offset) {
        crash();
        auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
        EXPECT_EQ(outcome.why().path, store::log_path(store::k_path));
        EXPECT_EQ(outcome.why().offset, offset);
    }
};

TEST_F(forged_record, that_moves_more_chunks_than_the_chunk_map_has_room_for_is_corrupt_at_its_place) {
    constexpr std::uint64_t k_last = 2 * store::chunk_map::k_exceptions_max;
    const std::vector<std::uint32_t> zeros(store::k_chunk_pages);
    ASSERT_TRUE(store_->room().add_regions((k_last + 1) * store::k_chunk));
    ASSERT_TRUE(store_->room().add_copies_b({{k_last}}));
    ASSERT_TRUE(store_->whole_chunks().write_fresh(k_last * store::k_chunk_pages, store::page_bytes(1).span()));
    ASSERT_TRUE(store_->whole_chunks().write_relocated(k_last * store::k_chunk_pages, store::page_bytes(1).span()));
    for (std::uint64_t chunk = 0; chunk <= k_last; ++chunk)
        store_->whole_chunks().accept_fresh(chunk, zeros, version_);
    ASSERT_TRUE(store_->writer().publish({version_, chain_, store_->session(), false, format::k_log_header_bytes}));
    const auto start_chain = chain_;
    store_.reset();
    log_.reset();
    const auto start = disk_.now();
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{2}}) {
        disk_.rewind(start);
        ASSERT_TRUE(reopen());
        SCOPED_TRACE(first);
        auto log = disk_.open(store::log_path(store::k_path), os::access::read_write);
        log::record_builder builder;
        for (std::uint64_t chunk = first; chunk <= k_last; chunk += 2)
            builder.add_chunk(chunk, true, zeros);
        builder.finish({store_->super().session, store_->super().epoch, version_ + 1, start_chain, version_},
                       store_->image().bytes());
        ASSERT_TRUE((*log)->write("test", format::k_log_header_bytes, builder.take()));
        log->reset();
        if (first == 0)
            expect_corrupt_at(format::k_log_header_bytes);
        else
            EXPECT_TRUE(recover());
        store_.reset();
    }
}

TEST_F(forged_record, that_does_not_fit_the_heap_is_corrupt_at_its_place) {
    const std::vector<std::uint32_t> sums(store::k_chunk_pages);
    commit(0, {}, 1);
    commit(3, {}, 1); // 1 and 2 are skipped
    const auto start_chain = chain_;
    store_.reset();
    log_.reset();
    const auto start = disk_.now();
    struct forgery {
        const char* what;
        std::uint64_t image_bytes;
        std::function<void(log::record_builder&)> fill;
        bool has_place;
    };
    const std::uint64_t image = 4 * store::k_chunk;
    const forgery forgeries[] = {
        {"an image larger than the regions", 1 * TiB, [&](log::record_builder& b) { add_change(b, 0); }, true},
        {"an image of half a chunk more", image + store::k_chunk / 2, [&](log::record_builder& b) { add_change(b, 0); },
         true},
        {"an image that no chunk explains", image + store::k_chunk, [&](log::record_builder& b) { add_change(b, 0); },
         true},
        {"a chunk that has contents", image, [&](log::record_builder& b) { b.add_chunk(0, false, sums); }, true},
        {"a chunk twice", image,
         [&](log::record_builder& b) {
             b.add_chunk(1, false, sums);
             b.add_chunk(1, false, sums);
         },
         true},
        {"a chunk given back that is not stored", image, [&](log::record_builder& b) { b.give_back({{{1, 1}}}); },
         true},
        {"a chunk given back, and one beyond the image", 3 * store::k_chunk,
         [&](log::record_builder& b) { b.give_back({{{3, 2}}}); }, true},
        {"a chunk given back, and an image that does not show it", image,
         [&](log::record_builder& b) { b.give_back({{{3, 1}}}); }, true},
        {"a chunk given back and placed", image,
         [&](log::record_builder& b) {
             b.give_back({{{0, 1}}});
             b.add_chunk(0, false, sums);
         },
         true},
        {"a chunk given back, and a change in it from later on", store::k_chunk,
         [&](log::record_builder& b) {
             b.give_back({{{3, 1}}});
             add_change(b, store::k_chunk_pages);
         },
         true},
        {"a page beyond the image", image, [&](log::record_builder& b) { add_change(b, 4 * store::k_chunk_pages); },
         true},
        {"a page that is nowhere", image, [&](log::record_builder& b) { add_change(b, store::k_chunk_pages); }, false},
    };
    for (const forgery& each : forgeries) {
        SCOPED_TRACE(each.what);
        disk_.rewind(start);
        auto file = std::move(*disk_.open(store::log_path(store::k_path), os::access::read_write));
        log::record_builder builder;
        each.fill(builder);
        ASSERT_TRUE(reopen());
        auto record = builder.finish(
            {store_->super().session, store_->super().epoch, version_ + 1, start_chain, version_}, each.image_bytes);
        const std::uint64_t at = offsets_.back() + (offsets_[1] - offsets_[0]);
        ASSERT_TRUE(file->write("test", at, record));
        file.reset();
        ASSERT_NO_FATAL_FAILURE(expect_corrupt_at(each.has_place ? at : 0));
        store_.reset();
    }
}

} // namespace
} // namespace remanence::recover
