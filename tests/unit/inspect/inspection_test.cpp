// Inspections on a simulated disk: that they tell what a recovery would find, and change nothing.

#include "inspect/inspection.hpp"

#include "store/heap_copy.hpp"
#include "support/processor_time.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace remanence::inspect {
namespace {

constexpr std::uint64_t k_block = 300 * KiB;

class inspecting : public testing::Test {
protected:
    static constexpr const char* k_path = "dir/heap";

    void open_engine() {
        txn::engine_options options;
        options.reserve_bytes = 64 * MiB;
        options.chunk_bytes = 64 * KiB;
        auto opened = txn::engine::open(disk_, k_path, txn::open_mode::open_or_create, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        if (engine_->version() == 0) {
            std::optional<unexpected> why;
            block_ = static_cast<std::byte*>(engine_->memory().allocate(k_block, 16, why)) - engine_->memory().base();
        }
    }
    /// Page i of the block says `value`, durably.
    void commit(std::uint64_t i, unsigned value) {
        engine_->memory().base()[block_ + static_cast<std::ptrdiff_t>(i * k_page_bytes)] =
            static_cast<std::byte>(value);
        auto done = engine_->commit();
        ASSERT_TRUE(done) << done.why().message;
    }
    void die() { engine_.reset(); }
    void close() {
        ASSERT_TRUE(engine_->close());
        engine_.reset();
    }
    std::unique_ptr<inspection> inspect() {
        auto opened = inspection::open(disk_, k_path, {});
        EXPECT_TRUE(opened) << opened.why().message;
        return opened ? std::move(*opened) : nullptr;
    }
    unsigned value(inspection& heap, std::uint64_t i) {
        auto page = heap.at(static_cast<std::uint64_t>(block_) + i * k_page_bytes, 1);
        EXPECT_TRUE(page) << page.why().message;
        return page ? static_cast<unsigned>(**page) : ~0U;
    }
    std::vector<std::byte> contents(const std::string& path) {
        auto file = std::move(*disk_.open(path, os::access::read_only));
        std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
        EXPECT_TRUE(file->read(0, bytes));
        return bytes;
    }
    std::vector<std::byte> copy_of(inspection& heap) {
        std::vector<std::byte> bytes;
        auto done = store::copy_bytes(heap.store(),
                                      [&](std::span<const std::byte> piece) -> result<void> {
                                          bytes.insert(bytes.end(), piece.begin(), piece.end());
                                          return {};
                                      },
                                      {});
        EXPECT_TRUE(done) << done.why().message;
        return bytes;
    }
    void flip(const std::string& path, std::uint64_t offset) {
        auto file = std::move(*disk_.open(path, os::access::read_write));
        std::byte b{};
        ASSERT_TRUE(file->read(offset, {&b, 1}));
        b ^= std::byte{4};
        ASSERT_TRUE(file->write("test", offset, {&b, 1}));
    }
    std::uint64_t home(inspection& heap, std::uint64_t i) {
        return heap.store().image().copy_of(static_cast<std::uint64_t>(block_) + i * k_page_bytes);
    }

    simulation::simulated_disk disk_;
    std::unique_ptr<txn::engine> engine_;
    std::ptrdiff_t block_ = 0;
};

TEST_F(inspecting, finds_the_last_commit_of_a_dead_program_and_touches_nothing) {
    open_engine();
    commit(1, 1);
    commit(70, 2);
    die();
    const auto operations = disk_.trace().size();
    {
        auto heap = inspect();
        EXPECT_EQ(heap->version(), 2U);
        EXPECT_EQ(heap->log().commits, 2U);
        EXPECT_EQ(value(*heap, 1), 1U);
        EXPECT_EQ(value(*heap, 70), 2U);
        auto parts = heap->check_all({});
        ASSERT_TRUE(parts) << parts.why().message;
        EXPECT_TRUE(heap->problems().empty());
        EXPECT_EQ(parts->blocks, 1U);
        EXPECT_EQ(heap->block_of(static_cast<std::uint64_t>(block_) + 5000)->offset,
                  static_cast<std::uint64_t>(block_));
    }
    EXPECT_EQ(disk_.trace().size(), operations);
}

TEST_F(inspecting, an_open_heap_is_in_use_and_an_inspected_one_is_free_for_writers) {
    open_engine();
    commit(0, 1);
    EXPECT_EQ(inspection::open(disk_, k_path, {}).why().code, errc::in_use);
    close();
    auto one = inspect();
    auto two = inspect();
    EXPECT_TRUE(*one->is_unchanged(disk_));
    open_engine();
    EXPECT_TRUE(*one->is_unchanged(disk_));
    commit(0, 2);
    EXPECT_FALSE(*one->is_unchanged(disk_));
}

// Whatever operation of a session is the last one: copy and recovered heap are the same, byte by byte.
TEST_F(inspecting, a_copy_is_what_a_recovery_makes_operation_by_operation) {
    std::uint64_t recovered = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        const auto start = disk_.now();
        open_engine();
        commit(1, 1);
        disk_.die_at(n);
        for (unsigned i = 2; i < 6; ++i) { // sparse, and with a checkpoint
            engine_->memory().base()[block_ + i * static_cast<std::ptrdiff_t>(k_page_bytes)] =
                static_cast<std::byte>(i);
            if (!engine_->commit() || (i == 3 && !engine_->checkpoint()))
                break;
        }
        const bool done = disk_.failure_is_ahead();
        die();
        disk_.work_again();
        std::vector<std::byte> copy;
        std::uint64_t version = 0;
        {
            auto heap = inspect();
            ASSERT_NE(heap, nullptr);
            EXPECT_TRUE(heap->problems().empty());
            version = heap->version();
            copy = copy_of(*heap);
        }
        open_engine();
        EXPECT_EQ(engine_->version(), version);
        recovered += engine_->stats().recovered_commits;
        die();
        EXPECT_TRUE(copy == contents(k_path));
        disk_.rewind(start);
        if (done)
            break;
    }
    EXPECT_GT(recovered, 10U);
}

TEST_F(inspecting, damage_of_a_page_is_told_once_and_hides_nothing_else) {
    open_engine();
    commit(1, 1);
    commit(70, 2);
    die();
    std::uint64_t at = 0;
    {
        auto heap = inspect();
        at = home(*heap, 70);
    }
    flip(k_path, at + 9);
    auto heap = inspect();
    EXPECT_EQ(value(*heap, 1), 1U);
    auto page = heap->at(static_cast<std::uint64_t>(block_) + 70 * k_page_bytes, 1);
    ASSERT_FALSE(page);
    EXPECT_EQ(page.why().offset, at);
    ASSERT_TRUE(heap->check_all({}));
    ASSERT_EQ(heap->problems().size(), 1U);
    EXPECT_EQ(heap->problems()[0].offset, at);
    EXPECT_EQ(heap->problems()[0].path, k_path);
}

// A heap of a gigabyte has 262,144 pages; to look for each among all others would take minutes.
TEST_F(inspecting, damage_of_very_many_pages_is_told_once_each_and_soon) {
    open_engine();
    commit(1, 1);
    close();
    auto heap = inspect();
    constexpr std::uint64_t k_pages = 262'144;
    const double seconds = test::processor_seconds_of([&] {
        for (unsigned time = 0; time < 2; ++time) {
            for (std::uint64_t page = 0; page < k_pages; ++page)
                heap->note({errc::corrupt, "a page is damaged", k_path, 0, page * k_page_bytes});
            heap->note({errc::corrupt, "something", k_path});
            heap->note({errc::corrupt, "something else", k_path});
        }
    });
    EXPECT_EQ(heap->problems().size(), k_pages + 2);
    EXPECT_LT(seconds, 10);
}

TEST_F(inspecting, damage_that_a_replay_meets_is_told_where_it_lies) {
    open_engine();
    commit(1, 1);
    commit(2, 1);
    close();
    open_engine();
    commit(2, 3); // a sparse change of a page that rots
    die();
    std::uint64_t at = 0;
    {
        auto heap = inspect();
        at = home(*heap, 2);
    }
    flip(k_path, at + 2000);
    auto heap = inspect();
    EXPECT_EQ(heap->version(), 3U);
    EXPECT_EQ(value(*heap, 1), 1U);
    ASSERT_TRUE(heap->check_all({}));
    ASSERT_EQ(heap->problems().size(), 1U);
    EXPECT_EQ(heap->problems()[0].offset, at);
}

TEST_F(inspecting, a_damaged_log_leaves_the_commits_before_the_damage) {
    open_engine();
    std::vector<std::uint64_t> ends;
    for (unsigned i = 0; i < 5; ++i) {
        commit(i, i + 1);
        ends.push_back(format::k_log_header_bytes + engine_->stats().log_used_bytes);
    }
    die();
    flip(store::log_path(k_path), ends[2] + 40); // of the fourth record
    auto heap = inspect();
    EXPECT_EQ(heap->version(), 3U);
    EXPECT_EQ(value(*heap, 2), 3U);
    EXPECT_EQ(value(*heap, 3), 0U);
    ASSERT_EQ(heap->problems().size(), 1U);
    EXPECT_EQ(heap->problems()[0].offset, ends[2]);
    EXPECT_EQ(heap->problems()[0].path, store::log_path(k_path));
    ASSERT_TRUE(heap->check_all({}));
    EXPECT_EQ(heap->problems().size(), 1U);
}

// Pages whose checksum fits, since they were committed, although what they say does not.
TEST_F(inspecting, damage_of_the_allocator_is_told_with_its_place_in_the_file) {
    open_engine();
    commit(1, 1);
    engine_->memory().header().allocator.allocated_bytes += 16;
    commit(2, 1);
    close();
    auto heap = inspect();
    auto parts = heap->check_all({});
    ASSERT_TRUE(parts);
    EXPECT_FALSE(heap->knows_blocks());
    ASSERT_FALSE(heap->problems().empty());
    EXPECT_EQ(heap->problems()[0].offset, heap->store().image().copy_of(0) + offsetof(format::heap_header, allocator) +
                                              offsetof(format::alloc_state, allocated_bytes));
}

TEST_F(inspecting, a_damaged_heap_header_is_told) {
    open_engine();
    commit(1, 1);
    engine_->memory().header().magic ^= 1;
    commit(2, 1);
    close();
    auto heap = inspect();
    EXPECT_EQ(heap->header().why().code, errc::corrupt);
    auto parts = heap->check_all({});
    ASSERT_TRUE(parts);
    EXPECT_FALSE(parts->allocator);
    ASSERT_EQ(heap->problems().size(), 1U);
    EXPECT_EQ(heap->problems()[0].offset, heap->store().image().copy_of(0));
}

TEST_F(inspecting, a_heap_header_that_names_a_schema_without_its_feature_is_told) {
    open_engine();
    commit(1, 1);
    engine_->memory().header().schema_offset = 4096;
    engine_->memory().header().schema_bytes = 100;
    engine_->memory().header().schema_version = 1;
    commit(2, 1);
    close();
    EXPECT_EQ(inspect()->header().why().code, errc::corrupt);
    auto opened = txn::engine::open(disk_, k_path, txn::open_mode::open_existing, {}, "abi");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.why().code, errc::corrupt) << opened.why().message;
}

TEST_F(inspecting, a_copy_leaves_out_what_was_never_committed) {
    open_engine();
    commit(1, 1);
    close();
    {
        auto file = std::move(*disk_.open(k_path, os::access::read_write));
        auto end = *file->size();
        std::vector<std::byte> garbage(3 * k_page_bytes,
                                       std::byte{0xee}); // as a crash of the next session may leave it
        ASSERT_TRUE(file->write("test", end, garbage));
    }
    auto heap = inspect();
    const auto whole = contents(k_path);
    const auto copy = copy_of(*heap);
    ASSERT_EQ(copy.size(), whole.size());
    EXPECT_TRUE(std::equal(copy.begin(), copy.end() - 3 * k_page_bytes, whole.begin()));
    EXPECT_TRUE(std::all_of(copy.end() - 3 * k_page_bytes, copy.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(inspecting, a_copy_of_a_damaged_page_fails_and_leaves_no_file) {
    open_engine();
    commit(1, 1);
    close();
    std::uint64_t at = 0;
    {
        auto heap = inspect();
        at = home(*heap, 1);
    }
    flip(k_path, at);
    auto heap = inspect();
    auto copied = store::copy_to_new(heap->store(), disk_, "dir/copy", {});
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.why().offset, at);
    EXPECT_FALSE(*disk_.exists("dir/copy-new"));
}

TEST_F(inspecting, a_copy_that_fails_at_any_operation_leaves_no_file) {
    open_engine();
    commit(1, 1);
    close();
    auto heap = inspect();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        disk_.fail_at(n, errc::no_space);
        auto copied = store::copy_to_new(heap->store(), disk_, "dir/copy", {});
        if (disk_.failure_is_ahead()) {
            EXPECT_TRUE(copied);
            EXPECT_GT(n, 3U);
            break;
        }
        EXPECT_FALSE(copied);
        EXPECT_FALSE(*disk_.exists("dir/copy-new"));
        if (*disk_.exists("dir/copy")) { // as a whole: the last sync failed
            EXPECT_TRUE(contents("dir/copy") == copy_of(*heap));
            ASSERT_TRUE(disk_.remove("test", "dir/copy"));
        }
        disk_.work_again();
    }
    disk_.work_again();
    EXPECT_TRUE(contents("dir/copy") == copy_of(*heap));
}

} // namespace
} // namespace remanence::inspect
