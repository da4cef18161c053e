// The import of an address book whose every entry is a pure function of its number, in commits whose sizes are a pure
// function of theirs: so what a heap must hold after n commits is known.
#pragma once

#include <remanence/remanence.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace address_import {

namespace rem = remanence;

struct address {
    rem::string street, city, phone;
};
using address_book = rem::multimap<rem::string, address>;

/// How far the import is: changed in the same commits as the book.
struct position {
    std::uint64_t commits = 0;
    std::uint64_t entries = 0;
};

constexpr std::uint64_t k_batch = 500;
constexpr std::uint64_t k_large_batch = 2000;
constexpr std::uint64_t k_large_every = 12;

/// The import's last one; some 60,000 entries, as the address book without duplicates has.
constexpr std::uint64_t k_commits = 96;

constexpr std::uint64_t batch_of(std::uint64_t commit) {
    return commit % k_large_every == k_large_every - 1 ? k_large_batch : k_batch;
}
constexpr std::uint64_t entries_after(std::uint64_t commits) {
    return commits * k_batch + commits / k_large_every * (k_large_batch - k_batch);
}

/// Small commits make few pages dirty, small chunks and a short log make checkpoints and fresh chunks frequent.
inline rem::heap_options options() {
    return {.log = {.log_limit_bytes = 256 << 10}, .memory = {.chunk_bytes = 64 << 10}};
}

struct entry {
    std::string name, street, city, phone;
};

constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

inline void append(std::string& text, std::uint64_t number) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Names repeat; phone numbers end with the entry's number.
inline void make_entry(std::uint64_t index, entry& e) {
    constexpr std::string_view k_syllables[] = {"AN", "BER", "CHI", "DON", "EL", "FAR", "GUT", "HEL",
                                                "IN", "JOR", "KNU", "LAM", "MO", "NEU", "OR",  "PET"};
    const std::uint64_t random = mix(index);
    e.name.clear();
    for (std::uint64_t bits = random % 65536, i = 0; i < 4; ++i, bits /= 16)
        e.name += k_syllables[bits % 16];
    e.street.clear();
    append(e.street, random >> 52);
    e.street += " Art of Programming Street, Building ";
    append(e.street, random >> 40 & 15);
    e.city.assign(k_syllables[random >> 20 & 15]);
    e.city.append((random >> 24) % 20, 'o'); // some fit into the string itself
    e.phone.assign("+1-650-555-");
    append(e.phone, index);
}

inline void add_batch(address_book& book, position& where) {
    entry e;
    for (std::uint64_t left = batch_of(where.commits); left > 0; --left) {
        make_entry(where.entries++, e);
        book.emplace(e.name, address{rem::string(e.street), rem::string(e.city), rem::string(e.phone)});
    }
    ++where.commits;
}

/// What is wrong; nothing when the heap holds just what so many commits have put into it.
inline std::optional<std::string> find_fault(const address_book& book, const position& where) {
    if (where.entries != entries_after(where.commits))
        return "the counts of commits and entries are of different commits";
    if (book.size() != where.entries) {
        return "the book has " + std::to_string(book.size()) + " entries instead of " + std::to_string(where.entries);
    }
    std::vector<bool> seen(where.entries);
    entry expected;
    std::string_view last;
    for (const auto& [name, value] : book) {
        std::uint64_t index = where.entries;
        const std::string_view phone = value.phone;
        if (phone.size() > 11)
            std::from_chars(phone.data() + 11, phone.data() + phone.size(), index);
        if (index >= where.entries || seen[index])
            return "a phone number is not of an entry, or there twice: " + std::string(phone);
        seen[index] = true;
        make_entry(index, expected);
        if (name != expected.name || value.street != expected.street || value.city != expected.city ||
            phone != expected.phone) {
            return "entry " + std::to_string(index) + " is not what was imported";
        }
        if (name < last)
            return "the book is not sorted at entry " + std::to_string(index);
        last = name;
    }
    return {};
}

} // namespace address_import
