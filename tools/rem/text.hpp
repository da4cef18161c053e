// Text for people: numbers with units, names that cannot disturb a terminal, colours, progress.
#pragma once

#include <remanence/inspect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::tool {

/// Returns, for example, "148,397".
std::string grouped(std::uint64_t number);
/// Returns, for example, "12 commits" or "1 commit".
std::string counted(std::uint64_t number, std::string_view noun);
/// Returns, for example, "1.34 MiB". Sizes below 10 KiB are in bytes.
std::string size_text(std::uint64_t bytes);
/// Returns the length of the UTF-8 sequence at the beginning of `text`; 0 if there is none.
std::size_t utf8_sequence_bytes(std::string_view text);
/// Replaces control characters, and bytes that are not UTF-8, by the form \x1b, since a name in a heap may contain any
/// bytes.
std::string visible(std::string_view text);
/// Does the same, but leaves line ends unchanged.
std::string visible_lines(std::string_view text);
/// Writes to standard output. If that fails, main() reports it.
void put(std::string_view text);
/// Returns "what (byte 4096 of FILE)". Omits the place if the text contains it already, or if there is none.
std::string problem_text(const inspect::damage& problem);

enum class colour { bold, red, green, yellow };
/// Adds a colour if standard output is a terminal and NO_COLOR is not set.
std::string coloured(colour which, std::string_view text);

/// Shows progress on a terminal, in a line on standard error that is overwritten. The destructor removes the line.
class progress_line {
public:
    explicit progress_line(std::string what);
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;
    ~progress_line();
    void operator()(std::uint64_t done, std::uint64_t total);

private:
    std::string what_;
    bool is_terminal_;
    bool is_shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

} // namespace remanence::tool
