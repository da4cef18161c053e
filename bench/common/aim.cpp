#include "aim.hpp"

#include <array>
#include <cstdio>

namespace bench {

bool is_met(const aim& of) { return of.kind == bound::at_most ? of.measured <= of.limit : of.measured >= of.limit; }

std::string figure_text(double value, const std::string& unit) {
    const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data() + (unit.empty() ? "" : ' ' + unit);
}

std::string aim_line(const aim& of) {
    std::array<char, 64> limit;
    std::snprintf(limit.data(), limit.size(), "%s %g", of.kind == bound::at_most ? "at most" : "at least", of.limit);
    return "aim: " + of.what + " | " + figure_text(of.measured, of.unit) + " | " + (of.peer.empty() ? "-" : of.peer) +
           " | " + limit.data() + (of.unit.empty() ? "" : ' ' + of.unit) + " | " + (is_met(of) ? "met" : "missed");
}

} // namespace bench
