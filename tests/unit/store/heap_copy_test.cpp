#include "store/heap_copy.hpp"

#include "support/failing_files.hpp"
#include "unit/store/store_fixture.hpp"

#include <cstring>

namespace remanence::store {
namespace {

class heap_copy : public store_on_disk {
protected:
    /// More than a megabyte without a page of zeros, then holes.
    void SetUp() override {
        store_on_disk::SetUp();
        for (std::uint64_t chunk = 0; chunk < 20; ++chunk) {
            ASSERT_NO_FATAL_FAILURE(commit_fresh(chunk, chunk));
            for (std::uint64_t page = 1; page < k_chunk_pages; ++page)
                ASSERT_NO_FATAL_FAILURE(apply(chunk * k_chunk_pages + page, page));
        }
        ASSERT_NO_FATAL_FAILURE(commit_fresh(40, 9, 5));
        ASSERT_NO_FATAL_FAILURE(publish());
    }
    std::vector<std::byte> contents(const std::string& path) {
        auto file = std::move(*disk_.open(path, os::access::read_only));
        std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
        EXPECT_TRUE(file->read(0, bytes));
        return bytes;
    }
};

TEST_F(heap_copy, has_the_same_bytes_whether_or_not_somebody_watches) {
    const auto original = contents(k_path);
    std::uint64_t told = 0;
    std::uint64_t total = 0;
    const copy_progress watch = [&](std::uint64_t done, std::uint64_t all) {
        EXPECT_GE(done, told);
        told = done;
        total = all;
    };
    for (const copy_progress& progress : {watch, copy_progress()}) {
        auto copied = copy_to_new(*store_, disk_, "dir/copy", progress);
        ASSERT_TRUE(copied) << copied.why().message;
        EXPECT_TRUE(contents("dir/copy") == original);
        EXPECT_FALSE(*disk_.exists(new_path("dir/copy")));
        ASSERT_TRUE(disk_.remove("test", "dir/copy"));
    }
    EXPECT_EQ(told, total);
    EXPECT_EQ(total, original.size());
}

TEST_F(heap_copy, has_chunks_that_moved_where_the_heap_has_them) {
    for (const std::uint64_t chunk : {2U, 3U, 4U, 40U})
        ASSERT_NO_FATAL_FAILURE(move(chunk, 100 + chunk));
    ASSERT_NO_FATAL_FAILURE(publish());
    ASSERT_NO_FATAL_FAILURE(move(3, 200)); // back
    ASSERT_NO_FATAL_FAILURE(publish());
    ASSERT_TRUE(copy_to_new(*store_, disk_, "dir/copy", {}));
    store_.reset();
    auto copy = heap_file::open(disk_, "dir/copy", os::access::read_only);
    ASSERT_TRUE(copy) << copy.why().message;
    store_ = std::move(*copy);
    expect_model();
    EXPECT_TRUE(verify(*store_, [](const damage& found) { ADD_FAILURE() << found.what; }, {}));
}

TEST_F(heap_copy, that_fails_at_any_call_says_so_and_leaves_no_file) {
    const auto original = contents(k_path);
    store_.reset();
    test::failing_files files(disk_);
    for (std::uint64_t n = 0;; ++n) {
        auto opened = heap_file::open(files, k_path, os::access::read_only);
        ASSERT_TRUE(opened);
        files.fail_at(n, errc::io);
        auto copied = copy_to_new(**opened, files, "dir/copy", {});
        files.work_again();
        if (files.failed().empty()) {
            ASSERT_TRUE(copied) << copied.why().message;
            EXPECT_GT(n, 10U);
            break;
        }
        SCOPED_TRACE(files.failed());
        ASSERT_FALSE(copied);
        EXPECT_EQ(copied.why().code, errc::io);
        EXPECT_EQ(contents(k_path), original);
        if (files.failed() == "sync_directory of dir/copy") {
            EXPECT_TRUE(contents("dir/copy") == original); // but it may be gone after a power loss
            ASSERT_TRUE(disk_.remove("test", "dir/copy"));
        }
        EXPECT_FALSE(*disk_.exists("dir/copy"));
        if (*disk_.exists(new_path("dir/copy"))) { // it was not made, or not known to be ours
            EXPECT_TRUE(files.failed().starts_with("try_lock") || files.failed().starts_with("is_at") ||
                        files.failed() == "size of dir/copy-new" || files.failed() == "read of dir/copy-new" ||
                        files.failed() == "exists of dir/copy-new-log")
                << files.failed();
            EXPECT_EQ(contents(new_path("dir/copy")).size(), 0U);
        }
    }
    EXPECT_TRUE(contents("dir/copy") == original);
    EXPECT_FALSE(*disk_.exists(new_path("dir/copy")));
}

TEST_F(heap_copy, replaces_what_is_there_only_if_told_to) {
    const auto original = contents(k_path);
    const std::vector<std::byte> precious(100, std::byte{1});
    ASSERT_TRUE((*disk_.open_or_create("dir/copy", 0600))->write("test", 0, precious));
    for (const existing there : {existing::refused, existing::replaced}) {
        auto copied = copy_in_progress::begin(disk_, "dir/copy", 0600);
        ASSERT_TRUE(copied);
        ASSERT_TRUE((*copied)->update(*store_, {}));
        auto done = (*copied)->finish(there);
        copied->reset();
        EXPECT_EQ(static_cast<bool>(done), there == existing::replaced);
        EXPECT_FALSE(*disk_.exists(new_path("dir/copy")));
        EXPECT_TRUE(contents("dir/copy") == (done ? original : precious));
        if (!done) {
            EXPECT_EQ(done.why().code, errc::exists);
        }
    }
}

TEST_F(heap_copy, holds_what_the_heap_holds_last_when_it_is_updated) {
    auto copied = copy_in_progress::begin(disk_, "dir/copy", 0600);
    ASSERT_TRUE(copied);
    ASSERT_TRUE((*copied)->update(*store_, {}));
    ASSERT_NO_FATAL_FAILURE(apply(3, 77));
    const std::vector<std::byte> zeros(k_page_bytes); // of a page that was not
    const applied_page cleared{4 * k_chunk_pages + 2, zeros.data(), page_checksum(zeros)};
    ASSERT_TRUE(store_->writer().apply({&cleared, 1}));
    ASSERT_NO_FATAL_FAILURE(commit_fresh(30, 8));
    ASSERT_NO_FATAL_FAILURE(publish());
    ASSERT_TRUE((*copied)->update(*store_, {}));
    {
        const auto unfinished = contents(new_path("dir/copy"));
        EXPECT_EQ(std::memcmp(unfinished.data(), format::k_copy_magic.data(), sizeof format::k_copy_magic), 0);
        EXPECT_TRUE(std::all_of(unfinished.begin() + sizeof format::k_copy_magic,
                                unfinished.begin() + format::k_first_map_offset,
                                [](std::byte b) { return b == std::byte{0}; }));
    }
    ASSERT_TRUE((*copied)->finish(existing::refused));
    EXPECT_TRUE(contents("dir/copy") == contents(k_path));
}

TEST_F(heap_copy, that_could_not_be_written_in_part_is_completed_by_another_update) {
    for (std::uint64_t n = 0;; ++n) {
        auto copied = copy_in_progress::begin(disk_, "dir/copy", 0600);
        ASSERT_TRUE(copied);
        disk_.fail_at(n, errc::no_space);
        const bool failed = !(*copied)->update(*store_, {});
        disk_.work_again();
        if (failed) {
            ASSERT_TRUE((*copied)->update(*store_, {}));
        }
        ASSERT_TRUE((*copied)->finish(existing::refused));
        EXPECT_TRUE(contents("dir/copy") == contents(k_path));
        ASSERT_TRUE(disk_.remove("test", "dir/copy"));
        if (!failed) {
            EXPECT_GT(n, 2U);
            return;
        }
    }
}

TEST_F(heap_copy, is_gone_when_it_was_not_finished) {
    auto copied = copy_in_progress::begin(disk_, "dir/copy", 0600);
    ASSERT_TRUE(copied);
    ASSERT_TRUE((*copied)->update(*store_, {}));
    copied->reset();
    EXPECT_FALSE(*disk_.exists(new_path("dir/copy")));
}

} // namespace
} // namespace remanence::store
