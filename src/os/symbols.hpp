// Asks the loader about the process's modules. Depends on the standard library only.
#pragma once

namespace remanence::os {

/// Returns the symbol from the first module that defines it; null if none does.
[[nodiscard]] void* find_symbol(const char* name) noexcept;
/// True if the function lies in a module whose file name contains `part_of_name`.
[[nodiscard]] bool is_in_module(const void* function, const char* part_of_name) noexcept;

} // namespace remanence::os
