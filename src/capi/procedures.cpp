// Procedures of C programs. A separate file, so that only programs that add procedures link it.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <remanence/procedures.hpp>

#include <new>
#include <span>
#include <string>

using namespace remanence;

namespace remanence::capi {

namespace {

[[noreturn]] void raise_status(rem_status status, const std::string& name) {
    if (status == REM_NO_MEMORY)
        throw std::bad_alloc();
    const rem_error* const last = rem_last_error();
    if (last->status == status)
        throw error(static_cast<errc>(status), last->message, last->path, last->os_error, last->offset);
    throw error(static_cast<errc>(status), "the procedure \"" + name + "\" has failed: " + rem_status_text(status));
}

procedure_set::function function_of(rem_procedure_function function, const rem_procedure& of) {
    if (function == nullptr)
        return {};
    return [function, context = of.context, name = std::string(of.name)](heap& here, std::span<const std::byte> bytes) {
        const rem_status status = call_back(
            detail::impl_of(here), [&] { return function(handle_of(&here), bytes.data(), bytes.size(), context); });
        if (status != REM_OK)
            raise_status(status, name);
    };
}

procedure_set procedures_of(const rem_procedure* given, std::size_t count) {
    if (given == nullptr && count != 0)
        refuse_argument("rem_open_with_procedures needs the procedures.");
    procedure_set all;
    for (const rem_procedure& each : std::span(given, count)) {
        if (each.name == nullptr)
            refuse_argument("a procedure needs a name: a text, not NULL.");
        all.add(each.name, function_of(each.call, each), function_of(each.inverse, each));
    }
    return all;
}

} // namespace

} // namespace remanence::capi

rem_status rem_open_with_procedures(const char* path, const rem_options* options, const rem_history_options* history,
                                    const rem_procedure* procedures, size_t count, rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        return capi::open_by(
            detail::opening::open_or_create, sharing::exclusive, path, options, heap,
            {.history = capi::history_of(history), .procedures = capi::procedures_of(procedures, count)});
    });
}

rem_status rem_call(rem_heap* heap, const char* name, const void* parameters, size_t bytes) {
    return capi::guard([&] {
        remanence::heap& of = capi::opened(heap).of;
        if (name == nullptr || (parameters == nullptr && bytes != 0))
            capi::refuse_argument("rem_call needs a name, and as many bytes of parameters as it says.");
        of.call(name, std::span(static_cast<const std::byte*>(parameters), bytes));
        return REM_OK;
    });
}
