// The connection to a client: lines with limits in length and time. Depends on POSIX and the standard library.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace news {

/// The client is gone, or has read nothing for too long.
class client_gone : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What signals ask of a process that serves a client. They are blocked except while the process waits for its client,
/// so none of them is overlooked.
struct wishes {
    static bool stop();            ///< SIGTERM: end soon
    static bool take_look_again(); ///< SIGHUP: groups may have been removed. True once for each signal.
    /// Blocks the two signals, and installs their handlers.
    static void install();
};

class connection {
public:
    enum class got {
        line,
        bare_line, ///< a line that ends with LF alone
        too_long,
        nothing, ///< the client was idle for too long
        signal,  ///< a wish has come in; only if the call asked for it
        end,     ///< the client has closed the connection
    };

    /// Takes over the descriptor.
    connection(int descriptor, std::chrono::seconds idle_max);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    /// Reads a line of at most `bytes_max`, without its end, into `line`. A longer one is `too_long`; the next call then
    /// goes on within it. Once the process is to stop, waits for a few seconds more only, and then returns `nothing`.
    got read_line(std::string& line, std::size_t bytes_max, bool return_at_signal);

    /// Sends text, soon. Errors: client_gone.
    void put(std::string_view text);
    /// Sends text with an end of line.
    void put_line(std::string_view text) {
        put(text);
        put("\r\n");
    }
    /// Sends lines of an article, in which a dot that begins a line is doubled.
    void put_stuffed(std::string_view lines);
    /// Sends all that was put. Errors: client_gone.
    void flush();
    /// Drops what was put since flush(). Returns false if part of it was sent already.
    bool drop_unsent();

private:
    enum class waited { ready, late, signal };
    waited wait(short events, bool return_at_signal) const;
    /// Reads what is there. Returns `line` when there was something.
    got receive(bool return_at_signal);

    int descriptor_;
    std::chrono::seconds idle_max_;
    std::string in_;
    std::size_t in_at_ = 0; ///< what is before it was taken
    std::string out_;
    bool is_partly_sent_ = false;
};

} // namespace news
