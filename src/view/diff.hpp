// Which bytes of a page differ.
#pragma once

#include "format/log_record.hpp"
#include "view/diff_kernels.hpp"

#include <cstddef>
#include <vector>

namespace remanence::view {

/// Appends the differing stretches of two 4 KiB pages, in units of 8 bytes and in order. Touching units make one
/// range; a range costs 4 bytes of log, an unchanged unit 8, so no gap is worth bridging. Compares with the first of
/// diff_kernels() that the machine supports.
void diff_pages(const std::byte* before, const std::byte* after, std::vector<format::change_range>& ranges);

/// The same with a kernel that is supported.
void diff_pages(const diff_kernel& kernel, const std::byte* before, const std::byte* after,
                std::vector<format::change_range>& ranges);

} // namespace remanence::view
