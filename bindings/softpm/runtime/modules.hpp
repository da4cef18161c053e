// The program and its libraries in memory. Their addresses differ in each run, but their build ids do not. Depends on
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
    std::array<std::uint8_t, 20> build_id; // zero if there is none
    std::array<char, 108> name;            // name of the file; of a long name, the end

    bool operator==(const module_entry&) const = default;
};

class modules {
public:
    static modules now();
    explicit modules(std::vector<module_entry> list);

    /// Returns the module that contains this address; null if none does.
    [[nodiscard]] const module_entry* find(std::uint64_t address) const noexcept;
    /// Finds a module of another process in this one; null if it is not loaded, or has another build id.
    [[nodiscard]] const module_entry* same_as(const module_entry& other) const noexcept;
    [[nodiscard]] const std::vector<module_entry>& list() const noexcept { return list_; }

private:
    std::vector<module_entry> list_; // sorted by address
};

/// Returns the path of a module's file; empty if the module is not loaded now.
[[nodiscard]] std::string file_of(const module_entry& loaded);

/// Returns how often libraries were loaded or unloaded so far. As long as this number does not change, the list of
/// modules does not either.
[[nodiscard]] std::uint64_t loads_so_far();

} // namespace remanence::softpm
