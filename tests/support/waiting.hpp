// How tests wait. What they wait for comes, however slow or busy the machine is: a limit is for what never comes.
#pragma once

#include <chrono>
#include <fstream>
#include <string>
#include <sys/types.h>
#include <thread>

namespace remanence::test {

/// Whoever has waited for so long has hung. For alarm() as well, which ends a process that hangs.
inline constexpr unsigned k_hang_seconds = 3600;

/// Waits until `holds()`. False: it has hung.
template <class F>
[[nodiscard]] bool comes_true(const F& holds, std::chrono::microseconds between_looks = std::chrono::milliseconds(1)) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(k_hang_seconds);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(between_looks);
    }
    return true;
}

/// Whether that thread sleeps in the kernel, as one does that waits for another.
inline bool is_asleep(pid_t process, pid_t thread) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
    std::string line; // proc(5): "123 (name) S ..."
    std::getline(file, line);
    const std::size_t behind_name = line.rfind(')');
    return behind_name != std::string::npos && line.compare(behind_name, 3, ") S") == 0;
}

} // namespace remanence::test
