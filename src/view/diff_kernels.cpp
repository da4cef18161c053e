// Three kernels, of which the machine's best one is used. Where pages are in a cache, as those of small transactions are,
// AVX-512 needs a sixth to a third less time than AVX2 (bench/results/decisions.md, "Comparing pages").

#include "view/diff_kernels.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace remanence::view {

namespace {

constexpr std::size_t k_mask_bytes = k_diff_unit_bytes * k_diff_units_per_mask; // bytes of a page for each mask

std::uint64_t scalar_mask(const std::byte* before, const std::byte* after) {
    if (std::memcmp(before, after, k_mask_bytes) == 0)
        return 0;
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < k_diff_units_per_mask; ++i) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, before + i * k_diff_unit_bytes, k_diff_unit_bytes);
        std::memcpy(&b, after + i * k_diff_unit_bytes, k_diff_unit_bytes);
        mask |= std::uint64_t{a != b} << i;
    }
    return mask;
}

bool compare_scalar(const std::byte* before, const std::byte* after, diff_masks& masks) {
    std::uint64_t any = 0;
    for (std::size_t m = 0; m < k_diff_masks; ++m)
        any |= masks[m] = scalar_mask(before + m * k_mask_bytes, after + m * k_mask_bytes);
    return any != 0;
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] __m256i avx2_same(const std::byte* before, const std::byte* after) {
    return _mm256_cmpeq_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(before)),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(after)));
}

[[gnu::target("avx2")]] std::uint64_t avx2_bits(__m256i same) {
    return static_cast<std::uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) ^ 15U;
}

// Compares four vectors at a time, and computes their bits only if one of them differs. The code for the bits is out of
// line, so equal pages take as long as in memcmp; a jump over that code would make them up to 1.2 times slower.
[[gnu::target("avx2")]] bool compare_avx2(const std::byte* before, const std::byte* after, diff_masks& masks) {
    constexpr std::size_t k_vector = sizeof(__m256i);
    constexpr std::size_t k_group = 4 * k_vector;
    std::uint64_t any = 0;
    for (std::uint64_t& each : masks) {
        std::uint64_t mask = 0;
        for (std::size_t at = 0; at < k_mask_bytes; at += k_group, before += k_group, after += k_group) {
            const __m256i a = avx2_same(before, after);
            const __m256i b = avx2_same(before + k_vector, after + k_vector);
            const __m256i c = avx2_same(before + 2 * k_vector, after + 2 * k_vector);
            const __m256i d = avx2_same(before + 3 * k_vector, after + 3 * k_vector);
            const __m256i all = _mm256_and_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, d));
            if (_mm256_movemask_epi8(all) != -1) [[unlikely]]
                mask |= (avx2_bits(a) | avx2_bits(b) << 4 | avx2_bits(c) << 8 | avx2_bits(d) << 12)
                        << at / k_diff_unit_bytes;
        }
        any |= each = mask;
    }
    return any != 0;
}

[[gnu::target("avx512f")]] __m512i avx512_difference(const std::byte* before, const std::byte* after) {
    return _mm512_xor_si512(_mm512_loadu_si512(before), _mm512_loadu_si512(after));
}

[[gnu::target("avx512f")]] std::uint64_t avx512_bits(__m512i difference) {
    return _mm512_test_epi64_mask(difference, difference);
}

// Works like compare_avx2().
[[gnu::target("avx512f")]] bool compare_avx512(const std::byte* before, const std::byte* after, diff_masks& masks) {
    constexpr std::size_t k_vector = sizeof(__m512i);
    constexpr std::size_t k_group = 4 * k_vector;
    std::uint64_t any = 0;
    for (std::uint64_t& each : masks) {
        std::uint64_t mask = 0;
        for (std::size_t at = 0; at < k_mask_bytes; at += k_group, before += k_group, after += k_group) {
            const __m512i a = avx512_difference(before, after);
            const __m512i b = avx512_difference(before + k_vector, after + k_vector);
            const __m512i c = avx512_difference(before + 2 * k_vector, after + 2 * k_vector);
            const __m512i d = avx512_difference(before + 3 * k_vector, after + 3 * k_vector);
            const __m512i all = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
            if (avx512_bits(all) != 0) [[unlikely]]
                mask |= (avx512_bits(a) | avx512_bits(b) << 8 | avx512_bits(c) << 16 | avx512_bits(d) << 24)
                        << at / k_diff_unit_bytes;
        }
        any |= each = mask;
    }
    return any != 0;
}

#endif

constexpr diff_kernel k_all[] = {
#if defined(__x86_64__)
    {"avx512", [] { return __builtin_cpu_supports("avx512f") != 0; }, compare_avx512},
    {"avx2", [] { return __builtin_cpu_supports("avx2") != 0; }, compare_avx2},
#endif
    {"scalar", [] { return true; }, compare_scalar},
};

} // namespace

std::span<const diff_kernel> diff_kernels() { return k_all; }

} // namespace remanence::view
