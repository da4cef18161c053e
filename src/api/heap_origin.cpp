#include "api/heap_origin.hpp"

#include "api/raise.hpp"

#include <system_error>

namespace remanence::detail {

void heap_origin::raise_in_child() const {
    raise(errc::closed,
          path.string() +
              " was opened before fork(): the heap belongs to the parent process. Open it in the child itself.",
          path.string());
}

void heap_origin::raise_ended() const {
    raise(errc::closed,
          path.string() + " is closed: its heap was destroyed, perhaps since the process ends. End the threads and "
                          "sections that use a heap before it is destroyed.",
          path.string());
}

void heap_origin::raise_read_only() const {
    raise(errc::read_only, path.string() + " is open read-only. Open it for writing to change it.", path.string());
}

std::filesystem::path real_path(const std::filesystem::path& path) {
    std::error_code unknown;
    std::filesystem::path place = std::filesystem::absolute(path, unknown);
    if (!unknown)
        place = std::filesystem::weakly_canonical(place, unknown);
    return unknown ? path : place;
}

} // namespace remanence::detail
