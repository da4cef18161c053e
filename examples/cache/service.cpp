#include "service.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using examples::cache;

/// A few keys are asked for often, most hardly ever.
std::string draw_key(std::mt19937_64& random, std::uint64_t keys) {
    constexpr double k_preference = 4;
    const double share = std::pow(std::uniform_real_distribution<double>()(random), k_preference);
    return "key " + std::to_string(static_cast<std::uint64_t>(share * static_cast<double>(keys)));
}

/// Asks the store behind the cache, which takes a while. The value begins with the time, so that the demo sees up to when the
/// cache was kept.
std::string ask_store(const std::string& key) {
    constexpr std::chrono::microseconds k_while{50};
    std::this_thread::sleep_for(k_while);
    return std::to_string(steady_now()) + " value of " + key;
}

std::int64_t time_of(std::string_view value) {
    std::int64_t time = 0;
    std::from_chars(value.data(), value.data() + value.size(), time);
    return time;
}

[[noreturn]] void ask_for_ever(cache& all, const service_settings& chosen, std::uint64_t seed, service_report& report) {
    std::mt19937_64 random(seed);
    for (;;) {
        const std::string key = draw_key(random, chosen.keys);
        const bool is_new = random() % 10 == 0; // the value behind the cache has changed
        if (!is_new) {
            const bool is_hit = all.get(key).has_value();
            ++report.gets;
            report.hits += is_hit ? 1 : 0;
            if (is_hit)
                continue;
        }
        all.set(key, ask_store(key), std::chrono::seconds(1 + random() % 600));
    }
}

void answer(cache& all, service_report& report) {
    static_cast<void>(all.get("key 0"));
    report.first_answer = steady_now();
    report.entries_found = all.size();
    report.sets_found = all.sets();
    report.is_sound = all.is_sound();
    all.for_each([&](const examples::cache_item& item) {
        report.newest_found = std::max(report.newest_found, time_of(item.value));
    });
    report.answered = true;
}

} // namespace

std::int64_t steady_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void serve(const service_settings& chosen, service_report& report) {
    cache all(chosen.file, chosen.cache);
    answer(all, report);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < chosen.threads; ++i)
        threads.emplace_back([&, i] { ask_for_ever(all, chosen, chosen.seed + i, report); });
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        report.durable_sets = all.durable_sets();
        report.longest_pause = all.longest_pause().count();
        if (const std::string reason = all.failure(); !reason.empty() && !report.failed.exchange(true))
            std::cerr << "cache_demo: " << reason << '\n';
    }
}

void look(const service_settings& chosen, service_report& report) {
    cache all(chosen.file, chosen.cache);
    answer(all, report);
}
