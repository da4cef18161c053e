// What the systems have in common: a table of numbers by 64-bit keys, which several processes have open at once.
#pragma once

#include <keys.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// A process opens one for itself, and calls it from one thread.
class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// The keys of the numbers below `entries`, each with 0; durable when it returns.
    virtual void fill(std::uint64_t entries) = 0;
    /// One durable transaction that adds 1 to each of these.
    virtual void update(std::span<const std::uint64_t> keys) = 0;
    /// A read section (transaction) in which one key is looked up. Throws when it is not there.
    virtual std::uint64_t look_up(std::uint64_t key) = 0;
    /// A read section in which nothing is looked up.
    virtual void look_at_nothing() = 0;
    /// A read section that stays.
    virtual void begin_reading() = 0;
    virtual void close() = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory)> open;
};

// One per source file.
std::vector<system_kind> remanence_systems();
system_kind lmdb_system();
system_kind sqlite_system();
