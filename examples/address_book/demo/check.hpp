// Is the book what the source says, entry by entry?
#pragma once

#include "../address_book.hpp"
#include "../address_data.hpp"

#include <chrono>
#include <cstdint>
#include <string>

struct content_check {
    std::uint64_t checked = 0; ///< entries of the source that the book has, in equal number
    std::uint64_t missing = 0; ///< entries of the source that the book has not
    std::uint64_t foreign = 0; ///< entries of the book that the source has not
    std::string example;       ///< one of the missing or foreign
    std::chrono::nanoseconds time{};
};

/// Compares the book with the source's first `count` entries, as multisets and in every byte.
content_check check_content(const address_book& people, const address_data::source& source, std::uint64_t count);

struct lookup_check {
    std::uint64_t wrong = 0; ///< names not found, or found under another name
    std::chrono::nanoseconds time{};
};

/// Looks up the name of each of the source's first `count` entries.
lookup_check check_lookups(const address_book& people, const address_data::source& source, std::uint64_t count);
