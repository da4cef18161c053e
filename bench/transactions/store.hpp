// What the benchmark asks of every system it measures: a table of 8-byte numbers, and transactions that update three.
//
// 1. update() adds 1 to the numbers of three keys in one transaction. It has the durability asked for once it returns.
// 2. Each thread updates keys of its own, so that no system needs to lock what it reads; it may call from many threads.
// 3. sum() adds up all numbers: it grows by three for each transaction, or the benchmark fails.
#pragma once

#include <keys.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

constexpr std::uint64_t k_updates = 3; // of a transaction
constexpr std::uint64_t k_initial = 1; // each number, so that none is zeros that need not be stored

using keys = std::array<std::uint64_t, k_updates>; // below the number of entries, each another one

enum class level {
    durable, ///< survives a power loss once update() returns
    lazy,    ///< survives the end of the process; nothing is synced by update()
};

/// Where the numbers lie.
enum class shape {
    array, ///< by their index
    map,   ///< by a 64-bit key, of no order
};

struct settings {
    std::filesystem::path directory; // the system's own
    shape kind;
    level durability;
    std::uint64_t entries;
    unsigned threads; // that may call at once
    [[nodiscard]] std::uint64_t key(std::uint64_t n) const { return kind == shape::map ? bench::scattered_key(n) : n; }
};

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// Puts the numbers there, each k_initial, in an empty store, durably.
    virtual void fill() = 0;
    virtual void update(unsigned thread, const keys& which) = 0;
    virtual std::uint64_t sum() = 0;
    /// How many it made, if it says so.
    virtual std::uint64_t checkpoints() { return 0; }
    /// Like the destructor, but throws what goes wrong.
    virtual void close() = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const settings&)> open;
    /// Systems of one family share the files that fill() made.
    std::string family;
    bool has_lazy = true;
};

// One per source file.
std::vector<system_kind> remanence_systems();
system_kind device_system();
system_kind berkeley_db_system();
system_kind lmdb_system();
system_kind redb_system();
system_kind rocksdb_system();
system_kind sqlite_system();
