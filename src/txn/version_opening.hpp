#pragma once

namespace remanence::txn {

/// Brings engine::begin_version() into the program, and does nothing.
void link_version_opening() noexcept;

} // namespace remanence::txn
