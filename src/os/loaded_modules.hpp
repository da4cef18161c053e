// The program and the shared libraries of this process: where they are mapped, and where their constants lie. Any
// thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::os {

/// Addresses of a module.
struct module_range {
    std::uint64_t begin;
    std::uint64_t end;

    [[nodiscard]] bool contains(std::uint64_t address) const { return address - begin < end - begin; }
};

/// All lists are sorted.
struct loaded_modules {
    std::vector<module_range> readable;  // code and data
    std::vector<module_range> code;      // executable; part of `readable`
    std::vector<module_range> constants; // that hold addresses: where vtables lie; part of `readable`
};

/// Returns a number that changes whenever a module is loaded or unloaded.
[[nodiscard]] std::uint64_t modules_generation();
/// Throws std::bad_alloc.
[[nodiscard]] loaded_modules find_modules();

/// Returns the range that contains an address; null if there is none. O(log ranges).
[[nodiscard]] const module_range* range_around(const std::vector<module_range>& sorted, std::uint64_t address);

/// Reads a word of a module. Sanitizers do not look at it: they would report a word between two objects. Precondition:
/// the word is mapped and aligned.
[[nodiscard]] std::uint64_t word_of_module(std::uint64_t address);
/// True if this text, and then a zero, lies there. Reads no further than the first byte that differs. As
/// word_of_module().
[[nodiscard]] bool is_text_of_module(std::uint64_t address, const char* text);

} // namespace remanence::os
