#include "txn/name_file.hpp"

#include <utility>

namespace remanence::txn {

unexpected name_file(const char* before, const std::string& path, failure why) {
    why.message = before + path + ": " + why.message;
    why.path = path;
    return unexpected(std::move(why));
}

} // namespace remanence::txn
