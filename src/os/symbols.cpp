#include "os/symbols.hpp"

#include <cstring>
#include <dlfcn.h>

namespace remanence::os {

void* find_symbol(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

bool is_in_module(const void* function, const char* part_of_name) noexcept {
    Dl_info found{};
    return ::dladdr(function, &found) != 0 && found.dli_fname != nullptr &&
           std::strstr(found.dli_fname, part_of_name) != nullptr;
}

} // namespace remanence::os
