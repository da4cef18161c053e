// The bytes of an open heap, copied to another address: what holds no address is the same there.
#pragma once

#include <remanence/heap.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace remanence::test {

/// For reading only.
class heap_bytes_elsewhere {
public:
    explicit heap_bytes_elsewhere(const heap& of)
        : base_(static_cast<const std::byte*>(of.base())),
          bytes_(of.stats().heap_bytes),
          copy_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (copy_ == MAP_FAILED)
            throw std::bad_alloc();
        std::memcpy(copy_, base_, bytes_);
    }
    heap_bytes_elsewhere(const heap_bytes_elsewhere&) = delete;
    heap_bytes_elsewhere& operator=(const heap_bytes_elsewhere&) = delete;
    ~heap_bytes_elsewhere() { ::munmap(copy_, bytes_); }

    /// The object that corresponds to one in the heap.
    template <class T>
    [[nodiscard]] const T& at(const T& original) const {
        const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&original) - base_);
        return *reinterpret_cast<const T*>(static_cast<const std::byte*>(copy_) + offset);
    }

private:
    const std::byte* base_;
    std::size_t bytes_;
    void* copy_;
};

} // namespace remanence::test
