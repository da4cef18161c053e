// The process that the demo kills: a cache that threads use as programs use one, in front of a store of many more keys.
// Depends on cache.hpp and the standard library.
#pragma once

#include "cache.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

struct service_settings {
    std::filesystem::path file;
    examples::cache_settings cache;
    std::uint64_t keys;    ///< that there are behind the cache
    std::uint64_t threads; ///< that ask for them
    std::uint64_t seed;
};

/// What the process tells, in memory that it shares with the demo. Times are of the steady clock, which all processes share.
struct service_report {
    // Set before `answered`, and then left alone.
    std::int64_t first_answer = 0; ///< when
    std::uint64_t entries_found = 0;
    std::uint64_t sets_found = 0;
    std::int64_t newest_found = 0; ///< when the entry was set that came last; 0: there is none
    bool is_sound = false;
    std::atomic<bool> answered = false;

    std::atomic<std::uint64_t> gets = 0;
    std::atomic<std::uint64_t> hits = 0;
    std::atomic<std::uint64_t> durable_sets = 0;
    std::atomic<std::int64_t> longest_pause = 0; ///< nanoseconds
    std::atomic<bool> failed = false;            ///< it has written why on standard error
};

[[nodiscard]] std::int64_t steady_now();

/// Opens the cache, answers a question, looks at what is there, and reports; then works until it is killed.
[[noreturn]] void serve(const service_settings& chosen, service_report& report);

/// Opens it for a look, as the last process of the demo.
void look(const service_settings& chosen, service_report& report);
