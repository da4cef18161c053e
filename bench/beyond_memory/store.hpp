// What the systems have in common: numbered entries of a fixed size, several times as many as memory holds.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

inline constexpr std::uint64_t k_value_bytes = 240;

/// The first word tells the key, the second how often it was updated.
using value_words = std::array<std::uint64_t, k_value_bytes / sizeof(std::uint64_t)>;

inline value_words first_value(std::uint64_t key) {
    value_words words;
    for (std::uint64_t i = 0; i < words.size(); ++i)
        words[i] = key * words.size() + i;
    words[0] = key;
    words[1] = 0;
    return words;
}

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// Keys from 0 on, in order; durable when it returns.
    virtual void build(std::uint64_t entries) = 0;
    /// Throws when it is not there.
    virtual value_words look_up(std::uint64_t key) = 0;
    /// One durable transaction that adds 1 to the second word of each.
    virtual void update(const std::vector<std::uint64_t>& keys) = 0;
    /// All entries, and the sum of their second words.
    struct totals {
        std::uint64_t entries = 0;
        std::uint64_t updates = 0;
    };
    virtual totals count() = 0;
    virtual void close() = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory)> open;
};

system_kind remanence_packed_system();
system_kind remanence_page_by_page_system();
system_kind remanence_one_commit_system();
system_kind remanence_many_commits_system();
system_kind lmdb_system();
system_kind rocksdb_system();
