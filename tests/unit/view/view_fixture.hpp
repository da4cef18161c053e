// The view over a store on a simulated disk, with each tracker. Commits are made as the engine makes them, less the
// log.
#pragma once

#include "view/memory_view.hpp"

#include "unit/store/store_fixture.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace remanence::view {
using change::change_set;
using change::commit_scope;
using change::fresh_contents;
using change::whole_chunk;
using store::k_chunk;
using store::k_chunk_pages;

class view_with_tracker : public store::store_on_disk, public testing::WithParamInterface<track::tracker_choice> {
protected:
    void SetUp() override {
        store_on_disk::SetUp();
        open();
    }
    void TearDown() override { view_.reset(); }
    void open() {
        auto place = os::reservation::at_random(256 * MiB);
        ASSERT_TRUE(place);
        auto opened = view::memory_view::open(*store_, std::move(*place), {GetParam(), false, false});
        if (!opened && opened.why().code == errc::not_supported)
            GTEST_SKIP() << opened.why().message;
        ASSERT_TRUE(opened) << opened.why().message;
        view_ = std::move(*opened);
        ASSERT_TRUE(view_->memory().make_accessible(k_bytes));
    }
    std::byte* base() { return view_->base(); }
    std::vector<std::byte> memory() { return {base(), base() + k_bytes}; }
    void put(std::uint64_t page, std::uint64_t at, std::uint8_t value) {
        base()[page * k_page_bytes + at] = static_cast<std::byte>(value);
    }
    result<change_set> try_to_collect(const page_predicate& is_unused) {
        EXPECT_TRUE(view_->collector().gather());
        return view_->collector().collect(is_unused, ~std::uint64_t{0}, fresh_);
    }
    change_set collect() {
        auto changes = try_to_collect(nothing_is_unused);
        EXPECT_TRUE(changes) << changes.why().message;
        return std::move(*changes);
    }
    static bool nothing_is_unused(std::uint64_t) { return false; }
    /// All of a commit after collect().
    void make_durable(change_set changes, commit_scope scope = commit_scope::everything) {
        view_->collector().make_checksums(changes);
        for (whole_chunk& fresh : changes.fresh) {
            ASSERT_TRUE(store_->room().add_regions((fresh.chunk + 1) * k_chunk));
            ASSERT_TRUE(store_->room().reserve_map(1));
            ASSERT_TRUE(store_->room().extend_to_fresh(fresh.chunk));
            for (std::uint64_t i = 0; i < k_chunk_pages; ++i) {
                const std::uint64_t page = fresh.chunk * k_chunk_pages + i;
                if (fresh.checksums[i] != 0) {
                    ASSERT_TRUE(store_->whole_chunks().write_fresh(page, {base() + page * k_page_bytes, k_page_bytes}));
                }
            }
            store_->whole_chunks().accept_fresh(fresh.chunk, fresh.checksums, ++version_);
        }
        if (scope == commit_scope::declared) {
            view_->renew_declared(changes);
            view_->accept_declared(changes);
        } else {
            view_->accept(changes);
        }
    }
    void commit() { make_durable(collect()); }
    enum class settling { no, yes, beside_other_changes };
    void checkpoint(bool settle) { checkpoint(settle ? settling::yes : settling::no); }
    void checkpoint(settling settle) {
        auto before_images = view_->committed().before_image_pages();
        ASSERT_TRUE(store_->writer().apply(before_images));
        ASSERT_TRUE(store_->writer().publish({++version_, 1, {1, {}}, true, format::k_log_header_bytes}));
        if (settle != settling::no) {
            ASSERT_TRUE(
                view_->settler().settle(settle == settling::yes ? commit_scope::everything : commit_scope::declared));
        }
        view_->settler().drop_before_images();
    }

    static constexpr std::uint64_t k_bytes = 4 * MiB;
    static constexpr std::uint64_t k_pages = k_bytes / k_page_bytes;
    std::unique_ptr<view::memory_view> view_;
    fresh_contents fresh_ = fresh_contents::in_copy; // of collect()
};

inline std::string name_of_tracker(const testing::TestParamInfo<track::tracker_choice>& tier) {
    return tier.param == track::tracker_choice::scan   ? "scan"
           : tier.param == track::tracker_choice::trap ? "trap"
                                                       : "fallback";
}

inline const auto k_all_trackers =
    testing::Values(track::tracker_choice::scan, track::tracker_choice::trap, track::tracker_choice::fallback);

} // namespace remanence::view
