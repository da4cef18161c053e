// Limits of the process, the system or the disk that a system call may meet: one place knows which code and advice each has.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string_view>

namespace remanence::os {

struct limit {
    errc code;
    std::string_view advice; // a sentence or two
};

/// The limit that this error number tells of; none: it tells of something else.
[[nodiscard]] std::optional<limit> limit_met(int code) noexcept;

} // namespace remanence::os
