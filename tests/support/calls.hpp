// Which function of the program a call in a report lies in, without the names that a linked program lacks.
#pragma once

#include <cstdlib>
#include <string>
#include <unwind.h>

namespace remanence::test {

/// Returns the address of the function that has a call, which is given as the C library formats it: "PROGRAM [0x1234]".
inline void* function_of(const std::string& call) {
    const std::size_t at = call.rfind("[0x");
    if (at == std::string::npos)
        return nullptr;
    return ::_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(std::strtoull(call.c_str() + at + 1, nullptr, 16)));
}

/// Returns p. Code after a call, so that the call is no jump.
inline void* after_call(void* p) {
    asm volatile("" : "+r"(p));
    return p;
}

} // namespace remanence::test
