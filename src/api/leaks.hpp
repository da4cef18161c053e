// What heap::collect() and collections in steps have in common.
#pragma once

#include "api/heap_impl.hpp"
#include "api/leak_sums.hpp"
#include "base/range.hpp"

#include <string>

namespace remanence::detail {

/// errc::not_supported if roots may lead to blocks in ways that inspect::unreached_blocks() does not follow. The caller
/// is in a section.
void refuse_hidden_references(heap_impl& impl);

/// Throws errc::not_supported because of what makes a search for blocks uncertain.
[[noreturn]] void raise_uncertain(heap_impl& impl, const std::string& what);

/// Adds a block that no root reaches.
void add_block(leak_sums& to, const heap_range& block, heap_impl& impl);

} // namespace remanence::detail
