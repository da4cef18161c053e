// What a program tells of a class with virtual functions (src/api/virtual_part.cpp).
#pragma once

#include <remanence/types/detail/fingerprint.hpp>

#include <cstdint>
#include <string>

namespace remanence::types {

struct program_class {
    std::string mangled;
    std::string name; // as a programmer writes it
    const detail::type_fingerprint* type;
    void (*make)(void* at); // default-constructs an object; null if the class has no such constructor
    /// Returns the vptr of the subobject at this position of an object; 0 if the program does not have it.
    std::uint64_t (*vptr)(const program_class& of, std::uint32_t position);
};

} // namespace remanence::types
