// The bytes of an open heap, copied to another address: what holds no address is the same there.
#pragma once

#include <remanence/heap.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace remanence::test {

/// For reading only.
class heap_bytes_elsewhere {
public:
    explicit heap_bytes_elsewhere(const heap& of)
        : base_(static_cast<const std::byte*>(of.base())),
          bytes_(of.stats().heap_bytes),
          mapping_(::mmap(nullptr, mapping_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0)) {
        if (mapping_ == MAP_FAILED)
            throw std::bad_alloc();
        void* aligned = mapping_;
        std::size_t bytes = mapping_bytes();
        copy_ = std::align(k_alignment, bytes_, aligned, bytes);
        std::memcpy(copy_, base_, bytes_);
    }
    heap_bytes_elsewhere(const heap_bytes_elsewhere&) = delete;
    heap_bytes_elsewhere& operator=(const heap_bytes_elsewhere&) = delete;
    ~heap_bytes_elsewhere() { ::munmap(mapping_, mapping_bytes()); }

    /// The object that corresponds to one in the heap.
    template <class T>
    [[nodiscard]] const T& at(const T& original) const {
        const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&original) - base_);
        return *reinterpret_cast<const T*>(static_cast<const std::byte*>(copy_) + offset);
    }

private:
    static constexpr std::size_t k_alignment = std::size_t{1} << 30; // as that of every heap
    [[nodiscard]] std::size_t mapping_bytes() const { return bytes_ + k_alignment; }

    const std::byte* base_;
    std::size_t bytes_;
    void* mapping_;
    void* copy_ = nullptr;
};

} // namespace remanence::test
