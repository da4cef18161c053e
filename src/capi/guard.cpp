#include "capi/guard.hpp"

#include "api/heap_origin.hpp"
#include "base/error_sentence.hpp"

#include <exception>
#include <new>
#include <system_error>

static_assert(REM_NOT_A_HEAP == static_cast<int>(remanence::errc::not_a_heap) &&
                  REM_LIMIT_REACHED == static_cast<int>(remanence::errc::limit_reached),
              "the numbers are the same; tests/unit/capi compares all");

namespace remanence::capi {

namespace {

struct kept_error {
    std::string message;
    std::string path;
    rem_error shown{REM_OK, 0, "", "", error::k_no_offset};
};

kept_error& kept() {
    thread_local kept_error last;
    return last;
}

} // namespace

rem_status note(rem_status status, const char* message, const std::string& path, int os_error,
                std::uint64_t offset) noexcept {
    detail::end_new_scopes();
    kept_error& last = kept();
    last.shown = {status, os_error, rem_status_text(status), "", offset};
    try {
        last.message = message;
        last.shown.message = last.message.c_str();
        last.path = path;
        last.shown.path = last.path.c_str();
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): the report shown so far must do
    }
    return status;
}

rem_status note_exception() noexcept {
    try {
        throw;
    } catch (const error& e) {
        return note(static_cast<rem_status>(e.reason()), e.what(), e.path(), e.os_error(), e.offset());
    } catch (const heap_exhausted& e) {
        return note(REM_EXHAUSTED, e.what());
    } catch (const std::bad_alloc&) {
        return note(REM_NO_MEMORY, rem_status_text(REM_NO_MEMORY));
    } catch (const std::system_error& e) {
        return note(REM_IO, e.what(), {}, e.code().value());
    } catch (const std::exception& e) {
        return note(REM_UNEXPECTED, e.what());
    } catch (...) {
        return note(REM_UNEXPECTED, rem_status_text(REM_UNEXPECTED));
    }
}

void refuse_argument(const char* message) {
    detail::end_new_scopes();
    throw error(errc::invalid_argument, message);
}

} // namespace remanence::capi

using namespace remanence;

const char* rem_status_text(rem_status status) {
    switch (static_cast<int>(status)) {
    case REM_OK:
        return "success";
    case REM_NO_MEMORY:
        return "the process has no memory left";
    case REM_WOULD_WAIT:
        return "the call would have to wait";
    case REM_NO_SECTION:
        return "this thread is in no such section";
    case REM_UNEXPECTED:
        return "a fault of the library";
    default:
        return sentence_of(static_cast<errc>(status));
    }
}

const rem_error* rem_last_error() { return &capi::kept().shown; }
