// Changes the limits of the history that a heap records, and ends that history.

#include <remanence/look_back.hpp>

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace remanence;

namespace remanence::capi {

static const char* file_given(const char* path) {
    if (path == nullptr)
        refuse_argument("the history of a heap needs its path, not NULL.");
    return path;
}

} // namespace remanence::capi

rem_status rem_history_set_limits(const char* path, const rem_history_options* limits) {
    return capi::guard([&] {
        inspect::set_history_limits(capi::file_given(path), capi::history_of(limits));
        return REM_OK;
    });
}

rem_status rem_history_end(const char* path) {
    return capi::guard([&] {
        inspect::end_history(capi::file_given(path));
        return REM_OK;
    });
}
