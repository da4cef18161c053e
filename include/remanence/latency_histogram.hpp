// Counts durations in buckets whose width grows with the duration. Depends on the standard library only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence {

/// A histogram with two buckets for each power of two of nanoseconds, so a reported quantile exceeds the true one by at
/// most half. Durations above about an hour share a bucket. It is a value: copies are independent. Not thread-safe.
class latency_histogram {
public:
    /// One bucket.
    struct bucket {
        std::chrono::nanoseconds up_to; ///< the longest duration in it
        std::uint64_t count;            ///< how many durations are in it
    };

    /// Counts a duration. O(1).
    void add(std::chrono::nanoseconds time) noexcept {
        const auto ns = static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(time.count(), 0));
        ++counts_[index_of(ns)];
        ++count_;
        max_ = std::max(max_, time);
    }

    /// Returns how many durations were counted.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// Returns the longest duration, exactly; 0 when there is none.
    [[nodiscard]] std::chrono::nanoseconds max() const noexcept { return max_; }
    /// Returns a duration that at least `share` (0 to 1) of all counted durations do not exceed: the end of the bucket
    /// in which this share is reached, or max() if that is less. Returns 0 when nothing was counted. quantile(0.5) is
    /// the median.
    [[nodiscard]] std::chrono::nanoseconds quantile(double share) const noexcept {
        const double wanted = share * static_cast<double>(count_);
        std::uint64_t passed = 0;
        for (std::size_t i = 0; i < k_bucket_count; ++i) {
            passed += counts_[i];
            if (counts_[i] != 0 && static_cast<double>(passed) >= wanted)
                return std::min(end_of(i), max_);
        }
        return max_;
    }
    /// Returns the buckets that are not empty, the shortest durations first.
    [[nodiscard]] std::vector<bucket> buckets() const {
        std::vector<bucket> filled;
        for (std::size_t i = 0; i < k_bucket_count; ++i) {
            if (counts_[i] != 0)
                filled.push_back({end_of(i), counts_[i]});
        }
        return filled;
    }

private:
    static constexpr std::size_t k_octaves = 42;
    static constexpr std::size_t k_bucket_count = 2 * k_octaves;

    // 0 and 1 have a bucket each; then [2^k, 1.5·2^k) and [1.5·2^k, 2^(k+1)) alternate.
    static constexpr std::size_t index_of(std::uint64_t ns) noexcept {
        if (ns < 2)
            return static_cast<std::size_t>(ns);
        const auto octave = static_cast<std::size_t>(std::bit_width(ns)) - 1;
        const std::size_t half = (ns >> (octave - 1)) & 1U;
        return std::min(2 * octave + half, k_bucket_count - 1);
    }
    static constexpr std::chrono::nanoseconds end_of(std::size_t index) noexcept {
        if (index < 2)
            return std::chrono::nanoseconds(index);
        const std::uint64_t quarter = std::uint64_t{1} << (index / 2 - 1);
        return std::chrono::nanoseconds((index % 2 == 0 ? 3 : 4) * quarter - 1);
    }

    std::array<std::uint64_t, k_bucket_count> counts_{};
    std::uint64_t count_ = 0;
    std::chrono::nanoseconds max_{};
};

} // namespace remanence
