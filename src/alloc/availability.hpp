// A measure of fragmentation. Depends on the standard library only.
#pragma once

#include <array>
#include <cstdint>

namespace remanence::alloc {

/// Measures how well free memory serves requests, compared with the same amount of memory in one piece. For each power
/// of two r, from 16 bytes to the sum of all pieces: the bytes that requests of size r could get, divided by the bytes
/// that they could get from one piece. The result is the mean of these shares; 1 if nothing is free.
class availability_sum {
public:
    void add(std::uint64_t piece_bytes, std::uint64_t count = 1);
    [[nodiscard]] double value() const;
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    static constexpr std::uint32_t k_least = 4; // 16 bytes
    static constexpr std::uint32_t k_most = 45;
    std::array<std::uint64_t, k_most> served_{}; // bytes served; the index is the logarithm of the request
    std::uint64_t bytes_ = 0;
};

} // namespace remanence::alloc
