// A redo log beside a heap file, both real, on a simulated disk; commits are made here by hand, so that each can be placed,
// torn and damaged at will.
#pragma once

#include "log/redo_log.hpp"
#include "recover/recovery.hpp"
#include "unit/store/store_fixture.hpp"

namespace remanence::log {

using store::k_chunk;
using store::k_chunk_pages;
using store::k_path;

class log_on_disk : public store::store_on_disk {
protected:
    void SetUp() override {
        store_on_disk::SetUp();
        begin();
    }
    /// Starts a session: a log, and a superblock that needs it. The log of one that a test cut short would be in the way.
    void begin() {
        const auto& super = store_->super();
        ASSERT_TRUE(disk_.remove("test", store::log_path(k_path)));
        auto session = store_->next_session();
        ASSERT_TRUE(session);
        auto log = redo_log::create(disk_, store::log_path(k_path), super.uuid, *session, super.sequence + 1, 0600,
                                    super.checkpoint_version);
        ASSERT_TRUE(log);
        ASSERT_TRUE(store_->writer().publish(
            {super.checkpoint_version, super.chain, *session, false, format::k_log_header_bytes}));
        log_ = std::move(*log);
        version_ = super.checkpoint_version;
        chain_ = super.chain;
    }
    /// Appends a commit: perhaps a fresh chunk, of which page 0 is written, and 8 bytes at `at` in each of `pages`.
    void commit(std::optional<std::uint64_t> fresh, const std::vector<std::uint64_t>& pages, std::uint64_t value,
                std::uint64_t at = 0) {
        record_builder builder;
        std::uint64_t image_bytes = store_->image().bytes();
        std::vector<std::uint32_t> sums(k_chunk_pages);
        if (fresh) {
            store::page_bytes page(value);
            ASSERT_TRUE(store_->room().add_regions((*fresh + 1) * k_chunk));
            ASSERT_TRUE(store_->whole_chunks().write_fresh(*fresh * k_chunk_pages, page.span()));
            ASSERT_TRUE(store_->whole_chunks().sync());
            sums[0] = page.checksum();
            builder.add_chunk(*fresh, false, sums);
            memory_[*fresh * k_chunk_pages].assign(page.span().begin(), page.span().end());
            image_bytes = std::max(image_bytes, (*fresh + 1) * k_chunk);
        }
        for (std::uint64_t page : pages) {
            auto& bytes = memory_[page];
            bytes.resize(k_page_bytes);
            std::memcpy(bytes.data() + at, &value, sizeof value);
            format::change_range range{static_cast<std::uint16_t>(at), sizeof value};
            builder.add_page(page, page_checksum(bytes), {&range, 1}, bytes.data());
        }
        ASSERT_NO_FATAL_FAILURE(append(builder, image_bytes));
        if (fresh)
            store_->whole_chunks().accept_fresh(*fresh, sums, version_);
        states_.push_back(memory_);
    }
    /// Appends what the builder holds as the next commit.
    void append(record_builder& builder, std::uint64_t image_bytes) {
        ASSERT_NO_FATAL_FAILURE(submit(builder, image_bytes));
        ASSERT_TRUE(log_->await(version_, durability::durable));
    }
    /// Likewise, but nobody waits for it.
    void submit(record_builder& builder, std::uint64_t image_bytes) {
        const auto& super = store_->super();
        builder.finish({super.session, super.epoch, version_ + 1, chain_, log_->durable_through()}, image_bytes);
        ASSERT_NO_FATAL_FAILURE(submit(builder.take()));
        ++version_;
        chain_ = builder.checksum();
    }
    void submit(page_aligned_bytes record) {
        offsets_.push_back(store_->super().log_begin + log_->used_bytes()); // while the window is in one part
        ASSERT_TRUE(log_->reserve(record.size()));
        log_->append(std::move(record));
    }
    /// A checkpoint of all commits so far, while more may be made.
    struct begun_checkpoint {
        std::uint64_t version;
        std::uint64_t chain;
        std::uint64_t mark;
        std::map<std::uint64_t, std::vector<std::byte>> memory;
    };
    begun_checkpoint begin_checkpoint() {
        auto mark = log_->mark();
        EXPECT_TRUE(mark);
        return {version_, chain_, *mark, memory_};
    }
    void end_checkpoint(const begun_checkpoint& begun) {
        for (const auto& [index, bytes] : begun.memory) {
            const store::applied_page page{index, bytes.data(), page_checksum(bytes)};
            ASSERT_TRUE(store_->writer().apply({&page, 1}));
        }
        ASSERT_TRUE(store_->writer().publish({begun.version, begun.chain, store_->session(), false, begun.mark}));
        log_->release(begun.mark);
    }
    /// The window's last records are at the log's beginning, those before them are not: two commits of each, which change
    /// what five others placed.
    void commit_in_two_parts() {
        commit(0, {}, 1);
        for (std::uint64_t i = 0; i < 4; ++i)
            commit({}, {i}, i + 2);
        end_checkpoint(begin_checkpoint());
        commit({}, {0, 1}, 7);
        commit({}, {1, 2}, 8, 2048);
        const auto mark = begin_checkpoint().mark;
        ASSERT_EQ(mark, format::k_log_header_bytes);
        const std::size_t before = offsets_.size();
        commit({}, {2, 3}, 9);
        commit({}, {3, 0}, 10, 1024);
        for (std::size_t i = before; i < offsets_.size(); ++i)
            offsets_[i] = mark + (i - before) * k_sector_bytes;
    }
    /// Some change of a page, for records that are not to be applied.
    static void add_change(record_builder& builder, std::uint64_t page) {
        const format::change_range range{0, 8};
        const store::page_bytes bytes(9);
        builder.add_page(page, bytes.checksum(), {&range, 1}, bytes.span().data());
    }
    /// The process dies, and the heap is opened again.
    void crash() {
        log_.reset();
        auto opened = reopen();
        ASSERT_TRUE(opened) << opened.why().message;
    }
    void edit_log(const std::function<void(os::file&)>& f) {
        auto file = std::move(*disk_.open(store::log_path(k_path), os::access::read_write));
        f(*file);
    }
    void flip_log(std::uint64_t offset) {
        edit_log([&](os::file& file) {
            std::byte b{};
            ASSERT_TRUE(file.read(offset, {&b, 1}));
            b ^= std::byte{8};
            ASSERT_TRUE(file.write("test", offset, {&b, 1}));
        });
    }
    std::vector<std::byte> contents(const std::string& path) {
        auto file = std::move(*disk_.open(path, os::access::read_only));
        std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
        EXPECT_TRUE(file->read(0, bytes));
        return bytes;
    }
    result<remanence::recover::recovery_outcome> recover() {
        return remanence::recover::recover(disk_, *store_, {}, nullptr);
    }
    /// A heap whose file ends within the chunk that its last record placed, behind the only page of it that was written:
    /// no checksum tells. Nor does the superblock, which knows the chunk before it only.
    void cut_off_behind(std::uint64_t bytes_of_the_chunk) {
        commit(0, {}, 1);
        ASSERT_TRUE(store_->writer().publish({version_, chain_, store_->session(), false, format::k_log_header_bytes}));
        log_->restart();
        commit({}, {0}, 2);
        commit(1, {}, 3);
        cut_off(store_->image().copy_of(k_chunk) + bytes_of_the_chunk);
    }
    void cut_off(std::uint64_t end) {
        edit([&](os::file& file) { ASSERT_TRUE(file.resize("test", end)); });
        crash();
    }
    /// What recover() leaves after so many commits.
    void expect_state(std::size_t commits) {
        ASSERT_EQ(store_->super().checkpoint_version, commits);
        EXPECT_TRUE(store_->is_clean());
        EXPECT_FALSE(*disk_.exists(store::log_path(k_path)));
        if (commits == 0)
            return;
        std::vector<std::byte> page(k_page_bytes);
        for (const auto& [index, bytes] : states_[commits - 1]) {
            auto read = store_->image().read_pages(index, page);
            ASSERT_TRUE(read) << read.why().message;
            EXPECT_EQ(page, bytes) << "page " << index;
        }
    }

    std::unique_ptr<redo_log> log_;
    std::uint64_t chain_ = 0;
    std::map<std::uint64_t, std::vector<std::byte>> memory_;
    std::vector<std::map<std::uint64_t, std::vector<std::byte>>> states_; // after each commit
    std::vector<std::uint64_t> offsets_;                                  // of each record
};

} // namespace remanence::log
