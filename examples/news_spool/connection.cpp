#include "connection.hpp"

#include <poll.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): ppoll's masks
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace news {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t k_out_bytes = 65'536;
constexpr std::chrono::seconds k_stop_wait{5}; // for the rest of a running command

volatile sig_atomic_t stop_wanted = 0;
volatile sig_atomic_t look_wanted = 0;

void note_signal(int which) { (which == SIGHUP ? look_wanted : stop_wanted) = 1; }

timespec until(clock::time_point deadline) {
    const auto left = std::max<std::chrono::nanoseconds>(deadline - clock::now(), std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    return {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
}

} // namespace

bool wishes::stop() {
    sigset_t waiting;
    return stop_wanted != 0 || (::sigpending(&waiting) == 0 && sigismember(&waiting, SIGTERM) == 1);
}

bool wishes::take_look_again() {
    const bool wanted = look_wanted != 0;
    look_wanted = 0;
    return wanted;
}

void wishes::install() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGHUP);
    ::sigprocmask(SIG_BLOCK, &both, nullptr);
    struct sigaction handler{};
    handler.sa_handler = note_signal;
    ::sigaction(SIGTERM, &handler, nullptr);
    ::sigaction(SIGHUP, &handler, nullptr);
}

connection::connection(int descriptor, std::chrono::seconds idle_max) : descriptor_(descriptor), idle_max_(idle_max) {}

connection::~connection() { ::close(descriptor_); }

connection::waited connection::wait(short events, bool return_at_signal) const {
    sigset_t none;
    sigemptyset(&none);
    clock::time_point deadline = clock::now() + idle_max_;
    bool is_hurried = false;
    for (;;) {
        if (return_at_signal && (stop_wanted != 0 || look_wanted != 0))
            return waited::signal;
        if (stop_wanted != 0 && !is_hurried) {
            deadline = std::min(deadline, clock::now() + k_stop_wait);
            is_hurried = true;
        }
        pollfd waiting{.fd = descriptor_, .events = events, .revents = 0};
        const timespec left = until(deadline);
        const int ready = ::ppoll(&waiting, 1, &left, &none);
        if (ready > 0)
            return waited::ready;
        if (ready == 0)
            return waited::late;
        if (errno != EINTR)
            throw client_gone(std::strerror(errno));
    }
}

connection::got connection::receive(bool return_at_signal) {
    switch (wait(POLLIN, return_at_signal)) {
    case waited::late:
        return got::nothing;
    case waited::signal:
        return got::signal;
    case waited::ready:
        break;
    }
    in_.erase(0, in_at_);
    in_at_ = 0;
    std::array<char, 16'384> bytes;
    const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        return got::end;
    in_.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return got::line;
}

connection::got connection::read_line(std::string& line, std::size_t bytes_max, bool return_at_signal) {
    std::size_t searched = in_at_;
    for (;;) {
        const std::size_t end = in_.find('\n', searched);
        const std::size_t length = (end == in_.npos ? in_.size() : end) - in_at_;
        if (length > bytes_max + 1) { // 1: CR
            in_at_ += length;
            return got::too_long;
        }
        if (end != in_.npos) {
            line.assign(in_, in_at_, length);
            in_at_ = end + 1;
            if (!line.ends_with('\r'))
                return got::bare_line;
            line.pop_back();
            return got::line;
        }
        if (const got received = receive(return_at_signal); received != got::line)
            return received;
        searched = in_at_ + length;
    }
}

void connection::put(std::string_view text) {
    out_ += text;
    if (out_.size() >= k_out_bytes) {
        flush();
        is_partly_sent_ = true;
    }
}

void connection::put_stuffed(std::string_view lines) {
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        const std::string_view line = lines.substr(0, end == lines.npos ? end : end + 1);
        if (line.front() == '.')
            put(".");
        put(line);
        lines.remove_prefix(line.size());
    }
}

void connection::flush() {
    std::string_view left = out_;
    while (!left.empty()) {
        const ssize_t sent = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            left.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno != EAGAIN && errno != EINTR)
            throw client_gone(std::strerror(errno));
        else if (wait(POLLOUT, false) == waited::late)
            throw client_gone("the client reads nothing");
    }
    out_.clear();
    is_partly_sent_ = false;
}

bool connection::drop_unsent() {
    out_.clear();
    return !is_partly_sent_;
}

} // namespace news
