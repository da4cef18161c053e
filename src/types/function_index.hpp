// Names functions of the program by numbers that other runs and builds understand, and finds them by these numbers.
//
//  FI1  The number of a function is a hash of its mangled name. The module is no part of it, so that a function may move
//       between the program and its libraries.
//  FI2  If functions of one name have several addresses, nobody knows which one is meant, and they are refused: static
//       functions of two files, hidden functions of two modules. Two exceptions: if all are weak, they are copies of an
//       inline function, of which any will do; and a program at fixed addresses has one entry that stands for a function
//       of a library.
//  FI3  If a function has several names, because the linker has folded identical functions, any of them that is not
//       refused names it.
//  FI4  Names that a compiler makes up are refused, since they change when the source file does: those of lambdas and
//       unnamed types have a number.
#pragma once

#include "base/result.hpp"
#include "os/module_functions.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace remanence::types {

/// Not thread-safe. Never throws but std::bad_alloc.
class function_index {
public:
    struct answer {
        std::uint64_t value;
        bool is_permanent; // no library that has the function can be unloaded
    };

    /// To be called before each use. Reads the symbol tables of modules that were loaded since the last call. O(1) if
    /// none was, and none is unreadable.
    void renew();
    /// Returns os::modules_generation() as of the last renew().
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

    /// Returns the number of a function, which is not 0. errc::not_supported, or an error of reading the file.
    result<answer> number_of(std::uint64_t address) const;
    /// Returns the address of the function with this number. errc::not_supported.
    result<answer> function_of(std::uint64_t number) const;
    /// Returns the mangled name of the function with this number. Fails as function_of() does.
    result<std::string> name_of(std::uint64_t number) const;

private:
    struct function {
        std::uint64_t number;
        std::uint64_t address;
        std::uint64_t name_offset; // in the file
        std::uint32_t name_bytes;
        bool is_weak;
        bool is_import;
    };
    struct module {
        explicit module(os::module_file of);

        os::module_file file;
        std::vector<function> by_number;       // sorted; then by address
        std::vector<std::uint32_t> by_address; // positions in by_number
        os::module_links links;
        bool is_permanent = false; // the program cannot run without it
        result<void> is_read;      // or why the names could not be read
    };
    struct place {
        const module* in = nullptr;
        const function* what = nullptr;
    };

    void find_permanent();
    [[nodiscard]] std::vector<place> all_of(std::uint64_t number) const;
    [[nodiscard]] const module* module_around(std::uint64_t address) const;
    result<place> find(std::uint64_t number, const char* purpose) const;
    result<place> choose(const std::vector<place>& all, const char* purpose) const;
    result<void> check_name(const place& of) const;
    [[nodiscard]] unexpected nameless(const module* in, std::uint64_t address) const;

    std::uint64_t generation_ = 0;
    bool is_complete_ = false;
    std::vector<std::shared_ptr<module>> modules_; // in the order in which they were loaded
};

} // namespace remanence::types
