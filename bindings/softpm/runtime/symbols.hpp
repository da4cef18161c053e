// Names of what a module has at its addresses, so that a program that was built anew finds what pointers of the former one led to: functions and
// variables by the module's symbol table, texts by their characters. Depends on modules and the operating system.
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
    /// Of a module of this process, by its file, which is the program's again if it was not replaced since. Nothing, if it cannot be read.
    static symbols of(const module_entry& loaded);

    /// Appends it as bytes of a container; read() takes it off again. Throws std::runtime_error: the bytes make no sense.
    void write(std::string& into) const;
    static symbols read(std::string_view& from);

    [[nodiscard]] bool is_of(const module_entry& other) const noexcept {
        return build_id_ == other.build_id && name_ == other.name;
    }
    /// The place in `now` of what lies at this one here, both from the beginning of their modules. False, and a sentence's end says why: it
    /// has no name, or `now` has none such, or several, or a smaller one.
    bool find_in(const symbols& now, std::uint64_t offset, std::uint64_t& found, std::string& why) const;

private:
    struct symbol {
        std::uint64_t bytes;
        std::string name;
    };
    struct constants {
        std::uint64_t offset; // from the beginning of the module
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
