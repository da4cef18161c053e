#include "inspect/inspected_pointers.hpp"

#include "base/range.hpp"
#include "base/units.hpp"
#include "format/class_table.hpp"
#include "inspect/described_words.hpp"
#include "inspect/object_parts.hpp"
#include "inspect/root_walk.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::inspect {

namespace {

struct address_range {
    std::uint64_t begin;
    std::uint64_t end;
    const char* what;
    bool has_objects_at_pages; // rule P4 of pointer_check.hpp
};

constexpr std::array<address_range, 3> k_elsewhere = {{
    {0x1000'8000'0000, 0x2000'0000'0000, "where other heaps lie", true},
    {0x5500'0000'0000, 0x5700'0000'0000, "where programs, their static objects and malloc's memory lie", false},
    {0x7e00'0000'0000, 0x8000'0000'0000, "where libraries, stacks and malloc's memory lie", false},
}};

/// Returns what lies where the address points; null if it points into this heap or to no known range.
const char* elsewhere(std::uint64_t value, std::uint64_t base, std::uint64_t heap_bytes) {
    if (value - base <= heap_bytes) // one past the heap's end counts as inside
        return nullptr;
    if (value - format::stalls_of(base) < format::k_stalls_bytes) // a vptr
        return nullptr;
    for (const address_range& range : k_elsewhere) {
        if (range.begin <= value && value < range.end)
            return range.has_objects_at_pages || !is_aligned(value, k_page_bytes) ? range.what : nullptr;
    }
    return nullptr;
}

struct suspect {
    std::uint64_t at;
    std::uint64_t value;
    const char* where;
    heap_range block;
    const surveyed_root* root = nullptr;
};

std::string sentence_of(const suspect& found) {
    char value[2 + 16 + 1];
    std::snprintf(value, sizeof value, "0x%" PRIx64, found.value);
    const std::string root = found.root != nullptr
                                 ? "below the root \"" + found.root->name + "\" of type " + found.root->type
                                 : std::string("which no root reaches");
    return "the word at byte " + std::to_string(found.at - found.block.offset) + " of the block of " +
           std::to_string(found.block.bytes) + " bytes at heap offset " + std::to_string(found.block.offset) + ", " +
           root + ", is " + value + ", " + found.where;
}

// How many words share one walk through the heap, because a walk for each word would take too long.
constexpr std::size_t k_undecided_max = std::size_t{1} << 18;

/// Moves the words that their types allow to be pointers from `undecided` to `found`, as far as the limit of `found`
/// allows. Clears `undecided`. Returns the number of such words.
std::uint64_t take_pointers(inspection& heap, std::vector<suspect>& undecided, std::vector<suspect>& found) {
    std::vector<types::word_in_block> words;
    for (const suspect& each : undecided)
        words.push_back({each.at, each.block});
    std::vector<bool> leave_out(words.size());
    if (auto read = to_read(heap); read && !words.empty())
        leave_out = hold_no_pointer(*read, words);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i != words.size(); ++i) {
        if (leave_out[i])
            continue;
        ++count;
        if (found.size() < types::k_pointers_listed_max)
            found.push_back(undecided[i]);
    }
    undecided.clear();
    return count;
}

} // namespace

result<types::pointer_survey> survey_pointers(inspection& heap, const std::vector<surveyed_root>& roots,
                                              const inspection_progress& progress) {
    types::pointer_survey all;
    std::vector<suspect> suspects;
    std::vector<suspect> undecided;
    const std::uint64_t end = heap.heap_bytes_end();
    const std::uint64_t image_end = heap.store().image().bytes(); // behind it, all bytes are zero
    for (std::uint64_t page = 0; page < image_end; page += k_page_bytes) {
        auto done = heap.read({page, k_page_bytes}, [&](std::uint64_t at, std::span<const std::byte> bytes) {
            for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes.size(); i += sizeof(std::uint64_t)) {
                std::uint64_t value = 0;
                std::memcpy(&value, bytes.data() + i, sizeof value);
                const char* where = elsewhere(value, heap.super().base, end);
                const auto block = where != nullptr ? heap.block_of(at + i) : std::nullopt;
                if (block)
                    undecided.push_back({at + i, value, where, *block});
            }
        });
        if (!done && !is_damage(done.why().code))
            return done.error();
        if (undecided.size() >= k_undecided_max || page + k_page_bytes >= end)
            all.found += take_pointers(heap, undecided, suspects);
        if (progress)
            progress(page, end);
    }
    for (const links followed : {links::addresses, links::addresses_and_distances}) { // the more reliable links first
        for (const surveyed_root& root : roots) {
            if (std::all_of(suspects.begin(), suspects.end(), [](const suspect& each) { return each.root != nullptr; }))
                break;
            root_walk walk(heap, followed);
            if (auto done = walk.run(root.object); !done)
                return done.error();
            for (suspect& each : suspects) {
                if (each.root == nullptr && walk.has_reached(each.block.offset))
                    each.root = &root;
            }
        }
    }
    std::set<std::uint64_t> places;
    for (const suspect& each : suspects)
        places.insert(each.at);
    auto names = names_of_places(heap, places);
    if (!names)
        return names.error();
    for (const suspect& each : suspects) {
        const auto name = names->find(each.at);
        all.first.push_back({each.root != nullptr ? each.root->name : "", each.root != nullptr ? each.root->type : "",
                             each.at, (name != names->end() ? name->second + ": " : "") + sentence_of(each)});
    }
    return all;
}

} // namespace remanence::inspect
