// A pointer stored as a distance from its own address. A structure with only such pointers works at any address, if it
// is copied as a whole. Depends on the standard library only.
#pragma once

#include <cstdint>

namespace remanence::detail {

/// Null, or a pointer to a T that does not lie at the link's own address. Not copyable, since the distance depends on
/// that address.
template <class T>
class link {
public:
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    ~link() = default;

    // Unsigned arithmetic: pointer arithmetic needs an array, and link and target may lie in different mappings.
    [[nodiscard]] T* get() const noexcept {
        return distance_ == 0 ? nullptr : reinterpret_cast<T*>(place() + distance_);
    }
    /// Returns the target, which must not be null.
    [[nodiscard]] T& operator*() const noexcept { return *reinterpret_cast<T*>(place() + distance_); }
    void set(const T* to) noexcept { distance_ = to == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(to) - place(); }

private:
    [[nodiscard]] std::uintptr_t place() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }

    std::uintptr_t distance_ = 0; // modulo 2^64
};

static_assert(sizeof(link<int>) == 8);

} // namespace remanence::detail
