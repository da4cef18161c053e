// What the systems have in common: a record of 100 bytes, which two processes have open and change in turn.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using record = std::array<unsigned char, 100>;

/// A process opens one for itself, and calls it from one thread.
class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// One transaction that adds 1 to each byte of the record, which is made when it is not there.
    virtual void change() = 0;
    [[nodiscard]] virtual record look() = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory, bool is_durable)> open;
};

inline void add_one(record& to) {
    for (unsigned char& byte : to)
        ++byte;
}

// One per source file.
system_kind remanence_system();
system_kind lmdb_system();
system_kind sqlite_system();
