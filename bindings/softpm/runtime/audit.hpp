// Looks, at each point, for words that look like pointers and are not marked, and for marks on words that are none: how a user learns
// whether all code that stores into his memory was compiled with remcc. On with SOFTPM_AUDIT=1, or in programs linked by
// `remcc --audit`. Depends on content and memory.
#pragma once

#include "content.hpp"
#include "modules.hpp"

namespace remanence::softpm {

[[nodiscard]] bool is_audit_on();
/// Who allocated a block: the address behind the call. Zeroes it: what an earlier block has left there may look like pointers.
void note_allocation(void* block, std::size_t bytes, const void* by);
/// Everything stands. O(memory in use). What it finds is printed as a table when the program ends.
void audit(const content& of, const modules& loaded);

} // namespace remanence::softpm
