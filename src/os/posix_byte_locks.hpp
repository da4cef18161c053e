// Byte locks of a real file.
#pragma once

#include "os/byte_locks.hpp"

#include <memory>
#include <string>

namespace remanence::os {

/// Takes ownership of `descriptor`, which must be an open file description that is used for nothing else. `path`
/// appears in messages.
std::unique_ptr<byte_locks> posix_byte_locks(int descriptor, std::string path);

} // namespace remanence::os
