#include "track/busy_tables.hpp"

#include "base/range_list.hpp"

#include <algorithm>

namespace remanence::track {

namespace {

constexpr std::uint64_t k_half = busy_tables::k_table_bytes / k_page_bytes / 2;
constexpr unsigned k_times_min = 2;
constexpr unsigned k_rounds_max = 8;

} // namespace

void busy_tables::note_written(heap_range pages) {
    for (std::uint64_t at = pages.offset; at < pages.end();) {
        const std::uint64_t index = at / k_table_bytes;
        const std::uint64_t end = std::min(pages.end(), (index + 1) * k_table_bytes);
        table& here = tables_[index];
        if (here.counted_in != round_) {
            here.counted_in = round_;
            here.written = 0;
        }
        here.written += (end - at) / k_page_bytes;
        if (here.written >= k_half && here.half_in != round_)
            note_half(index);
        at = end;
    }
}

void busy_tables::note_half(std::uint64_t index) {
    table& here = tables_[index];
    const bool is_again = here.half_in + 1 == round_;
    here.half_in = round_;
    if (here.unknown_in == round_)
        return;
    here.times = is_again ? here.times + 1 : 1;
    if (here.times < k_times_min)
        return;
    ranges_.reserve(busy_.size() + 1); // so that begin_round() need not allocate
    busy_.push_back({index, std::min(1U << std::min(here.times - k_times_min, 8U), k_rounds_max) + 1});
}

void busy_tables::begin_round() noexcept {
    ++round_;
    if (busy_.empty() && ranges_.empty())
        return;
    ranges_.clear();
    std::erase_if(busy_, [this](busy_one& each) {
        if (--each.rounds > 0)
            return false;
        table& its = tables_.find(each.index)->second;
        its.unknown_in = round_;
        its.half_in = round_ - 1; // so that the round after this one counts as the next
        return true;
    });
    for (const busy_one& each : busy_)
        ranges_.push_back({each.index * k_table_bytes, k_table_bytes});
    sort_and_merge(ranges_);
}

} // namespace remanence::track
