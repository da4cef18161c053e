// Functions that inspect any version of a heap, for programs that do not have its types.
#pragma once

#include <remanence/look_inside.hpp>

#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/inspection.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace remanence::inspect {

/// Calls a function with the heap as of a version, and with that version's number. Calls it again if a writer has
/// interfered. Throws an error of that function as an exception.
using heap_visit = std::function<void(const std::function<result<void>(inspection&, std::uint64_t version)>&)>;

/// Implements the functions of look_inside.hpp.
[[nodiscard]] std::string schema(const heap_visit& at, schema_form form);
[[nodiscard]] std::string get(const heap_visit& at, std::string_view object_path);
void dump(const heap_visit& at, const std::string& root, const std::function<void(std::string_view)>& sink,
          const dump_manner& manner = {});

} // namespace remanence::inspect
