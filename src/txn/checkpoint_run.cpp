#include "txn/checkpoint_run.hpp"

namespace remanence::txn {

result<void> checkpoint_run::step(std::uint64_t bytes_max) {
    const std::lock_guard guard(mutex_);
    if (failed_)
        return unexpected(*failed_);
    if (what_->is_done())
        return {};
    auto done = what_->step(bytes_max);
    if (!done)
        failed_ = done.why();
    return done;
}

} // namespace remanence::txn
