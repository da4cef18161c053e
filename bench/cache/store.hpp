// What the benchmark asks of every system it measures: a cache of texts, all of which fit, with the order of their use.
//
// 1. get() finds the value, and notes that it was used just now; set() puts another value in its place, and notes it too. What is
//    noted is part of what a point keeps. Remanence moves the entry to the front of a list, so that the one to go is known at once; the
//    others keep a number beside the entry, the least that tells which were used longest ago, so for them to find one they have to search.
// 2. point() makes what happened until then outlive the process, or the machine, as the system's name says.
// 3. Each value begins with its key; get() looks whether it does.
#pragma once

#include <harness.hpp>

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    virtual void get(std::string_view key) = 0;
    virtual void set(std::string_view key, std::string_view value) = 0;
    virtual void point() = 0;
    /// All is durable once this returns, and nothing is left to be done later.
    virtual void close() = 0;
    /// Whose memory and writes count; 0: this process.
    [[nodiscard]] virtual pid_t process() const { return 0; }
};

inline void check_value(std::string_view key, std::string_view value) {
    if (!value.starts_with(key))
        throw std::runtime_error("there is another value");
}

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory)> open;
    bool has_points = true;    ///< that the program makes
    bool is_slow = false;      ///< takes no part where there is to be a point several times in a second
    bool has_sections = false; ///< each operation is a transaction that outlives the process
};

// One per source file.
std::vector<system_kind> remanence_systems();
std::vector<system_kind> lmdb_systems();
std::vector<system_kind> rocksdb_systems();
std::vector<system_kind> redis_systems();
