#include "inspect/version_diff.hpp"

#include "base/range_list.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/root_walk.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace remanence::inspect {

namespace {

using change = version_difference::change;

constexpr std::uint64_t k_word_bytes = sizeof(std::uint64_t);

/// Compares two sorted lists in step. Calls f(one, other) with the elements of equal key; a missing element is passed
/// as null.
template <class T, class Key, class F>
result<void> side_by_side(const std::vector<T>& before, const std::vector<T>& after, const Key& key, const F& f) {
    auto one = before.begin();
    auto other = after.begin();
    while (one != before.end() || other != after.end()) {
        const bool has_one = one != before.end() && (other == after.end() || key(*one) <= key(*other));
        const bool has_other = other != after.end() && (one == before.end() || key(*other) <= key(*one));
        REM_TRY(f(has_one ? &*one : nullptr, has_other ? &*other : nullptr));
        one += has_one ? 1 : 0;
        other += has_other ? 1 : 0;
    }
    return {};
}

result<void> add_ranges(inspection& before, inspection& after, const std::vector<heap_range>& ranges,
                        version_difference& found) {
    const std::uint64_t end = std::max(before.heap_bytes_end(), after.heap_bytes_end());
    REM_TRY(before.make_memory(end)); // behind the end of a state, all bytes are zero
    REM_TRY(after.make_memory(end));
    for (const heap_range& each : ranges) {
        for (std::uint64_t at = each.offset; at < std::min(each.end(), end);) {
            const std::uint64_t piece_end = std::min({align_down(at, k_page_bytes) + k_page_bytes, each.end(), end});
            auto one = before.at(at, piece_end - at);
            auto other = after.at(at, piece_end - at);
            if (!one || !other)
                return !one ? one.error() : other.error();
            for (std::uint64_t word = 0; at != piece_end; word += k_word_bytes, at += k_word_bytes) {
                if (std::memcmp(*one + word, *other + word, k_word_bytes) == 0)
                    continue;
                if (!found.ranges.empty() && found.ranges.back().offset + found.ranges.back().bytes == at)
                    found.ranges.back().bytes += k_word_bytes;
                else
                    found.ranges.push_back({at, k_word_bytes});
            }
        }
    }
    return {};
}

result<std::vector<heap_range>> blocks_of(inspection& heap) {
    auto parts = heap.check_structure();
    if (!parts)
        return parts.error();
    if (!heap.problems().empty())
        return unexpected(heap.problems().front());
    return heap.blocks();
}

void add_blocks(const std::vector<heap_range>& before, const std::vector<heap_range>& after,
                version_difference& found) {
    auto differing = found.ranges.begin();
    (void)side_by_side(
        before, after, [](const heap_range& each) { return each.offset; },
        [&](const heap_range* one, const heap_range* other) -> result<void> {
            const heap_range& block = other != nullptr ? *other : *one;
            while (differing != found.ranges.end() && differing->offset + differing->bytes <= block.offset)
                ++differing;
            const bool differs = differing != found.ranges.end() && differing->offset < block.end();
            if (one == nullptr)
                found.blocks.push_back({change::added, block.offset, block.bytes, {}});
            else if (other == nullptr)
                found.blocks.push_back({change::removed, block.offset, block.bytes, {}});
            else if (differs || one->bytes != other->bytes)
                found.blocks.push_back({change::changed, block.offset, block.bytes, {}});
            return {};
        });
}

/// True if the root leads to blocks that differ. Considers only those for which `counts` returns true, which must be
/// blocks of this state. Records the root's name in these blocks.
template <class F>
result<bool> leads_to_difference(inspection& heap, const root_with_schema& root, version_difference& found,
                                 const F& counts) {
    root_walk walk(heap, links::addresses_and_distances);
    auto damage = walk.run(root.object);
    if (!damage)
        return damage.error();
    if (*damage)
        return fail(errc::corrupt,
                    "what the root \"" + root.name + "\" of " + heap.path() +
                        " leads to is damaged, so its versions cannot be compared. Restore the heap from a copy.",
                    heap.path(), 0, **damage);
    bool leads = false;
    for (version_difference::block& each : found.blocks) {
        if (!counts(each.how) || !walk.has_reached(each.offset))
            continue;
        leads = true;
        if (each.root.empty())
            each.root = root.name;
    }
    return leads;
}

result<void> add_members(inspection& before, const root_with_schema* one, inspection& after,
                         const root_with_schema* other, version_difference& found) {
    using parts = std::map<std::string, std::string>;
    const auto parts_in = [](inspection& heap, const root_with_schema* root) -> result<parts> {
        return root != nullptr && root->schema ? parts_of_root(heap, *root) : result<parts>(parts());
    };
    auto was = parts_in(before, one);
    if (!was)
        return was.error();
    auto is = parts_in(after, other);
    if (!is)
        return is.error();
    for (const auto& [path, text] : *is) {
        const auto old = was->find(path);
        if (old == was->end())
            found.members.push_back({change::added, path, {}, text});
        else if (old->second != text)
            found.members.push_back({change::changed, path, old->second, text});
    }
    for (auto& [path, text] : *was) {
        if (!is->contains(path))
            found.members.push_back({change::removed, path, text, {}});
    }
    return {};
}

result<void> add_root(inspection& before, const root_with_schema* one, inspection& after, const root_with_schema* other,
                      version_difference& found) {
    bool differs = one == nullptr || other == nullptr || one->object != other->object || one->type != other->type;
    if (one != nullptr) {
        auto leads = leads_to_difference(before, *one, found, [](change how) { return how != change::added; });
        if (!leads)
            return leads.error();
        differs = differs || *leads;
    }
    if (other != nullptr) {
        auto leads = leads_to_difference(after, *other, found, [](change how) { return how != change::removed; });
        if (!leads)
            return leads.error();
        differs = differs || *leads;
    }
    if (!differs)
        return {};
    const change how = one == nullptr ? change::added : other == nullptr ? change::removed : change::changed;
    const root_with_schema& shown = other != nullptr ? *other : *one;
    found.roots.push_back({how, shown.name, shown.type});
    const std::size_t first = found.members.size();
    REM_TRY(add_members(before, one, after, other, found));
    std::ranges::sort(found.members.begin() + static_cast<std::ptrdiff_t>(first), found.members.end(), {},
                      &version_difference::member::path);
    return {};
}

} // namespace

std::vector<heap_range> ranges_of(const history::delta& one, const history::delta& other) {
    std::vector<heap_range> ranges;
    for (const history::delta* each : {&one, &other}) {
        each->for_each([&](heap_range range, const std::byte*) {
            const std::uint64_t first = align_down(range.offset, k_word_bytes);
            ranges.push_back({first, align_up(range.end(), k_word_bytes) - first});
        });
    }
    sort_and_merge(ranges);
    return ranges;
}

result<version_difference> compare_versions(inspection& before, inspection& after,
                                            const std::vector<heap_range>& ranges) {
    version_difference found;
    auto old_blocks = blocks_of(before);
    if (!old_blocks)
        return old_blocks.error();
    auto new_blocks = blocks_of(after);
    if (!new_blocks)
        return new_blocks.error();
    REM_TRY(add_ranges(before, after, ranges, found));
    if (found.ranges.empty())
        return found;
    add_blocks(*old_blocks, *new_blocks, found);
    auto old_roots = roots_with_schema(before);
    if (!old_roots)
        return old_roots.error();
    auto new_roots = roots_with_schema(after);
    if (!new_roots)
        return new_roots.error();
    REM_TRY(side_by_side(
        *old_roots, *new_roots, [](const root_with_schema& each) { return each.name; },
        [&](const root_with_schema* one, const root_with_schema* other) {
            return add_root(before, one, after, other, found);
        }));
    return found;
}

} // namespace remanence::inspect
