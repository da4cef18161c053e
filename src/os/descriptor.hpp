// Descriptors of the library's own. Everything that it opens goes through open_above_standard(): none is 0, 1 or 2.
// A program that was started with standard error closed, and writes there all the same, would write into its heap
// otherwise. tests/layering finds calls that open something elsewhere.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>

namespace remanence::os {

/// Closed with its owner.
class descriptor {
public:
    explicit descriptor(int value) : value_(value) {}
    descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor();
    [[nodiscard]] int get() const { return value_; }
    [[nodiscard]] bool valid() const { return value_ >= 0; }
    /// For an owner of another kind.
    [[nodiscard]] int release() { return std::exchange(value_, -1); }

private:
    int value_;
};

/// While it lives, those of 0, 1 and 2 that were closed are open, as descriptors of "/" that can be neither read nor written
/// (O_PATH): to whoever uses them meanwhile they are as closed as before, and what is opened meanwhile gets another number.
/// Should another thread give one of them a file of its own just then, that file is closed with it.
class standard_descriptors_taken {
public:
    standard_descriptors_taken() noexcept;
    standard_descriptors_taken(const standard_descriptors_taken&) = delete;
    standard_descriptors_taken& operator=(const standard_descriptors_taken&) = delete;
    /// Leaves errno alone.
    ~standard_descriptors_taken();

private:
    bool is_ours_[3] = {};
};

/// The same file under a number from 3 on; `value` itself if it is such a number, or negative. -1, with errno, when there is
/// none left; then it is closed.
int moved_above_standard(int value) noexcept;

/// What `open` returns, which opens one descriptor, or fails with -1 and errno; from 3 on.
template <class F>
int open_above_standard(F&& open) {
    const standard_descriptors_taken taken;
    return moved_above_standard(open()); // another thread may have closed one just now
}

/// open(2), with O_CLOEXEC, repeated when a signal interrupts it; from 3 on.
int open_file(const char* path, int flags, mode_t mode = 0) noexcept;

/// The lines of a file such as those in /proc, whose size is not known. None when it cannot be opened.
class text_lines {
public:
    explicit text_lines(const char* path);
    /// False at the end, and when it cannot be read any further.
    bool next(std::string& line);

private:
    descriptor file_;
    std::string read_; // and not handed out yet from begin_ on
    std::size_t begin_ = 0;
};

} // namespace remanence::os
