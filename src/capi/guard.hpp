// The border between C++ and C: turns exceptions into a status, and stores their messages for rem_last_error().
#pragma once

#include "api/heap_origin.hpp"

#include <remanence/error.hpp>
#include <remanence/remanence.h>

#include <cxxabi.h>

#include <string>

/// pthread_cancel() and pthread_exit() unwind the stack. With libstdc++, `catch (...)` catches that unwinding, too, and
/// must rethrow it. With libc++, `catch (...)` does not catch it, and its type has no name.
#if defined(__GLIBCXX__)
#define REM_LET_CANCELLATION_PASS                                                                                      \
    catch (const abi::__forced_unwind&) {                                                                              \
        throw;                                                                                                         \
    }
#else
#define REM_LET_CANCELLATION_PASS
#endif

namespace remanence::capi {

/// Stores the error for this thread's rem_last_error(), and returns the status. Without memory for the message, stores
/// the general one of the status.
rem_status note(rem_status status, const char* message, const std::string& path = {}, int os_error = 0,
                std::uint64_t offset = error::k_no_offset) noexcept;

/// Does the same for the current exception; to be called in a handler.
rem_status note_exception() noexcept;

/// Throws errc::invalid_argument.
[[noreturn]] void refuse_argument(const char* message);

/// Runs `f`, which returns a status. Turns an exception into a status.
template <class F>
rem_status guard(const F& f) {
    try {
        detail::refuse_in_new_scope("a heap");
        return f();
    }
    REM_LET_CANCELLATION_PASS
    catch (...) {
        return note_exception();
    }
}

/// Runs `f`. If it throws, stores the error and returns `on_failure`.
template <class T, class F>
T guard_or(T on_failure, const F& f) {
    try {
        detail::refuse_in_new_scope("a heap");
        return f();
    }
    REM_LET_CANCELLATION_PASS
    catch (...) {
        note_exception();
        return on_failure;
    }
}

} // namespace remanence::capi
