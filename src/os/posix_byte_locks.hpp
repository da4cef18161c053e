// Byte locks of a real file.
#pragma once

#include "os/byte_locks.hpp"

#include <memory>
#include <string>

namespace remanence::os {

/// Takes over `descriptor`, which must be an open file description of its own, used for nothing else. `path` is for
/// messages.
std::unique_ptr<byte_locks> posix_byte_locks(int descriptor, std::string path);

} // namespace remanence::os
