// What is dumped and loaded, the same for every system: an address book with duplicates, and a vector of numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

struct plain_address {
    std::string street, city, phone;
};
using plain_book = std::multimap<std::string, plain_address>;
using plain_numbers = std::vector<std::int64_t>;

enum class workload { book, numbers };

[[nodiscard]] plain_book make_book();
[[nodiscard]] std::int64_t number_at(std::uint64_t index);
[[nodiscard]] plain_numbers make_numbers(std::uint64_t count);

/// Of all that was loaded, to be compared with what was made.
[[nodiscard]] std::uint64_t checksum(std::string_view text);
[[nodiscard]] std::uint64_t checksum(const plain_book& book);
[[nodiscard]] std::uint64_t checksum(const plain_numbers& numbers);

/// Seconds of one step each, and what the dump took. No file is synced: what is measured is the text or the bytes, not the device.
struct dump_times {
    double dump = 0;
    double load = 0;
    std::uint64_t checksum = 0; // of what was loaded
};

struct dump_system {
    std::string name;
    /// Makes the objects, dumps them to `file`, and loads them from there again, as others of a fresh container or heap.
    std::function<dump_times(workload what, std::uint64_t numbers, const std::filesystem::path& file)> run;
};

dump_system portable_system();
dump_system binary_form_system();
dump_system boost_binary_system();
dump_system boost_text_system();
dump_system cereal_binary_system();
dump_system cereal_json_system();
dump_system sqlite_system();

/// Opens heaps whose roots have 300 types, and one; and converts a million structs.
void measure_open(const std::filesystem::path& directory);
void measure_migration(const std::filesystem::path& directory);
