// What the address book keeps in its heap: shared by the tool, the demo and the benchmark.
#pragma once

#include <remanence/remanence.hpp>

#include <cstdint>

struct address {
    remanence::string street, city, phone;
};

using address_book = remanence::multimap<remanence::string, address>;

/// How far an import got; committed together with the entries, so the two always agree.
struct import_state {
    std::uint64_t entries;  ///< the source's first ones, which are in the book
    std::uint64_t distinct; ///< 1 when the source's names are distinct
};

inline constexpr const char* k_people = "people";
inline constexpr const char* k_import = "import";
