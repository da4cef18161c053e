#include "objects/joined_schema.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_part;
using types::type_row;

namespace {

/// True if two rows differ at most in the rows of their parts.
bool are_alike(const type_row& a, const type_row& b) {
    const auto have_same_parts = [](const std::vector<type_part>& x, const std::vector<type_part>& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const type_part& one, const type_part& other) {
            return one.name == other.name && one.offset == other.offset;
        });
    };
    return a.kind == b.kind && a.name == b.name && a.size == b.size && a.alignment == b.alignment &&
           a.number == b.number && a.extent == b.extent && a.note == b.note && a.shape == b.shape &&
           a.numbers == b.numbers && a.labels == b.labels && have_same_parts(a.parts, b.parts) &&
           have_same_parts(a.fields, b.fields);
}

/// For each row of `added`, the rows of `into` that may describe the same type.
using candidates = std::vector<std::vector<std::uint32_t>>;

candidates alike_rows(const type_description& into, const type_description& added) {
    std::multimap<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::uint32_t> known;
    const auto key_of = [](const type_row& row) { return std::tuple(row.name, row.size, row.extent); };
    for (std::uint32_t i = 0; i != into.rows.size(); ++i)
        known.emplace(key_of(into.rows[i]), i);
    candidates found(added.rows.size());
    for (std::size_t i = 0; i != found.size(); ++i) {
        const auto [first, last] = known.equal_range(key_of(added.rows[i]));
        for (auto each = first; each != last; ++each) {
            if (are_alike(into.rows[each->second], added.rows[i]))
                found[i].push_back(each->second);
        }
    }
    return found;
}

/// Removes candidates whose parts are no candidates of the row's parts, until none is left to remove.
void compare_parts(const type_description& into, const type_description& added, candidates& found) {
    const auto match = [&](const std::vector<type_part>& x, const std::vector<type_part>& y) {
        return std::equal(x.begin(), x.end(), y.begin(), [&](const type_part& own, const type_part& other) {
            const std::vector<std::uint32_t>& rows = found[other.type];
            return std::find(rows.begin(), rows.end(), own.type) != rows.end();
        });
    };
    bool is_done = false;
    while (!is_done) {
        is_done = true;
        for (std::size_t i = 0; i != found.size(); ++i) {
            const auto removed = std::erase_if(found[i], [&](std::uint32_t own) {
                return !match(into.rows[own].parts, added.rows[i].parts) ||
                       !match(into.rows[own].fields, added.rows[i].fields);
            });
            is_done = is_done && removed == 0;
        }
    }
}

} // namespace

std::vector<std::uint32_t> join_schema(type_description& into, const type_description& added) {
    candidates found = alike_rows(into, added);
    compare_parts(into, added, found);
    std::vector<std::uint32_t> rows(added.rows.size());
    auto next = static_cast<std::uint32_t>(into.rows.size());
    for (std::size_t i = 0; i != rows.size(); ++i)
        rows[i] = found[i].empty() ? next++ : found[i].front();
    for (std::size_t i = 0; i != rows.size(); ++i) {
        if (!found[i].empty())
            continue;
        type_row& made = into.rows.emplace_back(added.rows[i]);
        for (auto* const parts : {&made.parts, &made.fields}) {
            for (type_part& each : *parts)
                each.type = rows[each.type];
        }
    }
    return rows;
}

} // namespace remanence::objects
