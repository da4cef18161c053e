#include "api/heap_origin.hpp"

#include "api/raise.hpp"

#include <system_error>

namespace remanence::detail {

[[gnu::tls_model("initial-exec")]] constinit thread_local scopes_end t_end_new_scopes = nullptr;

void raise_in_new_scope(const char* what) {
    end_new_scopes(); // the message needs memory, which must not come from the scope's heap
    raise(errc::invalid_argument,
          std::string(what) + " was used in a scope of new_in (rem_malloc_into), where the library's own memory would "
                              "come from that scope's heap. The scope has ended; let it enclose the calls that "
                              "are to allocate in the heap, and no others.");
}

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
