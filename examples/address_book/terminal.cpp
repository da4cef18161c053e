#include "terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace terminal {

namespace {

/// Three significant digits and the unit.
std::string scaled(double value, const char* unit) {
    const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, unit);
    return text.data();
}

void put(int descriptor, std::string_view text) {
    // A bar that cannot be drawn is no reason to stop.
    [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
}

bool wants_colour() {
    const char* const no_color = std::getenv("NO_COLOR");
    return no_color == nullptr || *no_color == '\0';
}

} // namespace

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;)
        text.insert(at -= 3, 1, ',');
    return text;
}

std::string duration(std::chrono::nanoseconds time) {
    const double seconds = std::chrono::duration<double>(time).count();
    if (seconds >= 0.9995)
        return scaled(seconds, "s");
    if (seconds >= 0.9995e-3)
        return scaled(seconds * 1e3, "ms");
    return scaled(seconds * 1e6, "µs");
}

std::string bytes(std::uint64_t count) {
    constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
    if (count < 1024)
        return counted(count, "byte");
    double value = static_cast<double>(count) / 1024;
    std::size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return scaled(value, units[unit]);
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string right_aligned(std::string_view text, std::size_t width) {
    // In UTF-8, a character has one byte that is not of the form 10xxxxxx.
    const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
    const auto characters = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
    return std::string(width > characters ? width - characters : 0, ' ').append(text);
}

style::style(int descriptor) : colours_(::isatty(descriptor) == 1 && wants_colour()) {}

std::string style::wrapped(std::string_view code, std::string_view text) const {
    if (!colours_)
        return std::string(text);
    return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

progress_bar::progress_bar(int descriptor, std::uint64_t total)
    : descriptor_(descriptor), visible_(::isatty(descriptor) == 1), total_(std::max<std::uint64_t>(total, 1)) {}

void progress_bar::show(std::uint64_t done, std::string_view note) {
    constexpr auto k_interval = std::chrono::milliseconds(40);
    constexpr std::size_t k_cells = 32;
    const auto now = std::chrono::steady_clock::now();
    if (!visible_ || (drawn_ && now - last_ < k_interval))
        return;
    last_ = now;
    drawn_ = true;
    done = std::min(done, total_);
    const auto filled = static_cast<std::size_t>(done * k_cells / total_);
    std::string line = "\r  ";
    for (std::size_t cell = 0; cell < k_cells; ++cell)
        line += cell < filled ? "█" : "░";
    line.append(" ").append(std::to_string(done * 100 / total_)).append(" %  ");
    line.append(grouped(done)).append(" of ").append(grouped(total_));
    if (!note.empty())
        line.append("  ").append(note);
    put(descriptor_, line.append("\033[K"));
}

void progress_bar::clear() {
    if (drawn_)
        put(descriptor_, "\r\033[K");
    drawn_ = false;
}

} // namespace terminal
