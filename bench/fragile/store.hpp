// Where people are kept, by number, as bytes that serialize_trait makes of them.
#pragma once

#include <remanence/remanence.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// An ordinary class: its strings lie in the process's own memory.
struct person {
    std::string name;
    std::string city;
    std::vector<std::string> phones;
};

inline person person_of(std::uint64_t number) {
    const std::string digits = std::to_string(number);
    return {"somebody whose number is " + digits, "a city " + digits, {"+1 " + digits, "+44 20 7946 " + digits}};
}

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    virtual void fill(std::uint64_t people) = 0;
    /// Bytes of the names and cities, of copies that were only read.
    virtual std::size_t read(const std::vector<std::uint64_t>& numbers) = 0;
    /// The same by references, or copies, that the program could have changed, and that are written back if it did.
    virtual std::size_t touch(const std::vector<std::uint64_t>& numbers) = 0;
    /// Each gets another phone.
    virtual void change(const std::vector<std::uint64_t>& numbers) = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path&)> open;
};

system_kind remanence_system();
system_kind berkeley_db_system();
