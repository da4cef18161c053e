// Searches, at each point, for words that look like pointers but are not marked, and for marked words that are no
// pointers. So users find out whether all code that stores into their memory was compiled with remcc. Enabled by
// SOFTPM_AUDIT=1, or in programs linked by `remcc --audit`. Depends on content and memory.
#pragma once

#include "content.hpp"
#include "modules.hpp"

namespace remanence::softpm {

[[nodiscard]] bool is_audit_on();
/// Records the return address of the call that allocated a block. Fills the block with zeros, because its old contents
/// may look like pointers.
void note_allocation(void* block, std::size_t bytes, const void* by);
/// Audits a point. All other threads must be stopped. O(memory in use). The findings are printed as a table when the
/// program ends.
void audit(const content& of, const modules& loaded);

} // namespace remanence::softpm
