// What is measured of each container, by Google Benchmark, in a process of its own. Depends on the library, Google Benchmark
// and the standard library.
//
// A pass goes over 10,000 elements or more: of one container, or of many small ones with different keys, so that neither
// the clock nor a processor that learns a short sequence of keys by heart makes the figure.
#pragma once

#include <harness.hpp>
#include <keys.hpp>
#include <maps.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace containers {

using number = std::uint64_t;

struct workload {
    std::string keys; ///< "numbers" or "texts"
    std::size_t entries;
    std::filesystem::path directory;
};

struct system {
    std::string name;
    bool is_ordered;
    bool has_numbers; ///< else for texts only
    void (*measure)(const workload&);
};

// What each source file brings.
void add_standard(std::vector<system>& all);
void add_ours(std::vector<system>& all);
void add_absl(std::vector<system>& all);
void add_boost_map(std::vector<system>& all);
void add_boost_unordered_flat_map(std::vector<system>& all);

/// Containers with equally many elements each, and the keys for them. `Maps` is a vector of maps to numbers.
template <class Maps, class Key>
class passes {
public:
    using map = typename Maps::value_type;

    passes(Maps& maps, std::size_t entries) : maps_(maps), entries_(entries) {
        const std::size_t count = std::max<std::size_t>(1, 10'000 / entries);
        maps_.resize(count);
        keys_ = bench::make_keys<Key>(2 * count * entries);
        const auto middle = keys_.begin() + static_cast<std::ptrdiff_t>(count * entries);
        absent_.assign(std::move_iterator(middle), std::move_iterator(keys_.end()));
        keys_.erase(middle, keys_.end());
        fill(); // brings the memory in
    }

    /// Into containers that are empty and grow.
    void insert(benchmark::State& state) {
        run(state, [this] { reset(); }, [](map& into, const Key& key) { insert_one(into, key); });
        is_filled_ = true;
    }
    void find_hit(benchmark::State& state) {
        number sum = 0;
        run(state, [this] { fill(); }, [&sum](map& in, const Key& key) { sum += bench::find_in(in, key)->second; });
        require(sum == passes_ * keys_.size());
    }
    void find_miss(benchmark::State& state) {
        number found = 0;
        std::swap(keys_, absent_);
        run(
            state, [] {},
            [&found](map& in, const Key& key) { found += bench::find_in(in, key) == in.end() ? 0U : 1U; });
        std::swap(keys_, absent_);
        require(found == 0);
    }
    void iterate(benchmark::State& state) {
        number sum = 0;
        passes_ = 0;
        for (auto each : state) {
            const bench::stopwatch watch;
            for (const map& one : maps_) {
                for (const auto& element : one)
                    sum += element.second;
            }
            state.SetIterationTime(watch.cpu_seconds());
            ++passes_;
        }
        require(sum == passes_ * keys_.size());
        state.SetItemsProcessed(static_cast<std::int64_t>(sum));
    }
    void erase(benchmark::State& state) {
        run(
            state,
            [this] {
                fill();
                is_filled_ = false;
            },
            [](map& from, const Key& key) { from.erase(bench::find_in(from, key)); });
        require(std::ranges::all_of(maps_, [](const map& one) { return one.empty(); }));
    }

private:
    /// Passes in ever new random orders; only `f` counts.
    template <class Prepare, class F>
    void run(benchmark::State& state, const Prepare& prepare, const F& f) {
        passes_ = 0;
        for (auto each : state) {
            prepare();
            for (std::size_t i = 0; i < maps_.size(); ++i)
                std::ranges::shuffle(keys_of(i), random_);
            const bench::stopwatch watch;
            for (std::size_t i = 0; i < maps_.size(); ++i) {
                for (const Key& key : keys_of(i))
                    f(maps_[i], key);
            }
            state.SetIterationTime(watch.cpu_seconds());
            ++passes_;
        }
        state.SetItemsProcessed(static_cast<std::int64_t>(passes_ * keys_.size()));
    }

    [[nodiscard]] std::span<Key> keys_of(std::size_t index) {
        return std::span(keys_).subspan(index * entries_, entries_);
    }
    static void insert_one(map& into, const Key& key) { into.emplace(typename map::key_type(key), number{1}); }

    void reset() {
        for (map& one : maps_)
            one = map(one.get_allocator());
        is_filled_ = false;
    }
    void fill() {
        for (std::size_t i = 0; i < maps_.size() && !is_filled_; ++i) {
            for (const Key& key : keys_of(i))
                insert_one(maps_[i], key);
        }
        is_filled_ = true;
    }
    static void require(bool holds) {
        if (!holds)
            throw std::runtime_error("the container held something else");
    }

    Maps& maps_;
    std::size_t entries_;
    std::vector<Key> keys_;
    std::vector<Key> absent_;
    std::mt19937_64 random_{2};
    std::size_t passes_ = 0;
    bool is_filled_ = false;
};

/// Hands CPU seconds per element to the parent.
class handing_reporter : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs)
            bench::hand_over({run.run_name.function_name, 1 / run.counters.at("items_per_second").value});
    }
};

template <class Key, class Maps>
void measure(Maps& maps, const workload& work) {
    passes<Maps, Key> all(maps, work.entries);
    using step = void (passes<Maps, Key>::*)(benchmark::State&);
    const std::pair<const char*, step> steps[] = {{"insert", &passes<Maps, Key>::insert},
                                                  {"find hit", &passes<Maps, Key>::find_hit},
                                                  {"find miss", &passes<Maps, Key>::find_miss},
                                                  {"iterate", &passes<Maps, Key>::iterate},
                                                  {"erase", &passes<Maps, Key>::erase}};
    for (const auto& [name, what] : steps) {
        benchmark::RegisterBenchmark(name, [&all, one = what](benchmark::State& state) { (all.*one)(state); })
            ->UseManualTime()
            ->MinTime(0.05);
    }
    handing_reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::ClearRegisteredBenchmarks();
}

/// In the process's ordinary memory. By types, not by an alias template of an unnamed namespace: g++ 12 gives instances for
/// those of several files the same name, and the linker keeps one of them for all.
template <class OfNumbers, class OfTexts>
void measure_outside(const workload& work) {
    if (work.keys == "numbers") {
        std::vector<OfNumbers> maps;
        measure<number>(maps, work);
    } else {
        std::vector<OfTexts> maps;
        measure<std::string>(maps, work);
    }
}

} // namespace containers
