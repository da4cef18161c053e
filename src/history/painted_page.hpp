// The bytes of one page that several deltas write one after the other.
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remanence::history {

/// Offsets are relative to the page.
class painted_page {
public:
    void clear() { covered_.reset(); }
    /// Writes zeros if `content` is null.
    void paint(heap_range range, const std::byte* content) {
        std::byte* const at = bytes_.data() + range.offset;
        if (content == nullptr)
            std::memset(at, 0, static_cast<std::size_t>(range.bytes));
        else
            std::memcpy(at, content, static_cast<std::size_t>(range.bytes));
        for (std::uint64_t i = range.offset; i != range.end(); ++i)
            covered_.set(static_cast<std::size_t>(i));
    }
    /// Calls f(heap_range, content) for each run of bytes that was painted.
    template <class F>
    void for_each_run(const F& f) const {
        for (std::size_t at = 0; at != covered_.size();) {
            if (!covered_.test(at)) {
                ++at;
                continue;
            }
            std::size_t end = at;
            while (end != covered_.size() && covered_.test(end))
                ++end;
            f(heap_range{at, end - at}, bytes_.data() + at);
            at = end;
        }
    }

private:
    static constexpr std::size_t k_bytes = k_page_bytes;
    std::array<std::byte, k_bytes> bytes_{};
    std::bitset<k_bytes> covered_;
};

} // namespace remanence::history
