// Blocks of heaps with files against a model of what the program believes to have: random requests, changes of size, frees, commits,
// rollbacks and openings, in heaps with each option that has to do with memory.
#include "fixture.hpp"

#include "base/units.hpp"
#include "support/seed.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace remanence::test {

namespace {

enum class kind_of_heap { usual, aligned, guarded, limited };
constexpr kind_of_heap k_kinds[] = {kind_of_heap::usual, kind_of_heap::aligned, kind_of_heap::guarded,
                                    kind_of_heap::limited};

class believed_blocks {
public:
    explicit believed_blocks(kind_of_heap kind) : kind_(kind) { open(); }
    believed_blocks(const believed_blocks&) = delete;
    believed_blocks& operator=(const believed_blocks&) = delete;
    ~believed_blocks() { EXPECT_OK(rem_close(heap_)); }

    void allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = alignment == 1 ? rem_alloc(heap_, bytes) : rem_alloc_aligned(heap_, alignment, bytes);
        ASSERT_NE(block, nullptr);
        ASSERT_TRUE(is_aligned(reinterpret_cast<std::uintptr_t>(block), alignment));
        add(block, bytes);
    }
    void reallocate(std::size_t nth, std::size_t bytes) {
        const auto [at, was] = *nth_block(nth);
        auto* const moved = static_cast<unsigned char*>(rem_realloc(heap_, reinterpret_cast<void*>(at), bytes));
        now_.erase(at);
        ASSERT_NE(moved, nullptr);
        const std::size_t kept = std::min(was.bytes, bytes);
        ASSERT_EQ(std::count(moved, moved + kept, was.fill), static_cast<std::ptrdiff_t>(kept));
        add(moved, bytes);
    }
    void free(std::size_t nth) {
        const auto at = nth_block(nth);
        expect_intact(*at);
        EXPECT_OK(rem_free(reinterpret_cast<void*>(at->first)));
        EXPECT_STATUS(rem_free(reinterpret_cast<void*>(at->first)), REM_INVALID_ARGUMENT);
        now_.erase(at);
    }
    void commit() {
        EXPECT_OK(rem_commit(heap_, REM_DURABLE));
        committed_ = now_;
        rem_stats stats{};
        stats.size = sizeof stats;
        EXPECT_OK(rem_get_stats(heap_, &stats));
        evicted_bytes_ = std::max(evicted_bytes_, stats.evicted_bytes);
    }
    void roll_back() {
        EXPECT_OK(rem_rollback(heap_));
        now_ = committed_;
        expect_all_intact();
    }
    void reopen() {
        EXPECT_OK(rem_close(heap_));
        open();
        now_ = committed_;
        are_noted_ = now_.empty();
        expect_all_intact();
    }
    void expect_all_intact() {
        for (const auto& each : now_)
            expect_intact(each);
        EXPECT_OK(rem_verify(heap_, nullptr, nullptr, nullptr));
        rem_report report{};
        report.size = sizeof report;
        EXPECT_OK(rem_verify(heap_, &report, nullptr, nullptr));
        EXPECT_EQ(report.blocks_checked, now_.size());
        if (kind_ == kind_of_heap::guarded && are_noted_) {
            EXPECT_EQ(noted_bytes(),
                      std::accumulate(now_.begin(), now_.end(), std::size_t{0},
                                      [](std::size_t sum, const auto& each) { return sum + each.second.asked; }));
        }
    }
    [[nodiscard]] bool is_empty() const { return now_.empty(); }
    [[nodiscard]] std::uint64_t evicted_bytes() const { return evicted_bytes_; }

private:
    struct content {
        std::size_t asked;
        std::size_t bytes; // usable
        unsigned char fill;
    };
    using blocks = std::map<std::uintptr_t, content>;

    void open() {
        rem_options options = options_of(REM_SNAPSHOT);
        options.aligned_blocks = kind_ == kind_of_heap::aligned;
        options.red_zones = kind_ == kind_of_heap::guarded;
        options.leak_frames = kind_ == kind_of_heap::guarded ? 4 : 0;
        ASSERT_OK(rem_open((dir_ / "h").c_str(), &options, &heap_));
        if (kind_ == kind_of_heap::limited) {
            ASSERT_OK(rem_limit_memory(heap_, MiB));
        }
    }
    /// What the heap knows to be requested: no root reaches any block.
    [[nodiscard]] std::size_t noted_bytes() const {
        std::size_t bytes = 0;
        const auto add_places = [](void* sum, const rem_leaks* leaks) {
            for (std::size_t i = 0; i != leaks->place_count; ++i)
                *static_cast<std::size_t*>(sum) += leaks->places[i].requested_bytes;
        };
        EXPECT_OK(rem_find_leaks(heap_, add_places, &bytes));
        return bytes;
    }
    blocks::iterator nth_block(std::size_t nth) {
        return std::next(now_.begin(), static_cast<std::ptrdiff_t>(nth % now_.size()));
    }
    void add(void* block, std::size_t bytes) {
        const auto at = reinterpret_cast<std::uintptr_t>(block);
        const std::size_t usable = rem_usable_size(block);
        ASSERT_GE(usable, std::max<std::size_t>(bytes, 1));
        if (kind_ == kind_of_heap::aligned) {
            ASSERT_TRUE(is_aligned(at, std::min<std::size_t>(usable & -usable, 64 * KiB))) << usable << " bytes";
        }
        const auto next = now_.lower_bound(at);
        ASSERT_TRUE(next == now_.end() || at + usable <= next->first);
        ASSERT_TRUE(next == now_.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= at);
        const auto fill = static_cast<unsigned char>(++count_);
        std::memset(block, fill, usable);
        now_[at] = {bytes, usable, fill};
    }
    void expect_intact(const blocks::value_type& of) const {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(of.first);
        EXPECT_EQ(rem_usable_size(bytes), of.second.bytes);
        EXPECT_EQ(std::count(bytes, bytes + of.second.bytes, of.second.fill),
                  static_cast<std::ptrdiff_t>(of.second.bytes));
    }

    const temp_dir dir_ = temp_dir::in_memory();
    const kind_of_heap kind_;
    rem_heap* heap_ = nullptr;
    bool are_noted_ = true;
    std::uint64_t evicted_bytes_ = 0;
    blocks now_;
    blocks committed_;
    unsigned count_ = 0;
};

/// Mostly small, at times up to 256 KiB, and rarely up to 2 MiB: such blocks move by page tables.
std::size_t size_of(std::uint32_t seed) {
    const std::uint32_t width = seed % 64 == 0 ? 21 : seed % 32 == 0 ? 18 : seed % 4 == 0 ? 13 : 8;
    return (seed / 32) % (1U << width);
}

/// Returns how many bytes were evicted.
std::uint64_t run(const std::vector<std::uint32_t>& seeds, kind_of_heap kind) {
    believed_blocks tested(kind);
    for (const std::uint32_t seed : seeds) {
        const std::uint32_t left = seed / 16;
        switch (seed % 16) {
        case 0:
            tested.commit();
            break;
        case 1:
            left % 2 == 0 ? tested.roll_back() : tested.reopen();
            break;
        case 2:
            tested.allocate(size_of(left), std::size_t{1} << left % 16);
            break;
        default:
            if (tested.is_empty() || seed % 16 < 9)
                tested.allocate(size_of(left), 1);
            else if (seed % 16 < 13)
                tested.free(left);
            else
                tested.reallocate(left, size_of(left));
        }
        if (testing::Test::HasFatalFailure())
            return 0;
    }
    tested.expect_all_intact();
    return tested.evicted_bytes();
}

RC_GTEST_PROP(c_memory_model, blocks_are_disjoint_aligned_and_intact, (const std::vector<std::uint32_t>& seeds)) {
    for (const kind_of_heap kind : k_kinds)
        run(seeds, kind);
    RC_ASSERT(!testing::Test::HasFailure());
}

TEST(c_memory_model_long, thousands_of_random_operations_leave_blocks_intact) {
    std::mt19937 random(test::random_seed());
    std::vector<std::uint32_t> seeds(2000);
    for (const kind_of_heap kind : k_kinds) {
        std::generate(seeds.begin(), seeds.end(), random);
        const std::uint64_t evicted_bytes = run(seeds, kind);
        EXPECT_EQ(evicted_bytes != 0, kind == kind_of_heap::limited);
    }
}

} // namespace

} // namespace remanence::test
