// Redis on the loopback device, with a server process of its own: each change goes into the append-only file, which is synced
// each second. An operation is GET or SET, and HSET for the number of use, in one request; so many of them are sent before
// their answers are read (the pipeline).
#include "store.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): kill
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class descriptor {
public:
    explicit descriptor(int number) : number_(number) {
        if (number < 0)
            fail("socket");
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { ::close(number_); }
    [[nodiscard]] int get() const { return number_; }

private:
    int number_;
};

sockaddr_in loopback(unsigned port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// One that nobody listens at now.
unsigned free_port() {
    const descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t bytes = sizeof address;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
        fail("bind");
    return ntohs(address.sin_port);
}

/// redis-server, until this is destroyed. It is in our process group, which a stopped benchmark kills.
class server {
public:
    server(const fs::path& directory, unsigned port) {
        std::vector<std::string> words{"redis-server",     "--port",    std::to_string(port),
                                       "--bind",           "127.0.0.1", "--dir",
                                       directory.string(), "--save",    "",
                                       "--appendonly",     "yes",       "--appendfsync",
                                       "everysec",         "--logfile", (directory / "log").string()};
        std::vector<char*> line;
        line.reserve(words.size() + 1);
        for (std::string& word : words)
            line.push_back(word.data());
        line.push_back(nullptr);
        const int error = ::posix_spawnp(&process_, line[0], nullptr, nullptr, line.data(), environ);
        if (error != 0)
            throw std::system_error(error, std::generic_category(), "starting redis-server");
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            wait();
        }
    }
    [[nodiscard]] pid_t process() const { return process_; }

private:
    void wait() {
        while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
    }
    pid_t process_ = -1;
};

class redis_store final : public store {
public:
    redis_store(const fs::path& directory, std::size_t pipeline)
        : pipeline_(pipeline),
          port_(free_port()),
          server_(directory, port_),
          socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_in address = loopback(port_);
        for (int tries = 0; ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
             ++tries) {
            constexpr int k_tries_max = 1000;
            if (tries == k_tries_max)
                fail("connect to redis-server");
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        const int on = 1;
        ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }

    void get(std::string_view key) override {
        add({"GET", key});
        expected_.emplace_back(key);
        note_use(key);
    }
    void set(std::string_view key, std::string_view value) override {
        add({"SET", key, value});
        expected_.emplace_back();
        note_use(key);
    }
    void point() override { exchange(); } // the server syncs by itself
    void close() override {
        exchange();
        // It answers when a second has passed, and with it the next sync.
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
    [[nodiscard]] pid_t process() const override { return server_.process(); }

private:
    void add(std::initializer_list<std::string_view> words) {
        request_ += '*';
        request_ += std::to_string(words.size());
        request_ += "\r\n";
        for (const std::string_view word : words) {
            request_ += '$';
            request_ += std::to_string(word.size());
            request_ += "\r\n";
            request_ += word;
            request_ += "\r\n";
        }
    }
    void note_use(std::string_view key) {
        ++use_;
        add({"HSET", "uses", key, {reinterpret_cast<const char*>(&use_), sizeof use_}});
        if (expected_.size() >= pipeline_)
            exchange();
    }
    /// Sends what was asked, and reads the answers.
    void exchange() {
        for (std::size_t sent = 0; sent < request_.size();) {
            const ssize_t count = ::send(socket_.get(), request_.data() + sent, request_.size() - sent, MSG_NOSIGNAL);
            if (count < 0)
                fail("send to redis-server");
            sent += static_cast<std::size_t>(count);
        }
        request_.clear();
        for (const std::string& key : expected_) {
            if (!key.empty())
                check_value(key, value());
            else if (line() != "+OK")
                throw std::runtime_error("Redis refuses to set");
            if (line().front() != ':')
                throw std::runtime_error("Redis refuses to note the use");
        }
        expected_.clear();
        answers_.erase(0, at_);
        at_ = 0;
    }

    /// One of the answer's, without its end. Valid until the next call.
    std::string_view line() {
        std::size_t end = 0;
        while ((end = answers_.find("\r\n", at_)) == std::string::npos)
            read_more();
        const std::string_view found(answers_.data() + at_, end - at_);
        at_ = end + 2;
        return found;
    }
    std::string_view value() {
        const std::string_view head = line();
        if (head.front() != '$' || head == "$-1")
            throw std::runtime_error("Redis has lost an entry");
        const std::size_t bytes = std::stoul(std::string(head.substr(1)));
        while (answers_.size() < at_ + bytes + 2)
            read_more();
        const std::string_view found(answers_.data() + at_, bytes);
        at_ += bytes + 2;
        return found;
    }
    void read_more() {
        std::array<char, 65536> block;
        const ssize_t count = ::recv(socket_.get(), block.data(), block.size(), 0);
        if (count <= 0)
            fail("answer of redis-server");
        answers_.append(block.data(), static_cast<std::size_t>(count));
    }

    std::size_t pipeline_;
    unsigned port_;
    server server_;
    descriptor socket_;
    std::string request_;
    std::vector<std::string> expected_; // for each operation: the key that the value begins with; empty: it was set
    std::string answers_;
    std::size_t at_ = 0; // what of the answers is read
    std::uint64_t use_ = 0;
};

system_kind with(std::size_t pipeline) {
    return {.name = "Redis, pipeline of " + std::to_string(pipeline),
            .open = [=](const fs::path& in) { return std::make_unique<redis_store>(in, pipeline); },
            .has_points = false,
            .is_slow = true};
}

} // namespace

std::vector<system_kind> redis_systems() { return {with(1), with(32)}; }
