// Memory that is found at another address again and again, with an allocator that knows where it is now, so that
// containers hold no pointer to it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

namespace moving_test {

class arena {
public:
    static constexpr std::size_t k_bytes = std::size_t{1} << 22;

    arena() : base_(map()) { current = this; }
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    ~arena() {
        for (std::byte* each : before_)
            ::munmap(each, k_bytes);
        ::munmap(base_, k_bytes);
    }

    void* allocate(std::size_t bytes) {
        used_ = (used_ + 63) / 64 * 64;
        void* const block = base_ + used_;
        used_ += bytes;
        return used_ <= k_bytes ? block : throw std::bad_alloc();
    }
    /// Where an object that was allocated first is now.
    template <class T>
    [[nodiscard]] T& first() {
        return *std::launder(reinterpret_cast<T*>(base_));
    }
    /// The old place stays taken, and cannot be read any more.
    void move() {
        std::byte* const next = map();
        std::memcpy(next, base_, k_bytes);
        if (::mprotect(base_, k_bytes, PROT_NONE) != 0)
            throw std::runtime_error("mprotect");
        before_.push_back(base_);
        base_ = next;
    }

    static inline arena* current = nullptr;

private:
    static std::byte* map() {
        void* const memory = ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? throw std::bad_alloc() : static_cast<std::byte*>(memory);
    }

    std::byte* base_;
    std::size_t used_ = 0;
    std::vector<std::byte*> before_;
};

/// Never frees.
template <class T>
struct moving {
    using value_type = T;
    moving() = default;
    template <class U>
    moving(const moving<U>&) noexcept {} // NOLINT(google-explicit-constructor)
    T* allocate(std::size_t count) { return static_cast<T*>(arena::current->allocate(count * sizeof(T))); }
    void deallocate(T*, std::size_t) noexcept {}
    friend bool operator==(const moving&, const moving&) { return true; }
};

} // namespace moving_test
