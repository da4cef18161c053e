// A page of the heap file that an area_reference of the superblock names.
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace remanence::store {

using recorded_page = std::array<std::byte, k_page_bytes>;

/// Reads the page. errc::corrupt if it does not fit the reference; `what` names the page in the message. Precondition:
/// area.bytes is not 0.
result<recorded_page> read_recorded_page(os::file& file, const format::area_reference& area, const std::string& what);
/// Returns the errc::corrupt failure for a page that does not fit its reference.
unexpected damaged_page(const os::file& file, const format::area_reference& area, const std::string& what,
                        const std::string& why);

} // namespace remanence::store
