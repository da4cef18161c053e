// The golden files on a simulated disk, where a fuzz target puts its input over a part of them, opens the heap with the
// engine, and uses it. What fails an oracle ends the process, which is what libFuzzer looks for.
#pragma once

#include "base/units.hpp"
#include "format/superblock.hpp"
#include "testing/simulated_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace remanence::fuzz {

/// Deterministic, from the seed that libFuzzer hands to a mutator.
class generator {
public:
    explicit generator(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t n) {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        return (state_ >> 33) % n;
    }

private:
    std::uint64_t state_;
};

template <class T>
T load(std::span<const std::uint8_t> bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}
template <class T>
void store(std::span<std::uint8_t> bytes, std::size_t at, const T& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Ends the process with a message, unless it holds.
void require(bool holds, const std::string& otherwise);

/// What an open found.
struct what_opened {
    std::optional<failure> refused;
    bool is_sound = false;
    std::uint64_t version = 0;
    std::uint64_t checksum = 0; // of the image's memory, if that is not too large
};

constexpr std::uint64_t k_compared_bytes_max = 64 * MiB;

class heap_files {
public:
    enum class kind { closed, unapplied };
    explicit heap_files(kind which);

    [[nodiscard]] const std::vector<std::byte>& heap() const { return heap_; }
    [[nodiscard]] const std::vector<std::byte>& log() const { return log_; } // empty when closed
    /// the current superblock.
    [[nodiscard]] const format::superblock& super() const { return super_; }

    /// Takes the files back to what they were.
    void reset() { disk_.rewind(intact_); }
    void write_heap(std::uint64_t offset, std::span<const std::uint8_t> bytes);
    /// As log_input.hpp has it. The first `far_bytes` of its records come to lie behind a free stretch, where the
    /// superblock then says that the log begins, and what follows them at the log's beginning; with 0, all there.
    void write_log_input(std::span<const std::uint8_t> input, std::size_t far_bytes = 0);
    void resize(const char* path, std::uint64_t bytes);
    [[nodiscard]] simulation::simulated_disk& disk() { return disk_; }
    /// Opens with the engine and checks everything.
    what_opened open_and_check();
    /// Opens, reads everything, commits and closes; what verify() finds sound must stay so and open again.
    void open_and_use();

private:
    void write(const char* path, std::uint64_t offset, std::span<const std::uint8_t> bytes);

    simulation::simulated_disk disk_;
    std::vector<std::byte> heap_;
    std::vector<std::byte> log_;
    format::superblock super_{};
    simulation::simulated_disk::savepoint intact_{};
};

} // namespace remanence::fuzz
