// Text for people: numbers with their units, names that cannot disturb a terminal, colours, progress.
#pragma once

#include <remanence/inspect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::tool {

/// 148,397
std::string grouped(std::uint64_t number);
/// "12 commits", "1 commit"
std::string counted(std::uint64_t number, std::string_view noun);
/// 1.34 MiB; below 10 KiB in bytes
std::string size_text(std::uint64_t bytes);
/// Bytes of the UTF-8 sequence that `text` begins with; 0 when it begins with none.
std::size_t utf8_sequence_bytes(std::string_view text);
/// The bytes of control characters, and what is no UTF-8, as \x1b; a name in a heap may hold anything.
std::string visible(std::string_view text);
/// The same, but for the ends of lines.
std::string visible_lines(std::string_view text);
/// To standard output; main tells whether that failed.
void put(std::string_view text);
/// "what (byte 4096 of FILE)": the place is left out where the text has it already, or there is none.
std::string problem_text(const inspect::damage& problem);

enum class colour { bold, red, green, yellow };
/// Coloured if standard output is a terminal and NO_COLOR is not set.
std::string coloured(colour which, std::string_view text);

/// On a terminal, a line on standard error that is written anew; else nothing. Removed by the destructor.
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
