#include "check.hpp"

#include <algorithm>
#include <compare>
#include <string_view>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct record {
    std::string_view name, street, city, phone;
    auto operator<=>(const record&) const = default;
};

std::string text_of(const record& entry) {
    std::string text;
    for (const std::string_view part : {entry.name, entry.street, entry.city, entry.phone})
        text.append(text.empty() ? "" : ", ").append(part);
    return text;
}

} // namespace

content_check check_content(const address_book& people, const address_data::source& source, std::uint64_t count) {
    const auto begin = clock_type::now();
    std::vector<address_data::entry> made; // what the records of `expected` point into
    made.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i)
        made.push_back(source[i]);
    std::vector<record> expected;
    expected.reserve(made.size());
    for (const address_data::entry& entry : made)
        expected.push_back({entry.name, entry.street, entry.city, entry.phone});
    std::vector<record> stored;
    for (const auto& [name, where] : people)
        stored.push_back({name, where.street, where.city, where.phone});
    std::sort(expected.begin(), expected.end());
    std::sort(stored.begin(), stored.end());

    content_check result;
    auto wanted = expected.begin();
    auto present = stored.begin();
    while (wanted != expected.end() || present != stored.end()) {
        const bool missing = present == stored.end() || (wanted != expected.end() && *wanted < *present);
        const bool foreign = !missing && (wanted == expected.end() || *present < *wanted);
        if (result.example.empty() && (missing || foreign))
            result.example = text_of(missing ? *wanted : *present);
        result.missing += missing;
        result.foreign += foreign;
        result.checked += !missing && !foreign;
        if (!foreign)
            ++wanted;
        if (!missing)
            ++present;
    }
    result.time = clock_type::now() - begin;
    return result;
}

lookup_check check_lookups(const address_book& people, const address_data::source& source, std::uint64_t count) {
    lookup_check result;
    const auto begin = clock_type::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto at = people.find(source.name(i));
        result.wrong += at == people.end() || at->first != source.name(i);
    }
    result.time = clock_type::now() - begin;
    return result;
}
