// What something costs, whatever else the machine does meanwhile.
#pragma once

#include <ctime>

namespace remanence::test {

/// Seconds for which a processor worked for this thread while it ran `f`, in the kernel as well.
template <class F>
double processor_seconds_of(const F& f) {
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
    };
    const double before = now();
    f();
    return now() - before;
}

} // namespace remanence::test
