#include "audit.hpp"

#include "base/undying.hpp"
#include "memory.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <dlfcn.h>

extern "C" [[gnu::weak]] const char softpm_audit_always; // only its address is used

namespace remanence::softpm {

namespace {

enum class finding { unmarked, unmarked_elsewhere, no_pointer };

struct place {
    std::uintptr_t allocated_by;
    std::uint64_t offset; // offset of the word in its block
    std::uint64_t block_bytes;
    finding what;

    auto operator<=>(const place&) const = default;
};

struct findings {
    std::mutex lock;
    std::unordered_map<std::uintptr_t, std::uintptr_t> allocated_by;
    std::map<place, std::uint64_t> words; // how many words at each place: the most in one point
    std::uint64_t points = 0;
    std::uint64_t words_seen = 0;
    std::uint64_t pointers_seen = 0;
};
findings& all() {
    static union undying<findings> found;
    return found.value;
}

std::string describe(std::uintptr_t code) {
    Dl_info info;
    if (code == 0 || ::dladdr(pointer_to(code), &info) == 0)
        return "(unknown)";
    const std::string file = info.dli_fname;
    char text[64];
    std::snprintf(text, sizeof text, "+%#lx", code - address_of(info.dli_fbase));
    const std::string where = file.substr(file.rfind('/') + 1) + text;
    return info.dli_sname == nullptr ? where : info.dli_sname + (" (" + where + ")");
}

const char* name_of(finding what) {
    switch (what) {
    case finding::unmarked:
        return "lead to blocks and are not marked";
    case finding::unmarked_elsewhere:
        return "lead elsewhere and are not marked";
    case finding::no_pointer:
        break;
    }
    return "are marked and lead nowhere";
}

// Writes the table in the form that remaudit reads.
void write_rows(const findings& found, const char* path) {
    std::FILE* const into = std::fopen(path, "w");
    if (into == nullptr)
        return;
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::fprintf(into, "total\t%llu\t%llu\t%llu\t\t\n", number(found.points), number(found.words_seen),
                 number(found.pointers_seen));
    for (const auto& [where, count] : found.words) {
        Dl_info info = {};
        const bool is_known = where.allocated_by != 0 && ::dladdr(pointer_to(where.allocated_by), &info) != 0;
        // Minus 1, because the call lies before its return address.
        std::fprintf(into, "%llu\t%s\t%llu\t%llu\t%s\t%#llx\n", number(count), name_of(where.what),
                     number(where.offset), number(where.block_bytes), is_known ? info.dli_fname : "",
                     is_known ? number(where.allocated_by - 1 - address_of(info.dli_fbase)) : 0);
    }
    std::fclose(into);
}

void print_table() {
    findings& found = all();
    if (const char* const rows = std::getenv("SOFTPM_AUDIT_ROWS")) {
        if (found.points != 0)
            write_rows(found, rows);
        return;
    }
    std::fprintf(stderr, "softpm audit: %llu points; the last one saw %llu words, %llu of them marked\n",
                 static_cast<unsigned long long>(found.points), static_cast<unsigned long long>(found.words_seen),
                 static_cast<unsigned long long>(found.pointers_seen));
    if (found.words.empty()) {
        std::fputs("Every word that leads to memory is marked, and no other is.\n", stderr);
        return;
    }
    std::fputs("   words  which                                 at offset  of blocks of  allocated by\n", stderr);
    for (const auto& [where, count] : found.words)
        std::fprintf(stderr, "%8llu  %-36s  %9llu  %12llu  %s\n", static_cast<unsigned long long>(count),
                     name_of(where.what), static_cast<unsigned long long>(where.offset),
                     static_cast<unsigned long long>(where.block_bytes), describe(where.allocated_by).c_str());
}

bool leads_to_block(std::uint64_t value) {
    arena* const of = arena_of(value);
    return of != nullptr && of->find(value).begin != nullptr;
}

/// True if the value points at code, at variables, or into memory of a library. Values below 4 GiB count as numbers.
bool leads_elsewhere(std::uint64_t value, const modules& loaded) {
    return value >> 32U != 0 && !is_no_address(value) && arena_of(value) == nullptr &&
           (loaded.find(value) != nullptr || is_mapped(value));
}

/// True if a marked word has a value that points at nothing in this process.
bool leads_nowhere(std::uint64_t value, const modules& loaded) {
    return !is_no_address(value) && arena_of(value) == nullptr && loaded.find(value) == nullptr && !is_mapped(value);
}

std::optional<finding> finding_of(std::uint64_t value, mark kind, const modules& loaded) {
    if (kind == mark::data && leads_to_block(value))
        return finding::unmarked;
    if (kind == mark::data && leads_elsewhere(value, loaded))
        return finding::unmarked_elsewhere;
    if (kind == mark::pointer && leads_nowhere(value, loaded))
        return finding::no_pointer;
    return std::nullopt;
}

} // namespace

bool is_audit_on() {
    static const bool is_on = [] {
        const char* const asked = std::getenv("SOFTPM_AUDIT");
        const bool wanted = &softpm_audit_always != nullptr || (asked != nullptr && *asked == '1');
        return wanted && std::atexit(print_table) == 0;
    }();
    return is_on;
}

void note_allocation(void* block, std::size_t bytes, const void* by) {
    std::memset(block, 0, bytes);
    const critical_section here;
    const std::scoped_lock lock(all().lock);
    all().allocated_by[address_of(block)] = address_of(by);
}

void audit(const content& of, const modules& loaded) {
    findings& found = all();
    const std::scoped_lock lock(found.lock);
    std::vector<block> blocks;
    of.blocks.for_each([&](const block& each) { blocks.push_back(each); });
    std::map<place, std::uint64_t> words;
    ++found.points;
    found.words_seen = found.pointers_seen = 0;
    for (const block& each : blocks)
        for (std::uint64_t at = 0; at + k_word_bytes <= each.bytes; at += k_word_bytes) {
            const std::uint64_t value = *pointer_to<std::uint64_t>(address_of(each.begin) + at);
            const auto kind = static_cast<mark>(*marks_at(each.begin + at));
            ++found.words_seen;
            found.pointers_seen += kind != mark::data ? 1 : 0;
            if (const auto what = finding_of(value, kind, loaded))
                ++words[{found.allocated_by[address_of(each.begin)], at, each.bytes, *what}];
        }
    for (const auto& [where, count] : words)
        found.words[where] = std::max(found.words[where], count);
}

} // namespace remanence::softpm
