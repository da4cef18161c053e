// The thread behind heap::poll_descriptor().
#pragma once

#include "os/event.hpp"
#include "txn/sharing.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// What heap_threads keeps of it, so that only programs that poll are linked with it.
class commit_poll {
public:
    commit_poll() = default;
    commit_poll(const commit_poll&) = delete;
    commit_poll& operator=(const commit_poll&) = delete;
    virtual ~commit_poll() = default;
    [[nodiscard]] virtual int descriptor() const noexcept = 0;
};

/// Keeps its event set while another process has made a commit that this process's memory does not show.
class background_news final : public commit_poll, txn::version_listener {
public:
    /// `shown` is the version that memory shows; the caller is in a section. Starts the thread; std::system_error if no
    /// thread can be started, or there is no descriptor left. `of` must outlive this object.
    background_news(txn::sharing& of, std::uint64_t shown);
    /// Ends the thread. No thread may be in a section. Must not be called in a forked child, which has no such thread.
    ~background_news() override;

    [[nodiscard]] int descriptor() const noexcept override { return event_.number(); }

private:
    void shows(std::uint64_t version) noexcept override;
    void run();
    std::uint64_t look() noexcept;
    void set_if_behind(std::uint64_t newest) noexcept;

    txn::sharing& of_;
    os::event event_;
    std::mutex mutex_;
    std::uint64_t shown_; // guarded by mutex_
    bool is_set_ = false; // whether event_ is set; guarded by mutex_
    std::atomic<bool> ends_ = false;
    std::thread thread_; // last, since the thread uses the other members
};

} // namespace remanence::detail
