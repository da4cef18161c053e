#include "cache.hpp"

#include <algorithm>
#include <exception>
#include <ranges>

namespace examples {

namespace {

std::int64_t seconds_since_1970() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

} // namespace

cache::all_locked::all_locked(all_shards& which) : which_(which) {
    for (shard& one : which_)
        one.lock.lock();
}

cache::all_locked::~all_locked() {
    for (shard& one : which_ | std::views::reverse)
        one.lock.unlock();
}

cache::cache(const std::filesystem::path& file, const cache_settings& chosen)
    : settings_(chosen), heap_(rem::heap::open(file, {.commit_at_close = true})) {
    heap_.write([&] {
        for (std::size_t i = 0; i < k_shards; ++i)
            shards_[i].table = &heap_.root<lru_table>("shard " + std::to_string(i));
    });
    durable_sets_ = locked_sets();
    points_ = std::jthread([this](const std::stop_token& stop) { make_points(stop); });
}

cache::~cache() {
    points_.request_stop();
    points_.join();
}

std::optional<std::string> cache::get(std::string_view key) {
    shard& its = shard_of(key);
    const std::lock_guard<std::mutex> locked(its.lock);
    const rem::string_pi* const value = its.table->get(key, seconds_since_1970());
    if (value == nullptr)
        return std::nullopt;
    return std::string(*value);
}

void cache::set(std::string_view key, std::string_view value, std::chrono::seconds lifetime) {
    shard& its = shard_of(key);
    const std::lock_guard<std::mutex> locked(its.lock);
    const std::size_t entries_max = std::max<std::size_t>(1, settings_.entries_max / k_shards);
    its.table->set(key, value, seconds_since_1970() + lifetime.count(), entries_max);
}

bool cache::erase(std::string_view key) {
    shard& its = shard_of(key);
    const std::lock_guard<std::mutex> locked(its.lock);
    return its.table->erase(key);
}

std::size_t cache::size() {
    const all_locked locked(shards_);
    std::size_t sum = 0;
    for (const shard& one : shards_)
        sum += one.table->size();
    return sum;
}

std::uint64_t cache::sets() {
    const all_locked locked(shards_);
    return locked_sets();
}

bool cache::is_sound() {
    const all_locked locked(shards_);
    return std::ranges::all_of(shards_, [](const shard& one) { return one.table->is_sound(); });
}

std::string cache::failure() const {
    const std::lock_guard<std::mutex> locked(failing_);
    return failure_;
}

cache::shard& cache::shard_of(std::string_view key) noexcept {
    return shards_[rem::seeded_string_hash()(key) % k_shards];
}

std::uint64_t cache::locked_sets() const noexcept {
    std::uint64_t sum = 0;
    for (const shard& one : shards_)
        sum += one.table->sets();
    return sum;
}

void cache::make_points(const std::stop_token& stop) {
    std::mutex nobody;
    std::condition_variable_any stopped;
    std::unique_lock<std::mutex> waiting(nobody);
    while (!stopped.wait_for(waiting, stop, settings_.loss_max / 2, [&] { return stop.stop_requested(); })) {
        try {
            make_point();
        } catch (const rem::error& reason) {
            if (reason.code() == rem::errc::no_space)
                continue; // memory has its changes still
            const std::lock_guard<std::mutex> locked(failing_);
            failure_ = reason.what();
            return;
        } catch (const std::bad_alloc&) {
            continue; // likewise
        }
    }
}

void cache::make_point() {
    std::uint64_t sets = 0;
    const rem::commit_ticket point = [&] {
        const all_locked locked(shards_); // a point is of one moment; nobody is in the midst of a change
        const auto begin = std::chrono::steady_clock::now();
        sets = locked_sets();
        rem::commit_ticket made = heap_.commit_async();
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
        longest_pause_ = std::max<std::int64_t>(longest_pause_, took.count());
        return made;
    }();
    point.wait();
    durable_sets_ = sets;
}

} // namespace examples
