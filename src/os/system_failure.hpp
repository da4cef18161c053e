// Makes an error from a failed system call on a file, with advice.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>

namespace remanence::os {

/// `code` is an errno number. `operation` tells what failed, for example "cannot read".
[[nodiscard]] unexpected system_failure(int code, const std::string& operation, const std::string& path,
                                        std::uint64_t offset = error::k_no_offset);

} // namespace remanence::os
