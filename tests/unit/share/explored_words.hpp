// The protocol's words and locks as steps of an exploration, in one byte each.
#pragma once

#include "share/layout.hpp"
#include "unit/share/exploration.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remanence::exploration {

/// Answers what is done to words, within the run of a phase.
class world {
public:
    world() = default;
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    virtual ~world() = default;

    virtual std::uint8_t load(const std::uint8_t& word, std::memory_order order) = 0;
    virtual void store(std::uint8_t& word, std::uint8_t value, std::memory_order order) = 0;
    virtual std::uint8_t exchange(std::uint8_t& word, std::uint8_t value) = 0;
    virtual std::uint8_t compare_exchange(std::uint8_t& word, std::uint8_t expected, std::uint8_t value) = 0;
    /// Of a field of a doubled record.
    virtual std::uint8_t load_field(const std::uint8_t& field) = 0;
    virtual void store_field(std::uint8_t& field, std::uint8_t value) = 0;

    static inline world* acting = nullptr;
};

inline std::uint8_t narrow(std::uint64_t value) {
    REM_CHECK(value == share::k_none || value < 0xff);
    return static_cast<std::uint8_t>(value);
}
inline std::uint64_t wide(std::uint8_t value) { return value == 0xff ? share::k_none : value; }

class explored_word {
public:
    [[nodiscard]] std::uint64_t load(std::memory_order order) const { return wide(world::acting->load(value_, order)); }
    void store(std::uint64_t value, std::memory_order order) { world::acting->store(value_, narrow(value), order); }
    std::uint64_t exchange(std::uint64_t value, std::memory_order) {
        return wide(world::acting->exchange(value_, narrow(value)));
    }
    bool compare_exchange(std::uint64_t& expected, std::uint64_t value, std::memory_order) {
        const std::uint64_t found = wide(world::acting->compare_exchange(value_, narrow(expected), narrow(value)));
        const bool was_expected = found == expected;
        expected = found;
        return was_expected;
    }
    std::uint8_t value_ = 0;
};

class explored_field {
public:
    [[nodiscard]] std::uint64_t load(std::memory_order) const { return wide(world::acting->load_field(value_)); }
    void store(std::uint64_t value, std::memory_order) { world::acting->store_field(value_, narrow(value)); }
    std::uint8_t value_ = 0;
};

} // namespace remanence::exploration
