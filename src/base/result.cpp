#include "base/result.hpp"

namespace remanence {

unexpected fail(errc code, std::string message, std::string path, int os_error, std::uint64_t offset) {
    return unexpected(failure{code, std::move(message), std::move(path), os_error, offset});
}

} // namespace remanence
