// Runs work on another thread while the calling thread waits for the device.
#pragma once

#include <functional>
#include <thread>

namespace remanence::os {

/// Runs `work`, which must not throw, on a new thread with all signals blocked. If no thread can be made, the
/// constructor runs it. The destructor waits until it is done.
class beside {
public:
    explicit beside(const std::function<void()>& work);
    beside(const beside&) = delete;
    beside& operator=(const beside&) = delete;
    ~beside();

private:
    std::thread thread_;
};

} // namespace remanence::os
