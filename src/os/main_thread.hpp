// Which thread is asking.
#pragma once

namespace remanence::os {

/// Whether this is the thread that the process, or the child of a fork, began with.
[[nodiscard]] bool is_main_thread() noexcept;

} // namespace remanence::os
