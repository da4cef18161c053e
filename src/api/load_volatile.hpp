// Makes volatile heaps of heap files.
#pragma once

#include "api/volatile_heap_impl.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

namespace remanence::detail {

/// Returns what a volatile heap needs to be the heap in the file. Throws as load_volatile() does.
[[nodiscard]] std::unique_ptr<volatile_heap_impl> load(const std::filesystem::path& path,
                                                       const volatile_heap_options& options, std::string_view abi);

} // namespace remanence::detail
