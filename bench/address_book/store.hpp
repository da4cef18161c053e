// What the benchmark asks of every system it measures.
//
// 1. A phase (insert, remove) is one call and one durable commit, which is part of the phase's time.
// 2. Iteration and look-up read every byte of the entries they come by, and say so by a checksum, which is compared
//    with the source's: a wrong one ends the benchmark.
// 3. remove() is told the whole entry and removes that very one, by its name and what tells it from its namesakes.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct record {
    std::string name;
    std::string street;
    std::string city;
    std::string phone; ///< no other record has it
    std::string value; ///< street, city and phone with a NUL between, for systems that store bytes
};

using records = std::vector<record>;
/// Numbers of records, in the order in which to use them.
using record_order = std::vector<std::uint32_t>;

/// The sum of the bytes: reads all of them, costs little, and does not care how the fields are laid out.
inline std::uint64_t byte_sum(std::string_view text) {
    constexpr std::uint64_t k_even_bytes = 0x00ff00ff00ff00ffU;
    constexpr std::uint64_t k_even_lanes = 0x0000ffff0000ffffU;
    constexpr std::size_t k_most = 1024; // then a lane of 16 bits might overflow
    if (text.size() > k_most)
        return byte_sum(text.substr(0, k_most)) + byte_sum(text.substr(k_most));
    std::uint64_t lanes = 0;
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, sizeof word);
        lanes += (word & k_even_bytes) + ((word >> 8) & k_even_bytes);
    }
    const std::uint64_t pairs = (lanes & k_even_lanes) + ((lanes >> 16) & k_even_lanes);
    std::uint64_t sum = (pairs & 0xffffffffU) + (pairs >> 32);
    for (; at < text.size(); ++at)
        sum += static_cast<unsigned char>(text[at]);
    return sum;
}

/// Of an entry, from the sums of its parts. Checksums of many entries are the sums of theirs, in whatever order.
inline std::uint64_t entry_checksum(std::uint64_t name_sum, std::uint64_t value_sum) {
    std::uint64_t mixed = (name_sum * 0x9e3779b97f4a7c15U) ^ (value_sum * 0xd1b54a32d192ed03U);
    mixed ^= mixed >> 32;
    return mixed * 0xbf58476d1ce4e5b9U;
}

inline std::uint64_t entry_checksum(std::string_view name, std::string_view value) {
    return entry_checksum(byte_sum(name), byte_sum(value));
}

/// The same for anything with strings street, city and phone.
template <class Address>
std::uint64_t address_checksum(std::string_view name, const Address& where) {
    return entry_checksum(byte_sum(name), byte_sum(where.street) + byte_sum(where.city) + byte_sum(where.phone));
}

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    virtual void insert(const records& entries) = 0;
    /// One pass over everything. Returns the checksum.
    virtual std::uint64_t iterate() = 0;
    /// Finds the name of each, and of its entries the first. Returns the checksum of those found.
    virtual std::uint64_t look_up(const records& entries, const record_order& order) = 0;
    /// Removes each very entry. Returns how many it removed.
    virtual std::uint64_t remove(const records& entries, const record_order& order) = 0;
    /// For the name of each, removes the first entry of that name. Returns how many it removed.
    virtual std::uint64_t remove_by_name(const records& entries, const record_order& order) = 0;
    virtual std::uint64_t size() = 0;
    /// Like the destructor, but throws what goes wrong.
    virtual void close() = 0;
};

/// Which of several entries of one name a system finds first.
enum class first_found { inserted_first, smallest_value };

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory, bool duplicates)> open;
    bool persistent = true;
    bool keeps_duplicates = true;
    first_found finds = first_found::inserted_first;
};

/// Those that this program was built with; the first is the reference.
std::vector<system_kind> all_systems();

// One per source file; the directory is the system's own, and empty before its first open.
system_kind std_multimap_system();
system_kind remanence_system();
system_kind remanence_btree_system();
system_kind remanence_hash_system();
system_kind berkeley_db_system();
system_kind berkeley_db_transaction_system();
system_kind gdbm_system();
system_kind leveldb_system();
system_kind lmdb_system();
system_kind rocksdb_system();
system_kind sqlite_system();
system_kind tkrzw_hash_system();
system_kind tkrzw_tree_system();
