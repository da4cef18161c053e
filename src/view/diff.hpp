// Finds the bytes of a page that differ.
#pragma once

#include "format/log_record.hpp"
#include "view/diff_kernels.hpp"

#include <cstddef>
#include <vector>

namespace remanence::view {

/// Appends the ranges in which two 4 KiB pages differ, in units of 8 bytes and in order. Adjacent units make one range.
/// In the log each range has a header of 4 bytes, and an unchanged unit would occupy 8, so joining ranges across an
/// unchanged unit never saves space. Uses the first of diff_kernels() that the machine supports.
void diff_pages(const std::byte* before, const std::byte* after, std::vector<format::change_range>& ranges);

/// As above, with a given kernel. Precondition: kernel.is_supported().
void diff_pages(const diff_kernel& kernel, const std::byte* before, const std::byte* after,
                std::vector<format::change_range>& ranges);

} // namespace remanence::view
