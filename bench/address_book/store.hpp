// What the benchmark asks of every system it measures.
//
// 1. A phase (insert, remove) is one call and one durable commit, which is part of the phase's time.
// 2. Iteration and look-up read every byte of the entries they come by, and say so by a checksum, which is compared
//    with the source's: a wrong one ends the benchmark.
// 3. remove() is told the whole entry and removes that very one, by its name and what tells it from its namesakes.
#pragma once

#include <emmintrin.h>

#include <algorithm>
#include <array>
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

/// The sum of the bytes: reads all of them, costs little, and does not care how the fields are laid out. No branch depends on
/// lengths modulo 16, which no processor can predict.
inline std::uint64_t byte_sum(std::string_view text) {
    constexpr std::uintptr_t k_page_bytes = 4096;
    alignas(16) static constexpr std::array<unsigned char, 32> k_first =
        [] { // 16 bytes from [16 - n]: n of them are kept
            std::array<unsigned char, 32> kept{};
            std::fill(kept.begin(), kept.begin() + 16, static_cast<unsigned char>(0xff));
            return kept;
        }();
    const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
    __m128i sums = _mm_setzero_si128(); // of eight bytes each
    const auto add = [&](__m128i bytes) { sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, _mm_setzero_si128())); };
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left > 16; at += 16, left -= 16)
        add(load(at));
    if (reinterpret_cast<std::uintptr_t>(at) % k_page_bytes <= k_page_bytes - 16) { // what is behind may be read
        add(_mm_and_si128(load(at), load(k_first.data() + 16 - left)));
    } else {
        std::array<char, 16> last{};
        std::memcpy(last.data(), at, left);
        add(load(last.data()));
    }
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(sums)) +
           static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
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
    /// Finds the name of each, and of its entries the first. Returns the checksum of those found. `entries` here and below: a
    /// copy of those inserted, in the order in which they are wanted, so that reading them costs every system little.
    virtual std::uint64_t look_up(const records& entries) = 0;
    /// Removes each very entry. Returns how many it removed.
    virtual std::uint64_t remove(const records& entries) = 0;
    /// For the name of each, removes the first entry of that name. Returns how many it removed.
    virtual std::uint64_t remove_by_name(const records& entries) = 0;
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
system_kind remanence_hash_together_system();
system_kind remanence_packed_system();
system_kind berkeley_db_system();
system_kind berkeley_db_transaction_system();
system_kind gdbm_system();
system_kind leveldb_system();
system_kind lmdb_system();
system_kind rocksdb_system();
system_kind sqlite_system();
system_kind tkrzw_hash_system();
system_kind tkrzw_tree_system();
