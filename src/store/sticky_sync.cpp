#include "store/sticky_sync.hpp"

namespace remanence::store {

result<void> sticky_sync::sync(os::call_site where) {
    const std::lock_guard guard(mutex_);
    if (failed_)
        return unexpected(*failed_);
    auto synced = file_.sync(where);
    if (synced)
        return {};
    failed_ = synced.why();
    if (is_refusal(failed_->code))
        failed_->code = errc::io; // a refusal would tell the caller that nothing was written and that it may try again
    return unexpected(*failed_);
}

} // namespace remanence::store
