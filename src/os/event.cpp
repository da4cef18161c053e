#include "os/event.hpp"

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace remanence::os {

event::event() noexcept : file_(open_above_standard([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })) {}

// Neither call can fail: the number of events is 0 or 1.

void event::set() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(file_.get(), &one, sizeof one);
}

void event::clear() const noexcept {
    std::uint64_t events = 0;
    [[maybe_unused]] const auto read = ::read(file_.get(), &events, sizeof events);
}

} // namespace remanence::os
