// Demangles names with the function of the C++ library.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace remanence::detail {

struct free_deleter {
    void operator()(char* text) const noexcept { std::free(text); } // NOLINT(cppcoreguidelines-no-malloc)
};

/// Returns the readable name; returns `mangled` itself if it is no mangled name.
inline std::string demangle(const char* mangled) {
    int status = 0;
    const std::unique_ptr<char, free_deleter> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status));
    return status == 0 && text ? std::string(text.get()) : std::string(mangled);
}

} // namespace remanence::detail
