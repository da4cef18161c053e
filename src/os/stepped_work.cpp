#include "os/stepped_work.hpp"

#include "os/blocked_signals.hpp"

#include <utility>

namespace remanence::os {

stepped_work::stepped_work(std::function<void()> work) : work_(std::move(work)) {
    const blocked_signals while_it_starts;
    thread_ = std::thread([this] {
        wait_for(turn::of_work);
        try {
            if (!must_end_)
                work_();
        } catch (...) {
            thrown_ = std::current_exception();
        }
        is_done_ = true;
        give(turn::of_caller);
    });
}

stepped_work::~stepped_work() {
    must_end_ = true;
    give(turn::of_work);
    thread_.join();
}

bool stepped_work::run() {
    if (!is_done_) {
        give(turn::of_work);
        wait_for(turn::of_caller);
    }
    if (thrown_)
        std::rethrow_exception(thrown_);
    return is_done_;
}

bool stepped_work::pause() {
    if (!must_end_) {
        give(turn::of_caller);
        wait_for(turn::of_work);
    }
    return !must_end_;
}

void stepped_work::wait_for(turn mine) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == mine; });
}

void stepped_work::give(turn next) {
    {
        const std::scoped_lock lock(mutex_);
        turn_ = next;
    }
    changed_.notify_all();
}

} // namespace remanence::os
