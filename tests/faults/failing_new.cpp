#include "failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

namespace remanence::faults {

allocation_plan& allocations() {
    static allocation_plan plan;
    return plan;
}

namespace {

std::mutex guards_plan; // a heap has threads of its own

bool fails_now() {
    const std::lock_guard guard(guards_plan);
    allocation_plan& plan = allocations();
    if (!plan.armed)
        return false;
    if (plan.left > 0) {
        plan.left--;
        return false;
    }
    if (plan.failed > 0 && !plan.from_then_on)
        return false;
    plan.failed++;
    return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (fails_now())
        throw std::bad_alloc();
    void* got = alignment <= alignof(std::max_align_t)
                    ? std::malloc(bytes)
                    : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (got == nullptr)
        throw std::bad_alloc();
    return got;
}

} // namespace
} // namespace remanence::faults

void* operator new(std::size_t bytes) { return remanence::faults::allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return remanence::faults::allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return remanence::faults::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    remanence::faults::allocation_plan& plan = remanence::faults::allocations();
    const auto failures = [&plan] {
        const std::lock_guard guard(remanence::faults::guards_plan);
        return plan.failed;
    };
    const bool is_first = failures() == 0;
    try {
        return remanence::faults::allocate(bytes, 1);
    } catch (const std::bad_alloc&) {
        const std::lock_guard guard(remanence::faults::guards_plan);
        plan.was_optional = plan.was_optional || is_first;
        return nullptr;
    }
}
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
