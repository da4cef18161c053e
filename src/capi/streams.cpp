// The portable form. Apart from all else, so that what reads and makes objects is in programs that call these, and in no others.

#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <remanence/streams.hpp>

using namespace remanence;

rem_status rem_dump(rem_heap* heap, const char* root, bool (*put)(void* context, const char* text, size_t bytes),
                    void* context) {
    return capi::guard([&] {
        if (put == nullptr)
            capi::refuse_argument("rem_dump needs a function that takes the text.");
        save(
            capi::opened(heap).of,
            [&](std::string_view piece) {
                if (!piece.empty() && !put(context, piece.data(), piece.size()))
                    throw error(errc::io, "rem_dump was stopped: what went out is not whole.");
            },
            root == nullptr ? "" : root);
        return REM_OK;
    });
}

rem_status rem_load(rem_heap* heap, size_t (*read)(void* context, char* into, size_t bytes), void* context) {
    return capi::guard([&] {
        if (read == nullptr)
            capi::refuse_argument("rem_load needs a function that reads the dump.");
        (void)load<>(capi::opened(heap).of, [&](char* into, std::size_t bytes) { return read(context, into, bytes); });
        return REM_OK;
    });
}
