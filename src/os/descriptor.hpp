// Descriptors that the library opens. Everything goes through open_above_standard(), so that none is 0, 1 or 2:
// otherwise a program that was started with standard error closed, and still writes to it, would write to its heap.
// tests/layering finds calls that open files elsewhere.
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
    /// Gives the descriptor up to another owner.
    [[nodiscard]] int release() { return std::exchange(value_, -1); }

private:
    int value_;
};

/// Opens those of descriptors 0, 1 and 2 that are closed, while it lives. They refer to "/" and can be neither read nor
/// written (O_PATH): so they work no better than closed ones, and files opened meanwhile get other numbers. If another
/// thread puts a file of its own there at that time, that file is closed, too.
class standard_descriptors_taken {
public:
    standard_descriptors_taken() noexcept;
    standard_descriptors_taken(const standard_descriptors_taken&) = delete;
    standard_descriptors_taken& operator=(const standard_descriptors_taken&) = delete;
    /// Keeps errno.
    ~standard_descriptors_taken();

private:
    bool is_ours_[3] = {};
};

/// Returns a descriptor of the same file with a number from 3 on; `value` itself if that is one, or negative. Returns
/// -1, with errno, if none is left; then `value` is closed.
int moved_above_standard(int value) noexcept;

/// Returns the descriptor that `open` opens, moved to a number from 3 on. `open` fails with -1 and errno.
template <class F>
int open_above_standard(F&& open) {
    const standard_descriptors_taken taken;
    return moved_above_standard(open()); // another thread may have closed a standard descriptor just now
}

/// Calls open(2) with O_CLOEXEC, again if a signal interrupts it. Returns a number from 3 on.
int open_file(const char* path, int flags, mode_t mode = 0) noexcept;

/// Reads the lines of a file of unknown size, like those in /proc. There are none if it cannot be opened.
class text_lines {
public:
    explicit text_lines(const char* path);
    /// Reads the next line. Returns false at the end, and if the file cannot be read any further.
    bool next(std::string& line);

private:
    descriptor file_;
    std::string read_; // read, and not returned yet from begin_ on
    std::size_t begin_ = 0;
};

} // namespace remanence::os
