// A failed system call on a file as an error that says what to do.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>

namespace remanence::os {

/// `code` is that of errno, `operation` what could not be done, as "cannot read".
[[nodiscard]] unexpected system_failure(int code, const std::string& operation, const std::string& path,
                                        std::uint64_t offset = error::k_no_offset);

} // namespace remanence::os
