#include "text.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace remanence::tool {

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string size_text(std::uint64_t bytes) {
    if (bytes < 10 * 1024)
        return grouped(bytes) + (bytes == 1 ? " byte" : " bytes");
    constexpr std::array<const char*, 4> k_units = {"KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < k_units.size(); ++unit)
        value /= 1024;
    const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, k_units[unit]);
}

std::string visible(std::string_view text) {
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            shown += fmt::format("\\x{:02x}", byte);
        else
            shown += c;
    }
    return shown;
}

std::string problem_text(const failure& problem) {
    if (problem.offset == error::k_no_offset ||
        problem.message.find(std::to_string(problem.offset)) != std::string::npos)
        return visible(problem.message);
    return visible(fmt::format("{} (byte {} of {})", problem.message, problem.offset, problem.path));
}

std::string coloured(colour which, std::string_view text) {
    static const bool is_on = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    if (!is_on)
        return std::string(text);
    const int code = which == colour::bold ? 1 : which == colour::red ? 31 : which == colour::green ? 32 : 33;
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

progress_line::progress_line(std::string what)
    : what_(std::move(what)),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(300)) {} // short work needs none

progress_line::~progress_line() {
    if (is_shown_)
        fmt::print(stderr, "\r\x1b[K");
}

void progress_line::operator()(std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal_ || now < next_)
        return;
    next_ = now + std::chrono::milliseconds(100);
    is_shown_ = true;
    const std::uint64_t percent = total == 0 ? 100 : done / (total / 100 + 1);
    fmt::print(stderr, "\r{}: {} of {}, {} %\x1b[K", what_, size_text(done), size_text(total), percent);
    std::fflush(stderr);
}

} // namespace remanence::tool
