#include "api/raise.hpp"

#include "api/heap_origin.hpp"

namespace remanence::detail {

void raise(const failure& why) {
    end_new_scopes();
    if (why.code == errc::exhausted)
        throw heap_exhausted(why.message);
    throw error(why.code, why.message, why.path, why.os_error, why.offset);
}

void raise(errc code, const std::string& message, const std::string& path) { raise(failure{code, message, path}); }

} // namespace remanence::detail
