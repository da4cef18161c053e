// The names of what lies at a module's addresses. By these, a new build of a program finds the targets of pointers that
// an older build stored: functions and variables by the module's symbol table, texts by their characters. Depends on
// modules and the operating system.
#pragma once

#include "modules.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::softpm {

class symbols {
public:
    /// Reads the symbols of a loaded module from its file, which must not have been replaced since it was loaded. The
    /// result is empty if the file cannot be read.
    static symbols of(const module_entry& loaded);

    /// Appends the symbols to the bytes that a container stores. read() parses them and removes them from the front of
    /// `from`; it throws std::runtime_error if they are malformed.
    void write(std::string& into) const;
    static symbols read(std::string_view& from);

    [[nodiscard]] bool is_of(const module_entry& other) const noexcept {
        return build_id_ == other.build_id && name_ == other.name;
    }
    /// Finds the place in `now` that corresponds to this offset here. Both offsets count from the beginning of their
    /// modules. Returns false, and sets `why` to the end of a sentence, if the place has no name, or if `now` has no
    /// object of that name, several, or a smaller one.
    bool find_in(const symbols& now, std::uint64_t offset, std::uint64_t& found, std::string& why) const;

private:
    struct symbol {
        std::uint64_t bytes;
        std::string name;
    };
    struct constants {
        std::uint64_t offset; // counted from the beginning of the module
        std::string bytes;
    };
    struct named_place {
        std::uint64_t offset;
        std::uint64_t bytes;
        bool is_there_twice;
    };

    void look_up_names();
    bool find_text_in(const symbols& now, std::uint64_t offset, std::uint64_t& found) const;

    decltype(module_entry::build_id) build_id_{};
    decltype(module_entry::name) name_{};
    std::multimap<std::uint64_t, symbol> by_offset_;
    std::vector<constants> constants_;
    std::map<std::string_view, named_place> by_name_;
};

} // namespace remanence::softpm
