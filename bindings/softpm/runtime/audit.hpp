// Searches, at each point, for words that look like pointers and are not marked, and for marks on words that are no
// pointers. So a user finds out if all code that stores into his memory was compiled with remcc. Enabled by
// SOFTPM_AUDIT=1, or in programs linked by `remcc --audit`. Depends on content and memory.
#pragma once

#include "content.hpp"
#include "modules.hpp"

namespace remanence::softpm {

[[nodiscard]] bool is_audit_on();
/// Notes which code allocated a block, by the return address. Zeroes the block, because old contents may look like
/// pointers.
void note_allocation(void* block, std::size_t bytes, const void* by);
/// Audits a point; all other threads are stopped. O(memory in use). The findings are printed as a table when the
/// program ends.
void audit(const content& of, const modules& loaded);

} // namespace remanence::softpm
