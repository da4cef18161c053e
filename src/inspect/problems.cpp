#include "inspect/problems.hpp"

#include <algorithm>
#include <iterator>

namespace remanence::inspect {

bool problem_list::add(const failure& why, std::uint64_t bytes) {
    if (why.offset == error::k_no_offset) {
        if (!messages_.insert(why.message).second)
            return false;
    } else {
        const std::uint64_t end = why.offset + std::max<std::uint64_t>(bytes, 1);
        auto after = ends_.upper_bound({why.path, why.offset});
        if (after != ends_.begin()) {
            const auto& [before, before_end] = *std::prev(after);
            if (before.first == why.path && before_end >= end)
                return false;
        }
        const auto first = ends_.insert_or_assign(after, {why.path, why.offset}, end);
        for (auto within = std::next(first);
             within != ends_.end() && within->first.first == why.path && within->second <= end;)
            within = ends_.erase(within);
    }
    all_.push_back({why, bytes});
    return true;
}

} // namespace remanence::inspect
