#include "crash_states.hpp"

#include "base/assert.hpp"
#include "content.hpp"

#include <algorithm>

namespace remanence::crash {

namespace {

constexpr std::size_t k_all_subsets_max = 10; // operations not durable of which all subsets are tried
constexpr std::uint64_t k_random_subsets = 512;
constexpr std::uint64_t k_older_tears = 2; // of each: its first sector only, and scattered ones

std::uint64_t subsets_of(std::size_t n) { return n <= k_all_subsets_max ? std::uint64_t{1} << n : k_random_subsets; }

/// Sectors after which a write is torn: each boundary of a short one; of a long one the first, the last and a few more.
std::vector<std::uint32_t> tears_of(std::uint32_t sectors, generator random) {
    constexpr std::uint32_t k_all_boundaries_max = 9;
    constexpr std::size_t k_sampled = 3;
    std::vector<std::uint32_t> after;
    if (sectors <= k_all_boundaries_max) {
        for (std::uint32_t n = 1; n < sectors; n++)
            after.push_back(n);
        return after;
    }
    after = {1, sectors - 1};
    for (std::size_t i = 0; i < k_sampled; i++)
        after.push_back(static_cast<std::uint32_t>(1 + random.below(sectors - 1)));
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
}

} // namespace

std::string_view name_of(state_class which) {
    constexpr std::array<std::string_view, k_state_classes> k_names = {
        "all persists", "nothing does", "a subset", "newest torn", "older torn", "size apart", "reversed"};
    return k_names[static_cast<std::size_t>(which)];
}

crash_states::crash_states(std::span<const simulation::disk_operation> operations,
                           simulation::failed_sync after_failure, std::uint64_t seed)
    : trace_(operations), seed_(seed) {
    simulation::pending_operations walk(operations, after_failure);
    std::vector<simulation::persisted_part> durable;
    for (;;) {
        std::uint64_t first = 0;
        for (const std::uint64_t size : possible_at(walk.position(), walk.pending()).counts()) {
            if (size > 0)
                families_.push_back({walk.position(), first, size});
            first += size;
        }
        count_ += first;
        if (walk.position() == operations.size())
            return;
        walk.advance(durable);
    }
}

bool crash_states::has(const crash_state& which) const {
    return std::any_of(families_.begin(), families_.end(), [&](const family& each) {
        return each.position == which.position && which.number >= each.first && which.number - each.first < each.count;
    });
}

std::vector<crash_state> crash_states::sample(std::uint64_t wanted, std::uint64_t seed) const {
    generator random(seed);
    // What small families leave over goes to the larger ones.
    std::vector<std::uint64_t> sizes;
    for (const family& each : families_)
        sizes.push_back(each.count);
    std::sort(sizes.begin(), sizes.end());
    std::uint64_t left = wanted;
    std::uint64_t of_each = 0;
    for (std::size_t i = 0; i < sizes.size(); i++) {
        of_each = left / (sizes.size() - i);
        if (sizes[i] > of_each)
            break;
        left -= sizes[i];
        of_each = sizes[i];
    }
    std::uint64_t one_more = of_each < sizes.back() ? left % families_.size() : 0; // of families, at random
    std::vector<crash_state> chosen;
    for (std::size_t f = 0; f < families_.size(); f++) {
        const family& from = families_[f];
        std::uint64_t share = std::min(of_each, from.count);
        if (random.below(families_.size() - f) < one_more) {
            one_more--;
            share = std::min(share + 1, from.count);
        }
        std::uint64_t begin = from.first;
        for (std::uint64_t i = 0; i < share; i++) { // one of each of `share` stretches of equal length
            const std::uint64_t end = begin + from.count / share + (i < from.count % share ? 1 : 0);
            chosen.push_back({from.position, begin + random.below(end - begin)});
            begin = end;
        }
    }
    return chosen;
}

bool crash_states::conflicts(std::uint32_t a, std::uint32_t b) const {
    const simulation::disk_operation& first = trace_[a];
    const simulation::disk_operation& second = trace_[b];
    if (first.is_of_directory() != second.is_of_directory())
        return false;
    if (first.is_of_directory())
        return first.path == second.path || first.path == second.to || first.to == second.path;
    if (first.inode != second.inode)
        return false;
    if (first.what == simulation::disk_operation::kind::resize ||
        second.what == simulation::disk_operation::kind::resize)
        return true;
    return first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
}

crash_states::possibilities crash_states::possible_at(std::uint32_t position,
                                                      std::span<const std::uint32_t> pending) const {
    possibilities found;
    const bool at_change = position > 0 && trace_[position - 1].is_change();
    if (position == 0 || trace_[position - 1].what == simulation::disk_operation::kind::marker) {
        found.any_subset = true;
        found.whole = subsets_of(pending.size());
        return found;
    }
    if (!at_change)
        return found;
    const std::uint32_t newest = pending.back();
    const std::size_t others = pending.size() - 1;
    const std::uint64_t subsets = subsets_of(others);
    found.whole = subsets;
    if (trace_[newest].is_write()) {
        const std::uint32_t sectors = trace_[newest].sectors();
        found.tears = tears_of(sectors, generator(seed_ ^ (std::uint64_t{position} << 32)));
        if (sectors > 2)
            found.tears.insert(found.tears.end(), {0, 0});
        found.torn = found.tears.size() * subsets;
        found.size_apart = trace_[newest].grows ? 2 * subsets : 0;
    }
    bool conflicting = false;
    for (std::size_t i = 0; i < others; i++) {
        if (trace_[pending[i]].is_write() && trace_[pending[i]].sectors() > 1)
            found.older_tears.push_back(i);
        conflicting = conflicting || conflicts(pending[i], newest);
    }
    if (!found.older_tears.empty())
        found.torn_older = found.older_tears.size() * k_older_tears * subsets_of(others - 1);
    found.reversed = conflicting ? subsets : 0;
    return found;
}

std::vector<bool> crash_states::subset(std::uint64_t number, std::size_t n, std::uint32_t position) const {
    std::vector<bool> kept(n);
    if (n <= k_all_subsets_max) {
        for (std::size_t i = 0; i < n; i++) // the newest change most often: the beginning of what is built stays
            kept[n - 1 - i] = (number >> i & 1) != 0;
        return kept;
    }
    // All, none, and subsets of each density; those of one density keep long stretches as they are.
    generator random(seed_ ^ (number << 40) ^ position);
    const std::uint64_t density = number % 16;
    for (std::size_t i = 0; i < n; i++)
        kept[i] = number == 0 || (number != 1 && random.below(16) <= density);
    return kept;
}

void crash_states::add_scattered(std::uint32_t operation, std::uint64_t seed,
                                 std::vector<simulation::persisted_part>& parts) const {
    constexpr std::uint64_t k_cuts = 8;
    const std::uint32_t sectors = trace_[operation].sectors();
    generator random(seed);
    std::vector<std::uint32_t> cuts;
    for (std::uint64_t i = 0; i < k_cuts; i++)
        cuts.push_back(static_cast<std::uint32_t>(random.below(sectors + std::uint64_t{1})));
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i < cuts.size(); i += 2)
        if (cuts[i] < cuts[i + 1])
            parts.push_back({.operation = operation, .sectors_begin = cuts[i], .sectors_end = cuts[i + 1]});
}

persisting crash_states::choose(const crash_state& which, std::span<const std::uint32_t> pending) const {
    const possibilities here = possible_at(which.position, pending);
    REM_CHECK(has(which));
    persisting chosen;
    std::uint64_t n = which.number;
    const auto is_in = [&](std::uint64_t size) {
        if (n < size)
            return true;
        n -= size;
        return false;
    };
    const auto add = [&](const std::vector<bool>& kept) {
        for (std::size_t i = 0; i < kept.size(); i++)
            if (kept[i])
                chosen.parts.push_back({.operation = pending[i]});
    };
    const auto whole_kind = [&] {
        return chosen.parts.size() == pending.size() ? state_class::all
               : chosen.parts.empty()                ? state_class::none
                                                     : state_class::subset;
    };
    if (here.any_subset) {
        add(subset(n, pending.size(), which.position));
        chosen.kind = whole_kind();
        return chosen;
    }
    const std::uint32_t newest = pending.back();
    const std::size_t others = pending.size() - 1;
    const std::uint64_t subsets = subsets_of(others);
    const std::uint64_t scatter = seed_ ^ (std::uint64_t{which.position} << 20) ^ which.number;
    if (is_in(here.whole)) {
        add(subset(n, others, which.position));
        chosen.parts.push_back({.operation = newest});
        chosen.kind = whole_kind();
    } else if (is_in(here.torn)) {
        add(subset(n % subsets, others, which.position));
        if (const std::uint32_t kept = here.tears[n / subsets]; kept > 0)
            chosen.parts.push_back({.operation = newest, .sectors_end = kept});
        else
            add_scattered(newest, scatter, chosen.parts);
        chosen.kind = state_class::torn;
    } else if (is_in(here.torn_older)) {
        const std::uint64_t rest = subsets_of(others - 1);
        const std::size_t torn = here.older_tears[n / rest / k_older_tears];
        std::vector<bool> kept = subset(n % rest, others - 1, which.position);
        kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(torn), false);
        for (std::size_t i = 0; i < others; i++) {
            if (i == torn && n / rest % k_older_tears == 0)
                chosen.parts.push_back({.operation = pending[i], .sectors_end = 1});
            else if (i == torn)
                add_scattered(pending[i], scatter, chosen.parts);
            else if (kept[i])
                chosen.parts.push_back({.operation = pending[i]});
        }
        chosen.parts.push_back({.operation = newest});
        chosen.kind = state_class::torn_older;
    } else if (is_in(here.size_apart)) {
        add(subset(n % subsets, others, which.position));
        const bool data_only = n / subsets == 0;
        chosen.parts.push_back({.operation = newest, .data = data_only, .size = !data_only});
        chosen.kind = state_class::size_apart;
    } else {
        add(subset(n, others, which.position));
        chosen.parts.push_back({.operation = newest});
        std::reverse(chosen.parts.begin(), chosen.parts.end());
        chosen.kind = state_class::reversed;
    }
    return chosen;
}

} // namespace remanence::crash
