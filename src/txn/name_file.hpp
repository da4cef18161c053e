// Names the file in failures of lower layers, which know no files.
#pragma once

#include "base/result.hpp"

#include <string>

namespace remanence::txn {

[[gnu::cold]] unexpected name_file(const char* before, const std::string& path, failure why);

} // namespace remanence::txn
