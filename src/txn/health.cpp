#include "txn/health.hpp"

#include <cerrno>

namespace remanence::txn {

result<void> health::usable() const {
    if (is_read_only_)
        return fail(errc::read_only, path_ + " is open read-only. Open it for writing to change it.", path_);
    return sound();
}

result<void> health::sound() const {
    if (!is_poisoned())
        return {};
    if (lacked_memory_) {
        return fail(errc::poisoned,
                    path_ + " takes no more commits, since the process had no memory left in the midst of an earlier "
                            "one. Close it and open it again: it will be as of its last durable commit.",
                    path_);
    }
    const std::lock_guard guard(mutex_);
    return fail(errc::poisoned,
                path_ + " takes no more commits, since an earlier write failed: " + why_->message +
                    " Close it and open it again: it will be as of its last durable commit.",
                path_, why_->os_error, why_->offset);
}

unexpected health::poison(unexpected why) {
    if (is_refusal(why.why().code)) {
        why.why().code = errc::io;
        if (why.why().os_error == ENOSPC || why.why().os_error == EDQUOT)
            why.why().message = "writing " + path_ +
                                " failed: its device is full, although it had granted the space "
                                "(is it thinly provisioned, or copy-on-write?). Make room on the device.";
        why.why().message +=
            " What was being written is not whole: close the heap and open it again then; it will be as of its last "
            "durable commit.";
    }
    const std::lock_guard guard(mutex_);
    if (!why_)
        why_ = why.why(); // I5
    is_poisoned_ = true;
    return why;
}

} // namespace remanence::txn
