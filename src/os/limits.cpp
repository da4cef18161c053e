#include "os/limits.hpp"

#include <cerrno>

namespace remanence::os {

std::optional<limit> limit_met(int code) noexcept {
    switch (code) {
    case ENOSPC:
    case EDQUOT:
        return limit{errc::no_space, "Make room on the disk (or raise the quota) and try again."};
    case EFBIG:
        return limit{errc::no_space,
                     "Raise the limit of the size of files (ulimit -f) if there is one, and try again; the file system "
                     "may have one, too."};
    case EMFILE:
    case ENFILE:
        return limit{errc::no_space, "Close other files, or raise the limit (ulimit -n), and try again."};
    case ENOMEM:
        return limit{errc::no_memory,
                     "Free memory, or raise the limits on memory and address space (ulimit -v, the control group's) "
                     "and on mappings (vm.max_map_count), and try again."};
    default:
        return {};
    }
}

} // namespace remanence::os
