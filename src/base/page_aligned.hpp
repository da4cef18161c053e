// A byte buffer that begins at a page boundary, as direct writes require.
#pragma once

#include "base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace remanence {

/// Has those functions of std::vector<std::byte> that we use. A vector with our own allocator would copy byte by byte.
class page_aligned_bytes {
public:
    page_aligned_bytes() = default;
    explicit page_aligned_bytes(std::size_t bytes, std::byte each = {}) {
        reserve(bytes);
        size_ = bytes;
        std::fill(begin(), end(), each);
    }
    explicit page_aligned_bytes(std::span<const std::byte> bytes) { append(bytes); }
    page_aligned_bytes(const page_aligned_bytes& other) : page_aligned_bytes(std::span<const std::byte>(other)) {}
    page_aligned_bytes(page_aligned_bytes&& other) noexcept { swap(other); }
    page_aligned_bytes& operator=(page_aligned_bytes other) noexcept {
        swap(other);
        return *this;
    }
    ~page_aligned_bytes() = default;

    [[nodiscard]] std::byte* data() { return memory_.get(); }
    [[nodiscard]] const std::byte* data() const { return memory_.get(); }
    [[nodiscard]] std::byte* begin() { return memory_.get(); }
    [[nodiscard]] std::byte* end() { return memory_.get() + size_; }
    [[nodiscard]] const std::byte* begin() const { return memory_.get(); }
    [[nodiscard]] const std::byte* end() const { return memory_.get() + size_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }

    void clear() { size_ = 0; }
    /// reserve(), resize() and append() may throw std::bad_alloc; then they have changed nothing.
    void reserve(std::size_t bytes) {
        if (bytes <= capacity_)
            return;
        owned larger(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{k_page_bytes})));
        if (size_ != 0)
            std::memcpy(larger.get(), memory_.get(), size_);
        memory_ = std::move(larger);
        capacity_ = bytes;
    }
    /// New bytes are zeros.
    void resize(std::size_t bytes) {
        grow(bytes);
        if (bytes > size_)
            std::memset(memory_.get() + size_, 0, bytes - size_);
        size_ = bytes;
    }
    void append(std::span<const std::byte> more) {
        grow(size_ + more.size());
        if (!more.empty())
            std::memcpy(memory_.get() + size_, more.data(), more.size());
        size_ += more.size();
    }

    void swap(page_aligned_bytes& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

private:
    struct freed {
        void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{k_page_bytes}); }
    };
    using owned = std::unique_ptr<std::byte, freed>;

    // Grows at least twofold, so that appending takes amortized constant time per byte.
    void grow(std::size_t bytes) {
        if (bytes > capacity_)
            reserve(std::max(bytes, 2 * capacity_));
    }

    owned memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace remanence
