// A heap file on a simulated disk, and a model of what it must hold.
#pragma once

#include "base/checksum.hpp"
#include "base/page_aligned.hpp"
#include "store/heap_file.hpp"
#include "store/heap_verification.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace remanence::store {

constexpr const char* k_path = "dir/heap";
constexpr std::uint64_t k_chunk = 64 * KiB;
constexpr std::uint64_t k_chunk_pages = k_chunk / k_page_bytes;

/// Takes what changed in a table, and writes it.
inline result<format::node_reference> write_changed(checksum_table& table, os::file& file) {
    std::vector<planned_write> writes;
    auto root = table.take_changed(writes);
    for (const planned_write& each : writes)
        REM_TRY(file.write("test", each.offset, each.bytes));
    return root;
}

/// One page filled with a pattern, aligned for direct writes.
class page_bytes {
public:
    explicit page_bytes(std::uint64_t seed, std::uint64_t count = 1)
        : bytes_(static_cast<std::byte*>(std::aligned_alloc(k_page_bytes, count * k_page_bytes)), &std::free),
          size_(count * k_page_bytes) {
        for (std::uint64_t i = 0; i < size_; ++i)
            bytes_[i] = static_cast<std::byte>((seed * 131 + i / 7) % 255 + 1);
    }
    [[nodiscard]] std::span<const std::byte> span() const { return {bytes_.get(), static_cast<std::size_t>(size_)}; }
    [[nodiscard]] std::uint32_t checksum() const { return page_checksum(span().first(k_page_bytes)); }

private:
    std::unique_ptr<std::byte[], decltype(&std::free)> bytes_;
    std::uint64_t size_;
};

class store_on_disk : public testing::Test {
protected:
    void SetUp() override { create(); }

    void create() {
        auto made = heap_file::create(disk_, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
        ASSERT_TRUE(made) << made.why().message;
        store_ = std::move(*made);
    }
    result<void> reopen(os::access mode = os::access::read_write) {
        store_.reset();
        auto opened = heap_file::open(disk_, k_path, mode);
        if (!opened)
            return opened.error();
        store_ = std::move(*opened);
        return {};
    }
    /// Commits a fresh chunk of which page `in_chunk` is written.
    void commit_fresh(std::uint64_t chunk, std::uint64_t seed, std::uint64_t in_chunk = 0) {
        page_bytes page(seed);
        const std::uint64_t first = chunk * k_chunk_pages + in_chunk;
        ASSERT_TRUE(store_->room().add_regions((chunk + 1) * k_chunk));
        ASSERT_TRUE(store_->room().reserve_map(1));
        ASSERT_TRUE(store_->room().reserve_pages(first, 1));
        ASSERT_TRUE(store_->whole_chunks().write_fresh(first, page.span()));
        ASSERT_TRUE(store_->whole_chunks().sync());
        std::vector<std::uint32_t> sums(k_chunk_pages);
        sums[in_chunk] = page.checksum();
        store_->whole_chunks().accept_fresh(chunk, std::move(sums), ++version_);
        model_[first] = seed;
    }
    /// Commits a chunk that is stored as one that moved, with all its pages alike.
    void move(std::uint64_t chunk, std::uint64_t seed) {
        page_bytes page(seed);
        page_aligned_bytes all;
        for (std::uint64_t i = 0; i < k_chunk_pages; ++i) {
            all.append(page.span());
            model_[chunk * k_chunk_pages + i] = seed;
        }
        ASSERT_TRUE(store_->copies().may_move(chunk));
        ASSERT_TRUE(store_->room().add_copies_b({{chunk}}));
        ASSERT_TRUE(store_->room().reserve_map(2));
        ASSERT_TRUE(store_->room().reserve_move(chunk, 1));
        ASSERT_TRUE(store_->whole_chunks().write_relocated(chunk * k_chunk_pages, all));
        ASSERT_TRUE(store_->whole_chunks().sync());
        store_->whole_chunks().accept_relocated(chunk, std::vector<std::uint32_t>(k_chunk_pages, page.checksum()),
                                                ++version_, false);
    }
    /// Gives back what is stored of these chunks, as a commit does for which there is room. Returns the runs.
    std::vector<chunk_range> give_back(chunk_range chunks) {
        const heap_range unused = to_bytes(chunks, k_chunk);
        auto runs = store_->unused().reserve_to_give_back({&unused, 1});
        EXPECT_TRUE(runs);
        if (!runs || runs->empty())
            return {};
        store_->whole_chunks().accept_given_back(*runs, ++version_);
        for (const chunk_range& run : *runs)
            model_.erase(model_.lower_bound(run.first * k_chunk_pages), model_.lower_bound(run.end() * k_chunk_pages));
        return *runs;
    }
    void apply(std::uint64_t page, std::uint64_t seed) {
        page_bytes bytes(seed);
        applied_page applied{page, bytes.span().data(), bytes.checksum()};
        ASSERT_TRUE(store_->writer().apply({&applied, 1}));
        model_[page] = seed;
    }
    void publish(bool clean = true) {
        ++version_;
        auto done = store_->writer().publish({version_, version_ * 3, {1, {}}, clean, format::k_log_header_bytes});
        ASSERT_TRUE(done) << done.why().message;
    }
    void expect_model() {
        std::vector<std::byte> page(k_page_bytes);
        for (std::uint64_t at = 0; at < store_->image().bytes() / k_page_bytes; ++at) {
            auto found = model_.find(at);
            if (found == model_.end() && at % k_chunk_pages > 2)
                continue; // a sample of the zeros will do
            auto read = store_->image().read_pages(at, page);
            ASSERT_TRUE(read) << read.why().message;
            page_bytes wanted(found != model_.end() ? found->second : 0);
            std::vector<std::byte> expected(k_page_bytes);
            if (found != model_.end())
                expected.assign(wanted.span().begin(), wanted.span().end());
            ASSERT_EQ(page, expected) << "page " << at;
        }
    }
    /// Runs `f` on the closed file.
    void edit(const std::function<void(os::file&)>& f) {
        store_.reset();
        auto file = std::move(*disk_.open(k_path, os::access::read_write));
        f(*file);
    }
    void flip(std::uint64_t offset) {
        edit([&](os::file& file) {
            std::byte b{};
            ASSERT_TRUE(file.read(offset, {&b, 1}));
            b ^= std::byte{0x20};
            ASSERT_TRUE(file.write("test", offset, {&b, 1}));
        });
    }
    void edit_superblock(std::uint64_t place, const std::function<void(format::superblock&)>& change,
                         bool reseal = true) {
        edit([&](os::file& file) {
            format::superblock s{};
            ASSERT_TRUE(file.read(place * format::k_superblock_bytes, std::as_writable_bytes(std::span(&s, 1))));
            change(s);
            if (reseal)
                s.checksum =
                    checksum64(std::as_bytes(std::span(&s, 1)).first(offsetof(format::superblock, checksum)), place);
            ASSERT_TRUE(file.write("test", place * format::k_superblock_bytes, std::as_bytes(std::span(&s, 1))));
        });
    }

    simulation::simulated_disk disk_;
    std::unique_ptr<heap_file> store_;
    std::uint64_t version_ = 0;
    std::map<std::uint64_t, std::uint64_t> model_; // page: seed of its contents
};

} // namespace remanence::store
