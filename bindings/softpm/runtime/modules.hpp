// The program and its libraries in memory: their addresses change with each start; their build ids do not. Depends on
// the loader.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace remanence::softpm {

/// A module as a container records it.
struct module_entry {
    std::uint64_t begin;
    std::uint64_t end;
    std::array<std::uint8_t, 20> build_id; // zero: there is none
    std::array<char, 108> name;            // of its file; a long name loses its beginning

    bool operator==(const module_entry&) const = default;
};

class modules {
public:
    /// Returns the modules that are loaded now.
    static modules now();
    explicit modules(std::vector<module_entry> list);

    /// Returns the module that contains this address; null if none does.
    [[nodiscard]] const module_entry* find(std::uint64_t address) const noexcept;
    /// Returns the same module in this process; null if it is not loaded, or was built again.
    [[nodiscard]] const module_entry* same_as(const module_entry& other) const noexcept;
    [[nodiscard]] const std::vector<module_entry>& list() const noexcept { return list_; }

private:
    std::vector<module_entry> list_; // by address
};

/// Returns the path of the file of a module; empty if it is not loaded now.
[[nodiscard]] std::string file_of(const module_entry& loaded);

/// Returns how often libraries were loaded or unloaded so far. As long as the number is the same, the list of modules
/// is.
[[nodiscard]] std::uint64_t loads_so_far();

} // namespace remanence::softpm
