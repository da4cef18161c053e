#include "os/posix_byte_locks.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace remanence::os {

namespace {

constexpr std::chrono::nanoseconds k_first_pause = std::chrono::microseconds(100);
constexpr std::chrono::nanoseconds k_longest_pause = std::chrono::milliseconds(4);

class locks_of_opening;

// The locks of all openings in the process. A forked child closes their descriptors. It must not unlock, since that
// would release the parent's locks.
constinit std::mutex all_locks_mutex;
constinit locks_of_opening* all_locks = nullptr; // guarded by the mutex

class locks_of_opening final : public byte_locks {
public:
    locks_of_opening(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {
        const std::scoped_lock guard(all_locks_mutex);
        next_ = std::exchange(all_locks, this);
        if (next_ != nullptr)
            next_->link_ = &next_;
    }
    ~locks_of_opening() override {
        const std::scoped_lock guard(all_locks_mutex);
        if (descriptor_ < 0) // in a forked child
            return;
        *link_ = next_;
        if (next_ != nullptr)
            next_->link_ = link_;
        ::close(descriptor_);
    }

    result<bool> try_lock(std::uint64_t byte, lock_kind kind) override {
        struct flock wanted = lock_of(kind == lock_kind::exclusive ? F_WRLCK : F_RDLCK, byte, 1);
        if (::fcntl(descriptor_, F_OFD_SETLK, &wanted) == 0)
            return true;
        if (errno == EAGAIN || errno == EACCES)
            return false;
        return refused("cannot lock");
    }

    // The kernel offers no timed wait, so this polls. A pause never exceeds the time that is left.
    result<bool> lock(std::uint64_t byte, lock_kind kind, deadline until) override {
        for (std::chrono::nanoseconds pause = k_first_pause;; pause = std::min(2 * pause, k_longest_pause)) {
            auto taken = try_lock(byte, kind);
            if (!taken || *taken)
                return taken;
            if (until) {
                const auto left = *until - std::chrono::steady_clock::now();
                if (left <= std::chrono::nanoseconds::zero())
                    return false;
                pause = std::min<std::chrono::nanoseconds>(pause, left);
            }
            std::this_thread::sleep_for(pause);
        }
    }

    void unlock(std::uint64_t first, std::uint64_t count) noexcept override {
        struct flock wanted = lock_of(F_UNLCK, first, count);
        (void)::fcntl(descriptor_, F_OFD_SETLK, &wanted); // fails only if the descriptor is closed
    }

    result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t first, std::uint64_t count) override {
        struct flock found = lock_of(F_WRLCK, first, count);
        if (::fcntl(descriptor_, F_OFD_GETLK, &found) != 0)
            return refused("cannot query the locks of");
        if (found.l_type == F_UNLCK)
            return std::optional<std::uint64_t>();
        // The kernel reports adjacent locks as one, which may begin before `first`.
        return std::optional(std::max(first, static_cast<std::uint64_t>(found.l_start)));
    }

    static void close_all_in_child() noexcept {
        for (locks_of_opening* each = all_locks; each != nullptr; each = each->next_)
            ::close(std::exchange(each->descriptor_, -1));
        all_locks = nullptr;
    }

private:
    static struct flock lock_of(int type, std::uint64_t first, std::uint64_t count) {
        struct flock lock{};
        lock.l_type = static_cast<short>(type);
        lock.l_whence = SEEK_SET;
        lock.l_start = static_cast<off_t>(first);
        lock.l_len = static_cast<off_t>(count);
        return lock;
    }

    [[gnu::cold]] unexpected refused(const std::string& operation) const {
        const int code = errno;
        return fail(errc::io,
                    operation + " " + path_ + ": " + std::strerror(code) +
                        ". The file system, or a limit of the system, refuses locks of open files; see its log.",
                    path_, code);
    }

    int descriptor_;
    std::string path_;
    locks_of_opening* next_ = nullptr;
    locks_of_opening** link_ = &all_locks; // the pointer that points to this object
};

// Registered when the program starts, since at the first use another thread could be forking.
const int at_fork = ::pthread_atfork([] { all_locks_mutex.lock(); }, [] { all_locks_mutex.unlock(); },
                                     [] {
                                         locks_of_opening::close_all_in_child();
                                         all_locks_mutex.unlock();
                                     });

} // namespace

std::unique_ptr<byte_locks> posix_byte_locks(int descriptor, std::string path) {
    return std::make_unique<locks_of_opening>(descriptor, std::move(path));
}

} // namespace remanence::os
