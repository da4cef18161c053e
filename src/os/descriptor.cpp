#include "os/descriptor.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace remanence::os {

namespace {

constexpr int k_standard_count = 3;
constexpr std::size_t k_read_bytes = 16 * 1024;

} // namespace

descriptor::~descriptor() {
    if (value_ >= 0)
        ::close(value_);
}

standard_descriptors_taken::standard_descriptors_taken() noexcept {
    for (int each = 0; each < k_standard_count; ++each) {
        if (::fcntl(each, F_GETFD) >= 0)
            continue;
        const int got = ::open("/", O_PATH | O_CLOEXEC); // open() returns the lowest free number
        if (got < 0)
            return;
        if (got >= k_standard_count) { // another thread has opened it meanwhile
            ::close(got);
            continue;
        }
        is_ours_[got] = true;
    }
}

standard_descriptors_taken::~standard_descriptors_taken() {
    const int code = errno;
    for (int each = 0; each < k_standard_count; ++each) {
        if (is_ours_[each])
            ::close(each);
    }
    errno = code;
}

int moved_above_standard(int value) noexcept {
    if (value < 0 || value >= k_standard_count)
        return value;
    const int moved = ::fcntl(value, F_DUPFD_CLOEXEC, k_standard_count);
    const int code = errno;
    ::close(value);
    errno = code;
    return moved;
}

int open_file(const char* path, int flags, mode_t mode) noexcept {
    return open_above_standard([&] {
        int opened = -1;
        do
            opened = ::open(path, flags | O_CLOEXEC, mode);
        while (opened < 0 && errno == EINTR);
        return opened;
    });
}

text_lines::text_lines(const char* path) : file_(open_file(path, O_RDONLY)) {}

bool text_lines::next(std::string& line) {
    for (std::size_t looked_at = begin_;;) {
        if (const std::size_t end = read_.find('\n', looked_at); end != std::string::npos) {
            line.assign(read_, begin_, end - begin_);
            begin_ = end + 1;
            return true;
        }
        read_.erase(0, begin_);
        begin_ = 0;
        looked_at = read_.size();
        if (!file_.valid())
            return false;
        read_.resize(looked_at + k_read_bytes);
        ssize_t got = 0;
        do
            got = ::read(file_.get(), read_.data() + looked_at, k_read_bytes);
        while (got < 0 && errno == EINTR);
        read_.resize(looked_at + static_cast<std::size_t>(got > 0 ? got : 0));
        if (got > 0)
            continue;
        line = std::exchange(read_, {}); // a last line without a newline
        return !line.empty();
    }
}

} // namespace remanence::os
