#include "administration.hpp"

#include <fcntl.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): kill
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace news {

namespace {

using namespace std::chrono_literals;

constexpr auto k_close_wait = 10s; // for other processes to close the file of a removed group

int opened(const std::filesystem::path& file) {
    std::filesystem::create_directories(file.parent_path());
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
        throw std::system_error(errno, std::generic_category(), file.string());
    return descriptor;
}

std::filesystem::path server_lock_file(const std::filesystem::path& directory) { return directory / "server.lock"; }

struct flock whole_file(short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

/// Removes the files of a group that has no row. Returns false if a process has them open.
bool remove_files(spool& in, std::string_view name) {
    const std::filesystem::path file = in.file_of(name);
    try {
        const std::optional<std::vector<article_name>> articles = group_file::names_if_unused(file);
        if (!articles)
            return false;
        constexpr std::size_t k_batch = 1000;
        for (std::size_t i = 0; i < articles->size(); i += k_batch)
            in.index().forget(name, std::span(*articles).subspan(i, std::min(k_batch, articles->size() - i)));
    } catch (const rem::error& reason) {
        if (!rem::is_damage(reason.reason()) && reason.reason() != rem::errc::not_found)
            throw;
    }
    for (const char* const end : {"", "-log", "-shm"})
        std::filesystem::remove(file.string() + end);
    return true;
}

bool remove_files_within(spool& in, std::string_view name, std::chrono::seconds longest) {
    const auto deadline = std::chrono::steady_clock::now() + longest;
    while (!remove_files(in, name)) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

} // namespace

administrator_lock::administrator_lock(const std::filesystem::path& directory)
    : descriptor_(opened(directory / "admin.lock")) {
    ::flock(descriptor_, LOCK_EX);
}

administrator_lock::~administrator_lock() { ::close(descriptor_); }

server_lock::server_lock(const std::filesystem::path& directory) : descriptor_(opened(server_lock_file(directory))) {
    const auto deadline = std::chrono::steady_clock::now() + k_close_wait;
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        const int other = holder(directory);
        if (other != 0 || std::chrono::steady_clock::now() > deadline) {
            ::close(descriptor_);
            throw std::runtime_error(directory.string() + " is served by " +
                                     (other != 0 ? "process " + std::to_string(other) : "another process") +
                                     " already");
        }
        std::this_thread::sleep_for(20ms);
    }
    struct flock own = whole_file(F_WRLCK);
    ::fcntl(descriptor_, F_SETLK, &own);
}

server_lock::~server_lock() { ::close(descriptor_); }

int server_lock::holder(const std::filesystem::path& directory) {
    const int descriptor = ::open(server_lock_file(directory).c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    struct flock found = whole_file(F_WRLCK);
    const bool is_held = ::fcntl(descriptor, F_GETLK, &found) == 0 && found.l_type != F_UNLCK;
    ::close(descriptor);
    return is_held ? found.l_pid : 0;
}

void make_group(spool& in, std::string_view name, std::string_view description) {
    const administrator_lock alone(in.directory());
    if (in.index().find(name))
        throw std::runtime_error("there is a group " + std::string(name) + " already");
    if (std::filesystem::exists(in.file_of(name)) && !remove_files_within(in, name, 1s))
        throw std::runtime_error("the former group " + std::string(name) + " is still being read, try again later");
    group_file::create(in.file_of(name));
    in.index().add(name, description, now());
}

bool remove_group(spool& in, std::string_view name) {
    const administrator_lock alone(in.directory());
    if (!in.index().remove(name))
        throw std::runtime_error("there is no group " + std::string(name));
    if (const int server = server_lock::holder(in.directory()); server > 0)
        ::kill(server, SIGHUP); // so that idle processes close the file
    return remove_files_within(in, name, k_close_wait);
}

void sweep(spool& in) {
    const administrator_lock alone(in.directory());
    for (const auto& each : std::filesystem::directory_iterator(in.directory() / "groups")) {
        const std::string name = each.path().stem().string();
        if (each.path().extension() == ".rem" && !in.index().find(name) && !remove_files(in, name))
            std::cerr << "news_spool: " << each.path().string() << " belongs to no group, but is open\n";
    }
}

} // namespace news
