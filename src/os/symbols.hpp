// What the loader knows of the process's modules. Depends on the standard library only.
#pragma once

namespace remanence::os {

/// Of whatever module shows it first; null: none does.
[[nodiscard]] void* find_symbol(const char* name) noexcept;
/// Whether the function lies in a module whose file name has this in it.
[[nodiscard]] bool is_in_module(const void* function, const char* part_of_name) noexcept;

} // namespace remanence::os
