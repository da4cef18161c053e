// Tells the main thread from others.
#pragma once

namespace remanence::os {

/// True in the thread that the process, or the forked child, began with.
[[nodiscard]] bool is_main_thread() noexcept;

} // namespace remanence::os
