// Finds free addresses. A separate file, since few programs need this.

#include "capi/guard.hpp"

#include <remanence/address_space.hpp>

using namespace remanence;

rem_status rem_find_address_space(size_t bytes, rem_address_end from, uintptr_t* base) {
    return capi::guard([&] {
        if (base == nullptr)
            capi::refuse_argument("rem_find_address_space needs a place for the address.");
        if (from != REM_LOW && from != REM_HIGH)
            capi::refuse_argument("rem_find_address_space: the end is none of rem_address_end.");
        *base = find_address_space(bytes, from == REM_LOW ? address_end::low : address_end::high);
        return REM_OK;
    });
}
