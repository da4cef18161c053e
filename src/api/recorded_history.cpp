// Changes the limits of the history that a heap records, and ends that history.

#include <remanence/look_back.hpp>

#include "api/heap_origin.hpp"
#include "api/history_limits.hpp"
#include "api/raise.hpp"
#include "os/file.hpp"
#include "recover/history_of_heap.hpp"

namespace remanence::inspect {

void set_history_limits(const std::string& path, const history_options& limits) {
    const std::string real = detail::real_path(path).string();
    if (limits.bytes_max == 0 && limits.steps_max == 0)
        detail::raise(
            {errc::invalid_argument, "a history of " + real + " needs a limit: of bytes, of steps, or both.", real});
    detail::check(recover::change_history(os::posix_file_system(), real, detail::limits_of(limits)));
}

void end_history(const std::string& path) {
    detail::check(recover::change_history(os::posix_file_system(), detail::real_path(path).string(), {}));
}

} // namespace remanence::inspect
