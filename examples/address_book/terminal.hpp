// Text for people: numbers, colours and a progress bar. Depends on the standard library and POSIX.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace terminal {

/// 148397 is "148,397".
std::string grouped(std::uint64_t number);
/// "1.8 ms"; three significant digits.
std::string duration(std::chrono::nanoseconds time);
/// "31.2 MiB".
std::string bytes(std::uint64_t count);
/// "1 commit", "2 commits".
std::string counted(std::uint64_t number, std::string_view noun);
/// Filled with blanks from the left, up to so many characters.
std::string right_aligned(std::string_view text, std::size_t width);

/// Colours for a descriptor: none unless it is a terminal, and none when NO_COLOR is set.
class style {
public:
    explicit style(int descriptor);
    [[nodiscard]] std::string bold(std::string_view text) const { return wrapped("1", text); }
    [[nodiscard]] std::string good(std::string_view text) const { return wrapped("32", text); }
    [[nodiscard]] std::string bad(std::string_view text) const { return wrapped("1;31", text); }
    [[nodiscard]] std::string faint(std::string_view text) const { return wrapped("2", text); }

private:
    [[nodiscard]] std::string wrapped(std::string_view code, std::string_view text) const;
    bool colours_;
};

/// A bar in the last line of a terminal; draws nothing elsewhere. Other output must clear() it first.
class progress_bar {
public:
    progress_bar(int descriptor, std::uint64_t total);
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    ~progress_bar() { clear(); }

    /// Redraws, though not more often than a person can see.
    void show(std::uint64_t done, std::string_view note = {});
    void clear();

private:
    int descriptor_;
    bool visible_;
    bool drawn_ = false;
    std::uint64_t total_;
    std::chrono::steady_clock::time_point last_{};
};

} // namespace terminal
