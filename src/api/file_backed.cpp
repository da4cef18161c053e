// Makes the errors of file_backed containers that cannot be opened or used.

#include "api/raise.hpp"

#include <remanence/file_backed.hpp>

namespace remanence::detail {

void require_one_container(const heap& file) {
    for (const root_info& root : file.roots()) {
        if (root.name == k_container_root)
            continue;
        raise(failure{errc::type_mismatch,
                      file.path().string() + " is a heap of roots, not the file of one container: it holds \"" +
                          root.name + "\" of type " + root.type + ". Open it by heap::open(), or choose another file.",
                      file.path().string()});
    }
}

void raise_no_container(const heap& file) {
    raise(failure{errc::not_found,
                  file.path().string() + " holds no container yet, and is to be read only. Open it for writing once.",
                  file.path().string()});
}

void raise_closed_container() {
    raise(failure{errc::closed, "the container's file is closed, or its handle was moved from. Open it again."});
}

} // namespace remanence::detail
