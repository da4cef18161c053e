// What is asked of each system: blocks in a file, and commits of what was done to them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

class block_store {
public:
    block_store() = default;
    block_store(const block_store&) = delete;
    block_store& operator=(const block_store&) = delete;
    virtual ~block_store() = default;

    /// What follows belongs together, until commit().
    virtual void begin() = 0;
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void free(void* block, std::size_t bytes) = 0;
    /// Returns once it is on the device.
    virtual void commit() = 0;
    /// All memory that allocations and frees may change, as it is mapped.
    [[nodiscard]] virtual std::span<const std::byte> memory() const = 0;
};

struct system_kind {
    std::string name;
    std::unique_ptr<block_store> (*create)(const std::filesystem::path& file, std::size_t bytes);
};

// One per source file.
system_kind declared_system();
system_kind remanence_system();
system_kind interprocess_system();
system_kind pmemobj_system();
