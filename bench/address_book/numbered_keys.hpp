// For systems with unique keys and an order: with duplicates an entry's key is its name, a NUL and the number with which it
// was inserted, so namesakes lie side by side in that order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

inline std::string numbered_key(std::string_view name, std::uint32_t number) {
    std::string key(name);
    key.push_back('\0');
    for (int shift = 24; shift >= 0; shift -= 8)
        key.push_back(static_cast<char>(static_cast<unsigned char>(number >> shift)));
    return key;
}

/// Of a numbered key or of a name by itself.
inline std::string_view name_in(std::string_view key) { return key.substr(0, key.find('\0')); }

inline std::uint32_t number_in(std::string_view key) {
    std::uint32_t number = 0;
    for (const char byte : key.substr(key.find('\0') + 1))
        number = (number << 8) | static_cast<unsigned char>(byte);
    return number;
}
