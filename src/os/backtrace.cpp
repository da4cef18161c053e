#include "os/backtrace.hpp"

#include <algorithm>
#include <cstdlib>
#include <execinfo.h>
#include <memory>

namespace remanence::os {

void note_calls(void** calls, std::size_t count) noexcept {
    const auto found = static_cast<std::size_t>(std::max(::backtrace(calls, static_cast<int>(count)), 0));
    std::fill(calls + found, calls + count, nullptr);
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
