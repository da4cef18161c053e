// The program and its libraries in memory: their addresses change with each start, their build ids do not. Depends on the loader.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace remanence::softpm {

/// As a container records it.
struct module_entry {
    std::uint64_t begin;
    std::uint64_t end;
    std::array<std::uint8_t, 20> build_id; // zero: it has none
    std::array<char, 108> name;            // of its file, shortened from the left

    bool operator==(const module_entry&) const = default;
};

class modules {
public:
    /// Those that are loaded now.
    static modules now();
    explicit modules(std::vector<module_entry> list);

    /// The one that has this address; null: none.
    [[nodiscard]] const module_entry* find(std::uint64_t address) const noexcept;
    /// The same module in this process; null: it is not loaded, or was built anew.
    [[nodiscard]] const module_entry* same_as(const module_entry& other) const noexcept;
    [[nodiscard]] const std::vector<module_entry>& list() const noexcept { return list_; }

private:
    std::vector<module_entry> list_; // by address
};

/// The path of its file: of a module that is loaded now. Empty: it is not.
[[nodiscard]] std::string file_of(const module_entry& loaded);

/// How often a library was loaded or unloaded so far: the list is as it was while this is.
[[nodiscard]] std::uint64_t loads_so_far();

} // namespace remanence::softpm
