// Descriptors that the library opens. All of them are opened through open_above_standard(), so that none is 0, 1 or 2:
// otherwise a program that was started with standard error closed, and still writes to it, would write to its heap.
// tests/layering finds calls that open files in any other way.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>

namespace remanence::os {

/// Closes the descriptor when it is destroyed.
class descriptor {
public:
    explicit descriptor(int value) : value_(value) {}
    descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor();
    [[nodiscard]] int get() const { return value_; }
    [[nodiscard]] bool valid() const { return value_ >= 0; }
    /// Returns the descriptor, which this object no longer closes.
    [[nodiscard]] int release() { return std::exchange(value_, -1); }

private:
    int value_;
};

/// Opens those of descriptors 0, 1 and 2 that are closed, and closes them when it is destroyed. They refer to "/" and
/// can be neither read nor written (O_PATH), so the program's use of them fails as before, and files opened meanwhile
/// get other numbers. If another thread meanwhile replaces one of them by a file of its own, that file is closed, too.
class standard_descriptors_taken {
public:
    standard_descriptors_taken() noexcept;
    standard_descriptors_taken(const standard_descriptors_taken&) = delete;
    standard_descriptors_taken& operator=(const standard_descriptors_taken&) = delete;
    /// Preserves errno.
    ~standard_descriptors_taken();

private:
    bool is_ours_[3] = {};
};

/// Returns a descriptor of the same file with a number from 3 on, or `value` itself if it is one or is negative. If no
/// number is free, closes `value` and returns -1, with errno.
int moved_above_standard(int value) noexcept;

/// Returns the descriptor that `open` returns, moved to a number from 3 on. On failure `open` must return -1 and set
/// errno.
template <class F>
int open_above_standard(F&& open) {
    const standard_descriptors_taken taken;
    return moved_above_standard(open()); // another thread may have closed a standard descriptor meanwhile
}

/// Calls open(2) with O_CLOEXEC, and repeats it if a signal interrupts it. Returns a number from 3 on.
int open_file(const char* path, int flags, mode_t mode = 0) noexcept;

/// Reads the lines of a file of unknown size, such as those in /proc. A file that cannot be opened has no lines.
class text_lines {
public:
    explicit text_lines(const char* path);
    /// Reads the next line. Returns false at the end, or if the file cannot be read further.
    bool next(std::string& line);

private:
    descriptor file_;
    std::string read_; // what was read; from begin_ on not returned yet
    std::size_t begin_ = 0;
};

} // namespace remanence::os
