#include "objects.hpp"

#include <address_data.hpp> // of the example

plain_book make_book() {
    const address_data::source source(address_data::selection::duplicates);
    plain_book book;
    for (std::size_t i = 0; i != source.size(); ++i) {
        const address_data::entry each = source[i];
        book.emplace(each.name, plain_address{each.street, each.city, each.phone});
    }
    return book;
}

std::int64_t number_at(std::uint64_t index) { // of all lengths, positive and negative
    const std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15U;
    return static_cast<std::int64_t>(mixed) >> (mixed % 61);
}

plain_numbers make_numbers(std::uint64_t count) {
    plain_numbers numbers(count);
    for (std::uint64_t i = 0; i != count; ++i)
        numbers[i] = number_at(i);
    return numbers;
}

std::uint64_t checksum(std::string_view text) {
    std::uint64_t sum = text.size();
    for (const char c : text)
        sum = sum * 31 + static_cast<unsigned char>(c);
    return sum;
}

std::uint64_t checksum(const plain_book& book) {
    std::uint64_t sum = 0;
    for (const auto& [name, address] : book)
        sum += checksum(name) ^ checksum(address.street) ^ checksum(address.city) ^ checksum(address.phone);
    return sum;
}

std::uint64_t checksum(const plain_numbers& numbers) {
    std::uint64_t sum = 0;
    for (const std::int64_t each : numbers)
        sum = sum * 31 + static_cast<std::uint64_t>(each);
    return sum;
}
