// The functions of the process's modules, as the symbol tables of their files name them. dladdr() tells of exported
// functions only; the files also name the others, unless they are stripped.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::os {

/// A module that is loaded, and what identifies its file.
struct module_file {
    std::string path; // for messages
    bool is_program = false;
    std::uint64_t base = 0;  // what is added to the addresses in the file
    std::uint64_t begin = 0; // of the module's memory
    std::uint64_t end = 0;
    std::vector<std::byte> headers; // the program headers, as they are in memory
    struct part {
        std::uint64_t offset; // in the file
        std::vector<std::byte> bytes;
        friend bool operator==(const part&, const part&) = default;
    };
    std::vector<part> notes; // as they are in memory; a linker writes the number of the build there

    friend bool operator==(const module_file&, const module_file&) = default;
};

/// Returns all modules that have files, in the order in which they were loaded. Throws std::bad_alloc. Any thread.
[[nodiscard]] std::vector<module_file> find_module_files();

struct module_function {
    std::uint64_t address;
    std::string_view name;     // mangled, without a version; valid during the call
    std::uint64_t name_offset; // in the file
    std::uint64_t name_bytes;
    bool is_weak = false;   // other modules may have a copy of the function
    bool is_import = false; // an entry of the program that stands for a function of another module
};

/// Calls `take` for each function that the file names. Fails if the file cannot be read, or is another one than was
/// loaded. Throws std::bad_alloc. O(symbols).
result<void> read_functions(const module_file& of, const std::function<void(const module_function&)>& take);

/// What a module's file says of other modules.
struct module_links {
    std::string name{}; // by which others refer to it; empty if it has none
    std::vector<std::string> needed{};
};

/// Fails as read_functions() does.
result<module_links> read_links(const module_file& of);

/// Returns the name at a place in the file, as read_functions() has told it. Fails as read_functions() does.
result<std::string> read_name(const module_file& of, std::uint64_t offset, std::uint64_t bytes);

} // namespace remanence::os
