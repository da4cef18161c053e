// A range of reserved addresses with an allocator over it, which becomes accessible in small steps: whatever strays
// outside is trapped.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/units.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace remanence::alloc {

struct test_heap_options {
    std::uint64_t limit_bytes = 4 * GiB;
    std::uint64_t step_bytes = 64 * KiB;
};

class test_heap {
public:
    using options = test_heap_options;
    static constexpr std::uint64_t k_state_offset = 1024;

    explicit test_heap(options chosen = {}) : options_(chosen) {
        reserved_ = ::mmap(nullptr, chosen.limit_bytes + k_alignment_max, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved_ == MAP_FAILED)
            throw std::bad_alloc();
        base_ = reinterpret_cast<std::byte*>(align_up(reinterpret_cast<std::uintptr_t>(reserved_), k_alignment_max));
        make_accessible(k_page_bytes);
        block_allocator::format(state());
        open();
    }
    test_heap(const test_heap&) = delete;
    test_heap& operator=(const test_heap&) = delete;
    ~test_heap() { ::munmap(reserved_, options_.limit_bytes + k_alignment_max); }

    /// Makes the allocator anew over the same memory, as a reopened heap does.
    void open() {
        allocator_ = std::make_unique<block_allocator>(
            base_, state(), [this](std::uint64_t end) { return extend(end); }, options_.limit_bytes, accessible_bytes_);
    }

    block_allocator& operator*() { return *allocator_; }
    block_allocator* operator->() { return allocator_.get(); }
    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] format::alloc_state& state() const {
        return *reinterpret_cast<format::alloc_state*>(base_ + k_state_offset);
    }
    [[nodiscard]] std::uint64_t accessible_bytes() const { return accessible_bytes_; }
    [[nodiscard]] std::uint64_t offset_of(const void* address) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_);
    }

    /// From the nth call on, the range does not grow.
    void fail_extension(std::uint64_t nth) { failing_from_ = extension_count_ + nth; }
    [[nodiscard]] bool next_extension_fails() const { return extension_count_ + 1 >= failing_from_; }
    void allow_extension() { failing_from_ = ~std::uint64_t{0}; }
    [[nodiscard]] std::uint64_t extension_count() const { return extension_count_; }

    [[nodiscard]] std::vector<std::byte> snapshot() const { return {base_, base_ + accessible_bytes_}; }
    /// What lies behind the snapshot had never been written then, so it becomes zero.
    void restore(const std::vector<std::byte>& contents) {
        std::memcpy(base_, contents.data(), contents.size());
        std::memset(base_ + contents.size(), 0, accessible_bytes_ - contents.size());
    }

    [[nodiscard]] std::uint64_t nonzero_pages() const {
        std::uint64_t count = 0;
        const std::vector<std::byte> zeros(k_page_bytes);
        for (std::uint64_t at = 0; at < accessible_bytes_; at += k_page_bytes)
            count += std::memcmp(base_ + at, zeros.data(), k_page_bytes) != 0;
        return count;
    }

private:
    result<std::uint64_t> extend(std::uint64_t end) {
        EXPECT_GT(end, accessible_bytes_) << "asked for what it had";
        if (++extension_count_ >= failing_from_)
            return fail(errc::no_space, "the test lets no more be had");
        make_accessible(align_up(end, options_.step_bytes));
        return accessible_bytes_;
    }
    void make_accessible(std::uint64_t end) {
        accessible_bytes_ = std::min(end, options_.limit_bytes);
        if (::mprotect(base_, accessible_bytes_, PROT_READ | PROT_WRITE) != 0)
            throw std::bad_alloc();
    }

    options options_;
    void* reserved_ = nullptr;
    std::byte* base_ = nullptr;
    std::uint64_t accessible_bytes_ = 0;
    std::uint64_t extension_count_ = 0;
    std::uint64_t failing_from_ = ~std::uint64_t{0};
    std::unique_ptr<block_allocator> allocator_;
};

inline testing::AssertionResult is_sound(const block_allocator& allocator) {
    std::string problems;
    const auto count = allocator.check_invariants([&](std::uint64_t offset, std::string_view what) {
        problems.append("\n  ").append(std::to_string(offset)).append(": ").append(what);
    });
    if (count == 0 && !allocator.damaged())
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << count << " problems" << problems;
}

using random_engine = std::mt19937_64;

inline std::size_t random_below(random_engine& random, std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

/// A request, and the block that met it.
struct live_block {
    void* address;
    std::size_t bytes;
    std::size_t alignment;
};

} // namespace remanence::alloc
