#include "change/change_set.hpp"

#include "base/units.hpp"

#include <algorithm>

namespace remanence::change {

bool whole_chunk::has_contents() const { return !format::is_without_contents(checksums); }

std::uint64_t change_set::changed_bytes() const {
    std::uint64_t bytes = 0;
    for (const format::change_range& range : ranges)
        bytes += range.bytes;
    for (const auto* chunks : {&fresh, &relocated}) {
        for (const whole_chunk& chunk : *chunks)
            bytes += k_page_bytes * static_cast<std::uint64_t>(
                                        std::ranges::count_if(chunk.checksums, [](auto sum) { return sum != 0; }));
    }
    return bytes;
}

} // namespace remanence::change
