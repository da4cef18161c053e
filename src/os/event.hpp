// An event that poll() can wait for. Depends on the operating system.
#pragma once

#include "os/descriptor.hpp"

namespace remanence::os {

/// From set() to clear(), its descriptor is readable. Any thread may call any function.
class event {
public:
    /// If the system has no descriptor left, the event is not valid() and errno says why.
    event() noexcept;
    [[nodiscard]] bool valid() const { return file_.valid(); }
    [[nodiscard]] int number() const { return file_.get(); }
    void set() const noexcept;
    void clear() const noexcept;

private:
    descriptor file_;
};

} // namespace remanence::os
