#include "os/beside.hpp"

#include "os/blocked_signals.hpp"

#include <new>
#include <system_error>

namespace remanence::os {

beside::beside(const std::function<void()>& work) {
    try {
        const blocked_signals while_it_starts;
        thread_ = std::thread(work);
        return;
    } catch (const std::system_error&) { // no more threads: do the work here
    } catch (const std::bad_alloc&) {    // do the work here
    }
    work();
}

beside::~beside() {
    if (thread_.joinable())
        thread_.join();
}

} // namespace remanence::os
