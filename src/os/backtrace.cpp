#include "os/backtrace.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <execinfo.h>
#include <memory>

// The linker defines these, as the ends of the section that REM_ALLOCATES names.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {
[[gnu::visibility("hidden")]] extern const char __start_remanence_allocates[];
[[gnu::visibility("hidden")]] extern const char __stop_remanence_allocates[];
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace remanence::os {

namespace {

constexpr std::size_t k_own_calls_max = 16;

/// Compares numbers, since the address is that of no object.
bool is_in_allocating_function(const void* address) {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    return place >= reinterpret_cast<std::uintptr_t>(+__start_remanence_allocates) &&
           place < reinterpret_cast<std::uintptr_t>(+__stop_remanence_allocates);
}

} // namespace

REM_ALLOCATES void note_calls(void** calls, std::size_t count) noexcept {
    std::array<void*, k_own_calls_max + k_calls_noted_max> all{};
    (void)::backtrace(all.data(), static_cast<int>(k_own_calls_max + count));
    const auto own_end = all.rend() - k_own_calls_max;
    const auto first = std::find_if(own_end, all.rend(), is_in_allocating_function).base();
    std::copy_n(first, count, calls);
}

std::vector<std::string> texts_of_calls(void* const* calls, std::size_t count) {
    const auto known = std::find(calls, calls + count, nullptr) - calls;
    struct free_deleter {
        void operator()(char** texts) const { std::free(texts); } // NOLINT: the C library allocated it
    };
    const std::unique_ptr<char*, free_deleter> texts(::backtrace_symbols(calls, static_cast<int>(known)));
    if (texts == nullptr)
        return {};
    return {texts.get(), texts.get() + known};
}

} // namespace remanence::os
