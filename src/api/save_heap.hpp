// save() with a choice of how to treat objects that cannot be written.
#pragma once

#include <remanence/heap.hpp>

#include "inspect/heap_schema.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace remanence::detail {

/// Does the same as save(), and throws the same exceptions.
void save_heap(const heap& from, const std::string& root, const inspect::dump_manner& manner,
               const std::function<void(std::string_view)>& to);

} // namespace remanence::detail
