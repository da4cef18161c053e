#include "text.hpp"

#include <algorithm>
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
    constexpr std::uint64_t k_exact_max = 10 * 1024;
    if (bytes < k_exact_max)
        return grouped(bytes) + (bytes == 1 ? " byte" : " bytes");
    constexpr std::array<const char*, 4> k_units = {"KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < k_units.size(); ++unit)
        value /= 1024;
    const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, k_units[unit]);
}

std::size_t utf8_sequence_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80)
            return 0;
    }
    // Refuses overlong sequences, surrogates, and values above U+10FFFF.
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf0 && byte(1) < 0x90) ||
        (lead == 0xf4 && byte(1) >= 0x90))
        return 0;
    return length;
}

std::string visible(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const std::size_t known = utf8_sequence_bytes(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(known, 1));
        const auto lead = static_cast<unsigned char>(character[0]);
        const bool is_control = lead < 0x20 || lead == 0x7f ||                                         // C0
                                (lead == 0xc2 && static_cast<unsigned char>(character.back()) < 0xa0); // C1
        if (known != 0 && !is_control) {
            shown += character;
        } else {
            for (const char byte : character)
                shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        }
        text.remove_prefix(character.size());
    }
    return shown;
}

std::string visible_lines(std::string_view text) {
    std::string shown;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        shown += visible(text.substr(0, end)) + '\n';
        text.remove_prefix(end + 1);
    }
    return shown + visible(text);
}

void put(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stdout); }

namespace {

/// True if a message states the place of the damage already, as the library's messages do.
bool names_byte(std::string_view message, std::uint64_t offset) {
    const std::string place = "at byte " + std::to_string(offset);
    const std::size_t at = message.find(place);
    if (at == std::string_view::npos)
        return false;
    message.remove_prefix(at + place.size());
    return message.empty() || message.front() < '0' || message.front() > '9';
}

} // namespace

std::string problem_text(const inspect::damage& problem) {
    if (problem.offset == error::k_no_offset || names_byte(problem.what, problem.offset))
        return visible(problem.what);
    constexpr std::uint64_t k_page_bytes = 4096;
    const std::string place = problem.bytes <= k_page_bytes
                                  ? fmt::format("byte {}", problem.offset)
                                  : fmt::format("bytes {} to {}", problem.offset, problem.offset + problem.bytes - 1);
    return visible(fmt::format("{} ({} of {})", problem.what, place, problem.path));
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
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(300)) {} // short work shows no progress

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
