#include "server.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): signals and their masks
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace news {

namespace {

using namespace std::chrono_literals;

constexpr auto k_expiry_interval = 1h; // E2
constexpr auto k_mend_again = 5s;      // after an attempt that failed
constexpr auto k_children_wait = 10s;  // for the end of running commands
constexpr int k_claim_is_left = 3;     // exit status of a session

volatile sig_atomic_t child_ended = 0;
volatile sig_atomic_t hung_up = 0;
volatile sig_atomic_t must_stop = 0;

void note(int which) { (which == SIGCHLD ? child_ended : which == SIGHUP ? hung_up : must_stop) = 1; }

constexpr int k_signals[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT};

/// Blocks the signals, except while wait() runs, so that none arrives unnoticed between a check and a wait.
void install_handlers() {
    sigset_t blocked;
    sigemptyset(&blocked);
    struct sigaction handler{};
    handler.sa_handler = note;
    for (const int each : k_signals) {
        sigaddset(&blocked, each);
        ::sigaction(each, &handler, nullptr);
    }
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    ::signal(SIGPIPE, SIG_IGN); // NOLINT(performance-no-int-to-ptr): the system's macro
    ::signal(SIGXFSZ, SIG_IGN); // NOLINT(performance-no-int-to-ptr): a limit of file sizes is then errc::no_space
}

[[noreturn]] void raise_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

server::server(const options& chosen)
    : options_(chosen),
      lock_(chosen.directory),
      rules_(chosen.directory, chosen.expiry),
      expire_at_(clock::now() + k_expiry_interval) {
    install_handlers();
    prepare_spool();
    listen_to(chosen.address, chosen.port);
}

server::~server() {
    if (listener_ >= 0)
        ::close(listener_);
}

/// Mends what sessions of the last server have left, and closes the spool again, before there are children.
void server::prepare_spool() {
    spool articles(options_.directory);
    sweep(articles);
    for (const open_claim& each : articles.index().claims())
        last_session_ = std::max(last_session_, each.session);
    if (!mend(articles, [](session_number) { return true; }))
        mend_at_ = clock::now() + k_mend_again;
}

void server::listen_to(std::string_view address, std::uint16_t port) {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string name(address);
    if (const int failed = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &wanted, &found); failed != 0)
        throw std::runtime_error("--bind " + name + ": " + ::gai_strerror(failed));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    listener_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (listener_ < 0 || ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(listener_, found->ai_addr, found->ai_addrlen) != 0 || ::listen(listener_, SOMAXCONN) != 0)
        raise_errno("cannot listen on " + name + ", port " + std::to_string(port));
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &length); // NOLINT: the system's interface
    char text[NI_MAXSERV];
    ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), length, nullptr, 0, text, sizeof text, // NOLINT
                  NI_NUMERICSERV);
    std::cout << "news_spool: listening on " << name << ", port " << text << '\n' << std::flush;
}

void server::run() {
    notify_systemd("READY=1");
    while (must_stop == 0) {
        if (wait())
            accept_client();
        if (std::exchange(child_ended, 0) != 0)
            reap();
        if (std::exchange(hung_up, 0) != 0)
            read_rules_again();
        start_job_if_due();
    }
    stop();
}

server::clock::time_point server::next_event() const {
    if (job_)
        return clock::time_point::max(); // its end is a signal
    return mend_at_ ? std::min(*mend_at_, expire_at_) : expire_at_;
}

bool server::wait() const {
    sigset_t none;
    sigemptyset(&none);
    pollfd client{.fd = listener_, .events = POLLIN, .revents = 0};
    const auto left = std::clamp<std::chrono::nanoseconds>(next_event() - clock::now(), 0ns, 1h);
    const timespec longest{.tv_sec = left / 1s, .tv_nsec = (left % 1s).count()};
    return ::ppoll(&client, 1, &longest, &none) > 0;
}

void server::accept_client() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            ::usleep(10'000); // the client waits in the queue of the listener
        return;
    }
    const session_number number = ++last_session_;
    const pid_t child = clients_.size() < options_.clients_max ? ::fork() : -1;
    if (child == 0)
        serve(client, number);
    if (child > 0) {
        clients_[child] = number;
    } else {
        static constexpr std::string_view k_refusal = "400 Too many clients are connected, try again later\r\n";
        ::send(client, k_refusal.data(), k_refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ::close(client);
}

/// What each child does first: it ends when the parent does.
void server::begin_child() const {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent_) // it has ended already
        std::_Exit(0);
    ::close(listener_);
    ::signal(SIGCHLD, SIG_DFL); // NOLINT(performance-no-int-to-ptr): the system's macro
}

void server::serve(int client, session_number number) {
    begin_child();
    wishes::install();
    bool is_clean = false;
    try {
        connection line(client, options_.idle_max);
        try {
            spool articles(options_.directory);
            is_clean = session(line, articles, options_.session, number).run();
        } catch (const std::exception& reason) {
            std::cerr << "news_spool: " << reason.what() << '\n';
            line.put_line("400 The spool cannot be opened now, try again later");
            line.flush();
        }
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): the client is gone
    }
    std::_Exit(is_clean ? 0 : k_claim_is_left);
}

void server::read_rules_again() {
    notify_systemd("RELOADING=1");
    try {
        rules_ = expiry_rules(options_.directory, options_.expiry);
    } catch (const std::exception& reason) {
        std::cerr << "news_spool: the former rules stay: " << reason.what() << '\n';
    }
    for (const auto& [child, number] : clients_)
        ::kill(child, SIGHUP);
    notify_systemd("READY=1");
}

void server::reap() {
    int status = 0;
    for (pid_t child = ::waitpid(-1, &status, WNOHANG); child > 0; child = ::waitpid(-1, &status, WNOHANG)) {
        const bool is_clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (child == job_) {
            job_.reset();
            if (!is_clean)
                mend_at_ = clock::now() + k_mend_again;
        } else {
            clients_.erase(child);
            if (!is_clean)
                mend_at_ = clock::now();
        }
    }
}

void server::start_job_if_due() {
    const clock::time_point now = clock::now();
    const bool expires = now >= expire_at_;
    if (job_ || (!expires && (!mend_at_ || now < *mend_at_)))
        return;
    const pid_t child = ::fork();
    if (child == 0)
        do_job(expires);
    if (child < 0) {
        mend_at_ = now + k_mend_again;
        return;
    }
    job_ = child;
    mend_at_.reset();
    if (expires)
        expire_at_ = now + k_expiry_interval;
}

/// Sessions that begin after the fork are not ended.
bool server::has_ended(session_number which) const {
    return which <= last_session_ &&
           std::ranges::none_of(clients_, [&](const auto& each) { return each.second == which; });
}

/// May be killed at any time: what it has not done is found again.
void server::do_job(bool expires) {
    begin_child();
    for (const int each : k_signals)
        ::signal(each, SIG_DFL); // NOLINT(performance-no-int-to-ptr): the system's macro
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    bool is_clean = false;
    try {
        spool articles(options_.directory);
        is_clean = mend(articles, [this](session_number which) { return has_ended(which); });
        if (expires)
            std::cerr << "news_spool: " << expire(articles, rules_, news::now()) << " articles expired\n";
    } catch (const std::exception& reason) {
        std::cerr << "news_spool: " << reason.what() << '\n';
        is_clean = false;
    }
    std::_Exit(is_clean ? 0 : k_claim_is_left);
}

void server::stop() {
    notify_systemd("STOPPING=1");
    ::close(listener_);
    listener_ = -1;
    for (const auto& [child, number] : clients_)
        ::kill(child, SIGTERM);
    if (job_)
        ::kill(*job_, SIGTERM);
    const clock::time_point deadline = clock::now() + k_children_wait;
    while ((!clients_.empty() || job_) && clock::now() < deadline) {
        ::usleep(5'000);
        reap();
    }
    for (const auto& [child, number] : clients_)
        ::kill(child, SIGKILL); // what it has not ended is mended at the next start
}

void notify_systemd(std::string_view state) {
    const char* const path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    if (path == nullptr || std::string_view(path).size() >= sizeof address.sun_path)
        return;
    address.sun_family = AF_UNIX;
    std::string_view(path).copy(address.sun_path, sizeof address.sun_path - 1);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0'; // an abstract socket
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::string_view(path).size());
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return;
    ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
             length); // NOLINT: the system's interface
    ::close(descriptor);
}

} // namespace news
