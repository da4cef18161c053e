// What the benchmark asks of every system: reservations of resources, of which no two of a resource overlap.
//
// A reservation is its own key. Those of a resource are in the order of their ends, which is that of their beginnings, too,
// so whatever overlaps with a time from `start` on is behind the first key {resource, start + 1, 0}, or there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>

/// From start to end, both in minutes, without the last.
struct reservation {
    std::uint32_t resource = 0;
    std::uint32_t start = 0;
    std::uint32_t end = 0;

    friend bool operator==(const reservation&, const reservation&) = default;
    friend bool operator<(const reservation& a, const reservation& b) {
        return std::tie(a.resource, a.end, a.start) < std::tie(b.resource, b.end, b.start);
    }
};
inline reservation first_behind(std::uint32_t resource, std::uint32_t start) { return {resource, 0, start + 1}; }

struct request {
    reservation wanted;
    std::uint64_t who = 0;
};
/// A time of so many minutes between two others, when a resource is free.
struct query {
    std::uint32_t resource = 0;
    std::uint32_t from = 0;
    std::uint32_t until = 0;
    std::uint32_t minutes = 0;
};

inline std::uint64_t checksum_of(const reservation& each, std::uint64_t who) {
    return (each.resource * 0x9e3779b97f4a7c15U + each.start) * 0xd1b54a32d192ed03U + each.end + who;
}

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// Makes those that overlap with none, in one durable transaction; returns how many.
    virtual std::uint64_t reserve(std::span<const request> requests) = 0;
    /// The sum of the beginnings of the first times that fit; of those without any, of `until`.
    virtual std::uint64_t find_free(std::span<const query> queries) = 0;
    /// One pass over everything: the sum of checksum_of().
    virtual std::uint64_t iterate() = 0;
    /// Removes those that are there, in one durable transaction; returns how many.
    virtual std::uint64_t cancel(std::span<const reservation> reservations) = 0;
    virtual void close() = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory)> open;
};

system_kind remanence_btree_system();
system_kind remanence_map_system();
system_kind berkeley_db_system();
system_kind leveldb_system();
system_kind lmdb_system();
system_kind rocksdb_system();
system_kind sqlite_system();
system_kind tkrzw_system();
