// Work for the processor while the calling thread waits for the device.
#pragma once

#include <functional>
#include <thread>

namespace remanence::os {

/// Does the work on a thread of its own, which takes no signals; in the constructor if the process gets no thread. It has
/// been done once the destructor returns. `work` must not throw.
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
