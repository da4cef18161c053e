// Files of volatile heaps. A separate file, so that only programs that make or load them link it.
#include "api/load_volatile.hpp"
#include "capi/guard.hpp"
#include "capi/volatile_of_c.hpp"

#include <remanence/volatile_files.hpp>

#include <memory>
#include <utility>

using namespace remanence;

rem_status rem_save_as(rem_heap* heap, const char* path) {
    return capi::guard([&] {
        if (path == nullptr)
            capi::refuse_argument("rem_save_as needs a path.");
        capi::volatile_face* const found = capi::find_volatile(heap);
        if (found == nullptr) {
            (void)capi::opened(heap).impl(); // throws if the heap is closed
            throw error(errc::not_supported,
                        "rem_save_as makes a file of a volatile heap, and this heap has one. `rem copy` copies it.");
        }
        save_as(found->memory(), path);
        return REM_OK;
    });
}

rem_status rem_load_volatile(const char* path, const rem_volatile_options* options, rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        if (heap == nullptr)
            capi::refuse_argument("rem_load_volatile needs a place for the handle.");
        if (path == nullptr)
            capi::refuse_argument("rem_load_volatile needs a path.");
        const volatile_heap_options how = capi::options_of(options);
        auto loaded = detail::load(path, how, detail::k_abi);
        *heap = capi::add_volatile(std::make_unique<capi::volatile_of_c>(how, std::move(loaded)));
        return REM_OK;
    });
}
