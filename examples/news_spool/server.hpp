// The process that accepts clients. Each client is served by a process of its own, so one that dies takes no other with
// it. Depends on options.hpp, posting.hpp and POSIX.
//
// The parent has no heap open while it forks: a child cannot use its parent's heaps.
#pragma once

#include "administration.hpp"
#include "expiry.hpp"
#include "options.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace news {

class server {
public:
    /// Repairs what the last server has left, and listens. Errors: std::exception, with what is wrong.
    explicit server(const options& chosen);
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server();

    /// Serves until SIGTERM or SIGINT.
    void run();

private:
    using clock = std::chrono::steady_clock; // does not jump, as the calendar's clock may

    void prepare_spool();
    void listen_to(std::string_view address, std::uint16_t port);
    void accept_client();
    [[noreturn]] void serve(int client, session_number number);
    void read_rules_again();
    void reap();
    void start_job_if_due();
    [[noreturn]] void do_job(bool expires);
    void stop();
    void begin_child() const;
    [[nodiscard]] clock::time_point next_event() const;
    /// Waits for a client, a signal or the next event. Returns true if there is a client.
    [[nodiscard]] bool wait() const;
    [[nodiscard]] bool has_ended(session_number which) const;

    const pid_t parent_ = ::getpid();
    options options_;
    server_lock lock_;
    expiry_rules rules_;
    int listener_ = -1;
    session_number last_session_ = 0;
    std::unordered_map<pid_t, session_number> clients_;
    /// The process that mends and expires. There is at most one.
    std::optional<pid_t> job_;
    std::optional<clock::time_point> mend_at_; ///< empty: nothing is to be mended
    clock::time_point expire_at_;
};

/// Tells systemd a state, such as "READY=1", if it has started this process as a service of the type "notify".
void notify_systemd(std::string_view state);

} // namespace news
