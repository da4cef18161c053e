// Every call of the heap file into its file fails in turn, reads included: the failure is reported, and what was
// published stays. The table of checksums has two levels here.
#include "store_fixture.hpp"
#include "support/failing_files.hpp"

#include <iostream>
#include <optional>

namespace remanence::store {
namespace {

class failing_store : public store_on_disk {
protected:
    static constexpr std::uint64_t k_far_chunk = 200; // in another leaf than chunk 0

    void SetUp() override {
        store_on_disk::SetUp();
        ASSERT_NO_FATAL_FAILURE(commit_fresh(0, 1));
        ASSERT_NO_FATAL_FAILURE(commit_fresh(k_far_chunk, 2));
        ASSERT_NO_FATAL_FAILURE(publish());
        const auto& last = store_->super().regions[store_->super().region_count - 1];
        ASSERT_TRUE(store_->file().resize("test", last.copy_a_offset + last.bytes + k_chunk)); // longer than it may be
        store_.reset();
    }

    /// Reads, changes, grows, publishes and verifies, until something fails.
    static result<void> work(os::file_system& files) {
        auto opened = heap_file::open(files, k_path, os::access::read_write);
        if (!opened)
            return opened.error();
        heap_file& store = **opened;
        REM_TRY(store.unused().discard_unstored());
        std::vector<std::byte> pages(2 * k_page_bytes);
        REM_TRY(store.image().read_pages(k_far_chunk * k_chunk_pages, pages));
        auto has = store.image().has_contents(k_far_chunk);
        if (!has)
            return has.error();
        REM_TRY(store.room().reserve_places());
        REM_TRY(store.room().add_regions(store.where().region_bytes() + 1));
        REM_TRY(store.room().reserve_map(400)); // more than its first place takes
        REM_TRY(store.checksums().reserve(0));
        const std::uint64_t fresh_chunk = store.image().bytes() / k_chunk + 100; // others are skipped
        const page_bytes fresh(3, 2);
        REM_TRY(store.room().reserve_pages(fresh_chunk * k_chunk_pages, 2));
        REM_TRY(store.whole_chunks().write_fresh(fresh_chunk * k_chunk_pages, fresh.span()));
        REM_TRY(store.whole_chunks().sync());
        std::vector<std::uint32_t> sums(k_chunk_pages);
        sums[0] = fresh.checksum();
        sums[1] = page_checksum(fresh.span().subspan(k_page_bytes));
        store.whole_chunks().accept_fresh(fresh_chunk, sums, 9);
        REM_TRY(verify(store)); // what was accepted counts before it is published
        const page_bytes changed(4);
        const std::vector<applied_page> applied{
            {1, changed.span().data(), changed.checksum()},
            {k_far_chunk * k_chunk_pages + 3, changed.span().data(), changed.checksum()},
            {fresh_chunk * k_chunk_pages + 1, changed.span().data(), changed.checksum()}};
        REM_TRY(store.room().reserve_pages(1, 1));
        REM_TRY(store.writer().apply(applied));
        REM_TRY(store.writer().publish({9, 9, {1, {}}, true, format::k_log_header_bytes}));
        REM_TRY(verify(store));
        opened->reset();
        opened = heap_file::open(files, k_path, os::access::read_write);
        if (!opened)
            return opened.error();
        return (*opened)->room().reserve_places(); // of a map that has moved
    }
    /// A chunk that was skipped becomes a fresh one, in a part of the table that nobody has read.
    static result<void> fill_a_gap(os::file_system& files) {
        auto opened = heap_file::open(files, k_path, os::access::read_write);
        if (!opened)
            return opened.error();
        const page_bytes fresh(3);
        REM_TRY((*opened)->whole_chunks().write_fresh(k_chunk_pages, fresh.span()));
        std::vector<std::uint32_t> sums(k_chunk_pages);
        sums[0] = fresh.checksum();
        (*opened)->whole_chunks().accept_fresh(1, sums, 9);
        return (*opened)->writer().publish({9, 9, {1, {}}, true, format::k_log_header_bytes});
    }
    void fail_each_call(result<void> (*run)(os::file_system&), std::uint64_t calls_min) {
        const auto intact = disk_.now();
        test::failing_files files(disk_);
        std::uint64_t n = 0;
        for (;; ++n) {
            files.fail_at(n, errc::io);
            auto done = run(files);
            files.work_again();
            if (files.failed().empty()) {
                EXPECT_TRUE(done) << done.why().message;
                break;
            }
            SCOPED_TRACE("call " + std::to_string(n) + ", " + files.failed());
            EXPECT_FALSE(done);
            ASSERT_TRUE(reopen());
            std::vector<std::byte> page(k_page_bytes);
            auto read = store_->image().read_pages(0, page);
            ASSERT_TRUE(read) << read.why().message;
            EXPECT_TRUE(std::equal(page.begin(), page.end(), page_bytes(1).span().begin()));
            store_.reset();
            disk_.rewind(intact);
        }
        std::cout << n << " calls failed\n";
        EXPECT_GE(n, calls_min);
    }
    static result<void> verify(heap_file& store) {
        std::optional<damage> first;
        auto checked = store::verify(store,
                                     [&](damage found) {
                                         if (!first)
                                             first = std::move(found);
                                     },
                                     {});
        if (!checked)
            return checked.error();
        if (first)
            return fail(errc::corrupt, first->what, store.path(), 0, first->offset);
        return {};
    }
};

TEST_F(failing_store, reports_every_failed_call_and_keeps_what_was_published) { fail_each_call(work, 40); }

TEST_F(failing_store, opened_in_spite_of_damage_takes_no_failed_call_for_damage) {
    test::failing_files files(disk_);
    for (std::uint64_t n = 0;; ++n) {
        files.fail_at(n, errc::io);
        auto opened =
            heap_file::open_damaged(files, k_path, [](const failure& damage) { ADD_FAILURE() << damage.message; });
        files.work_again();
        if (files.failed().empty()) {
            EXPECT_TRUE(opened);
            EXPECT_GE(n, 5U); // open, lock, size, superblocks, map
            break;
        }
        ASSERT_FALSE(opened) << files.failed();
        EXPECT_EQ(opened.why().code, errc::io);
    }
}

TEST_F(failing_store, that_fills_a_gap_reports_every_failed_call) { fail_each_call(fill_a_gap, 10); }

} // namespace
} // namespace remanence::store
