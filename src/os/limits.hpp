// Limits of the process, the system or the disk that a system call may exceed. Only this file maps them to error codes
// and advice.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string_view>

namespace remanence::os {

struct limit {
    errc code;
    std::string_view advice; // one or two sentences
};

/// Returns the limit that this errno number stands for; nothing if it stands for another error.
[[nodiscard]] std::optional<limit> limit_met(int code) noexcept;

} // namespace remanence::os
