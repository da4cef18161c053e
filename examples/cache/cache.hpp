// A cache that survives its process: shards of a hash map with an order of use, a lock for each, and asynchronous commits
// that nobody waits for. Depends on Remanence and the standard library.
#pragma once

#include "lru_table.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace examples {

struct cache_settings {
    std::size_t entries_max = 1'000'000;
    /// What a crash may lose, at most, as long as the disk keeps up: a point is made each half of this, and has as long to
    /// become durable.
    std::chrono::milliseconds loss_max{1000};
};

/// Keys and values are bytes. Members may be called from several threads. An entry that has expired is not found; it
/// leaves when it is asked for, or is the one that was used longest ago.
class cache {
public:
    /// Opens the file, or creates it. Throws remanence::error.
    cache(const std::filesystem::path& file, const cache_settings& chosen);
    cache(const cache&) = delete;
    cache& operator=(const cache&) = delete;
    /// Keeps everything, until the next one opens the file.
    ~cache();

    [[nodiscard]] std::optional<std::string> get(std::string_view key);
    /// Throws std::bad_alloc, and the cache then may have lost the entry of that key, or the oldest one.
    void set(std::string_view key, std::string_view value, std::chrono::seconds lifetime);
    /// Returns whether it was there.
    bool erase(std::string_view key);
    [[nodiscard]] std::size_t size();

    /// How many calls of set() no crash takes back, and how many there were, since the file was created.
    [[nodiscard]] std::uint64_t durable_sets() const noexcept { return durable_sets_; }
    [[nodiscard]] std::uint64_t sets();
    /// The longest time for which a point has held up all others.
    [[nodiscard]] std::chrono::nanoseconds longest_pause() const noexcept {
        return std::chrono::nanoseconds(longest_pause_);
    }
    /// Why there are no points any more; empty as long as there are. A full disk is no such reason: the next point tries again.
    [[nodiscard]] std::string failure() const;

    /// Calls act(const cache_item&) for each entry, with all locked.
    template <class Act>
    void for_each(Act act) {
        const all_locked locked(shards_);
        for (const shard& one : shards_) {
            for (const cache_item* item = one.table->newest(); item != nullptr; item = item->older)
                act(*item);
        }
    }
    /// Whether each shard is whole. O(entries).
    [[nodiscard]] bool is_sound();

private:
    static constexpr std::size_t k_shards = 16;
    struct shard {
        std::mutex lock; // of the process: a lock in the heap would be found locked after a crash
        lru_table* table = nullptr;
    };
    using all_shards = std::array<shard, k_shards>;
    class all_locked {
    public:
        explicit all_locked(all_shards& which);
        all_locked(const all_locked&) = delete;
        all_locked& operator=(const all_locked&) = delete;
        ~all_locked();

    private:
        all_shards& which_;
    };

    shard& shard_of(std::string_view key) noexcept;
    [[nodiscard]] std::uint64_t locked_sets() const noexcept;
    void make_points(const std::stop_token& stop);
    void make_point();

    const cache_settings settings_;
    rem::heap heap_;
    all_shards shards_;
    std::atomic<std::uint64_t> durable_sets_ = 0;
    std::atomic<std::int64_t> longest_pause_ = 0;
    mutable std::mutex failing_;
    std::string failure_; // guarded by failing_
    std::jthread points_; // the last member: it uses the others
};

} // namespace examples
