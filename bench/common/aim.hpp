// Figures of the benchmarks beside the aims that are set for them. Each benchmark states its own aims, and ends with a
// line for each; bench/all makes one table of the lines of several. Depends on the standard library.
#pragma once

#include <string>

namespace bench {

enum class bound { at_most, at_least };

struct aim {
    std::string what;
    double measured;
    bound kind;
    double limit;
    std::string unit;   ///< of `measured` and `limit`: "us", "x"
    std::string peer{}; ///< what `measured` is compared with, and its figure; empty: nothing
};

[[nodiscard]] bool is_met(const aim& of);

/// Returns "aim: what | measured | peer | aim | met", or "missed". bench/all/main.py reads this form.
[[nodiscard]] std::string aim_line(const aim& of);

/// Returns a number with at most three digits behind the point, of which three are significant, and a unit: "12.3 us".
[[nodiscard]] std::string figure_text(double value, const std::string& unit);

} // namespace bench
