// Names the file in failures of those below, who know no files.
#pragma once

#include "base/result.hpp"

#include <string>
#include <utility>

namespace remanence::txn {

inline unexpected name_file(const std::string& before, const std::string& path, failure why) {
    why.message = before + path + ": " + why.message;
    why.path = path;
    return unexpected(std::move(why));
}

} // namespace remanence::txn
