// Adds the file's path to failures of lower layers, which do not know it.
#pragma once

#include "base/result.hpp"

#include <string>

namespace remanence::txn {

[[gnu::cold]] unexpected name_file(const char* before, const std::string& path, failure why);

} // namespace remanence::txn
