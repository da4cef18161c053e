// Tells whether the calling thread is the main thread.
#pragma once

namespace remanence::os {

/// True in the thread with which the process, or the forked child, began.
[[nodiscard]] bool is_main_thread() noexcept;

} // namespace remanence::os
