// The portable form. A separate file, so that only programs that call these functions link the code for reading and
// making objects.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <remanence/streams.hpp>

#include <cstdint>

using namespace remanence;

rem_status rem_dump(rem_heap* heap, const char* root, bool (*put)(void* context, const char* text, size_t bytes),
                    void* context) {
    return capi::guard([&] {
        if (put == nullptr)
            capi::refuse_argument("rem_dump needs a function that takes the text.");
        const capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        save(
            opened.of,
            [&](std::string_view piece) {
                if (!piece.empty() && !capi::call_back(impl, [&] { return put(context, piece.data(), piece.size()); }))
                    throw error(errc::io, "rem_dump was stopped: the output is not whole.");
            },
            root == nullptr ? "" : root);
        return REM_OK;
    });
}

rem_status rem_load(rem_heap* heap, size_t (*read)(void* context, char* into, size_t bytes), void* context) {
    return capi::guard([&] {
        if (read == nullptr)
            capi::refuse_argument("rem_load needs a function that reads the dump.");
        capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        (void)load<>(opened.of, [&](char* into, std::size_t bytes) {
            const std::size_t got = capi::call_back(impl, [&] { return read(context, into, bytes); });
            if (got == SIZE_MAX) // the caller's function returned -1, as read(2) does
                throw error(errc::io,
                            "rem_load was stopped: the function that reads the dump has failed. Nothing was loaded.");
            if (got > bytes)
                capi::refuse_argument("rem_load needs a function that reads at most as many bytes as it is asked for.");
            return got;
        });
        return REM_OK;
    });
}
