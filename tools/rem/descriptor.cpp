#include "descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace remanence::tool {

void take_standard_descriptors() noexcept {
    int opened = 0;
    while (opened >= 0 && opened <= STDERR_FILENO)
        opened = ::open("/", O_PATH | O_CLOEXEC);
    if (opened >= 0)
        ::close(opened); // the first one beyond the standard descriptors
}

} // namespace remanence::tool
