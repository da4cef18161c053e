// Keeps the heap, and each arena, within its limit of resident memory. One mechanism for both: at the end of a section
// that leaves more resident than the limit, committed content that the file has is evicted until 7/8 of the limit are
// left. What the image lacks stays, with its before-images; if that is a quarter of the limit or more, a checkpoint is
// due. Uncommitted changes stay.
//
// Counting resident pages takes O(pages). So they are counted only if the process's resident memory has grown by what
// was left of a limit at the last count, but at least a sixteenth of it, or if 50 times as much time has passed as that
// count took.
//
// Which pages are used often is not known, so a hand goes round, as in the clock algorithm but without a second chance.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "txn/memory_limiter.hpp"
#include "view/page_evictor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace remanence::txn {

class resident_limits final : public memory_limiter {
public:
    explicit resident_limits(const limited_heap& of);

    void keep_within_limits() noexcept override;
    void keep_within_limits_beside_readers() noexcept override;
    void limit_heap(std::uint64_t bytes) override;
    void count_each_time() override { counts_each_time_ = true; }
    [[nodiscard]] usage resident() const override;
    [[nodiscard]] std::uint64_t evicted_bytes() const override { return evicted_bytes_; }
    [[nodiscard]] std::uint64_t evicted_bytes(const std::byte* arena) const override;

private:
    using beside = view::page_evictor::beside;
    using clock = std::chrono::steady_clock;
    /// What is limited: an arena, or the whole heap.
    struct limited {
        std::uint64_t offset = 0;
        std::uint64_t hand = 0; // where eviction goes on
        std::uint64_t evicted_bytes = 0;
    };

    [[nodiscard]] bool is_count_due();
    void keep_if_due(beside whom) noexcept;
    result<void> keep(beside whom);
    /// Evicts pages of the range. Notes if more than the limit stays.
    result<void> keep(limited& of, heap_range where, std::uint64_t limit_bytes, beside whom);
    limited& state_of(std::uint64_t arena);

    const limited_heap of_;
    // Guarded by at_store.
    view::page_evictor evictor_;
    std::uint64_t limit_bytes_; // of the whole heap; 0: none
    limited heap_;
    std::vector<limited> arenas_;
    std::uint64_t growth_ = 0; // of the process, at which to count again
    bool counts_each_time_ = false;
    bool was_within_ = true;                // after the last count
    std::uint64_t checkpoints_counted_ = 0; // at the last count
    std::uint64_t process_bytes_ = 0;       // resident memory of the process, least since the last count
    clock::time_point count_again_{};
    std::atomic<std::uint64_t> evicted_bytes_ = 0;
};

} // namespace remanence::txn
