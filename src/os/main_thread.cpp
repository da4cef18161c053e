#include "os/main_thread.hpp"

#include <unistd.h>

namespace remanence::os {

bool is_main_thread() noexcept { return ::gettid() == ::getpid(); }

} // namespace remanence::os
