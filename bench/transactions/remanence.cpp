// Remanence with each tracker, and with declared sections: an array, or a std::map, of 8-byte numbers.
#include "store.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>

namespace {

namespace rem = remanence;

using numbers = rem::vector<std::uint64_t>;
using numbers_by_key = rem::map<std::uint64_t, std::uint64_t>;

rem::heap_options options_of(const settings& chosen, rem::tracking tracker) {
    rem::heap_options options;
    options.tracker = tracker;
    options.commits = chosen.durability == level::lazy ? rem::durability::lazy : rem::durability::durable;
    return options;
}

class remanence_store final : public store {
public:
    remanence_store(const settings& chosen, rem::tracking tracker, bool declared)
        : chosen_(chosen),
          heap_(rem::heap::open(chosen.directory / "numbers.rem", options_of(chosen, tracker))),
          array_(heap_.root<numbers>("array")),
          map_(heap_.root<numbers_by_key>("map")),
          declared_(declared) {}

    void fill() override {
        constexpr std::uint64_t k_batch = 1'000'000;
        if (chosen_.kind == shape::array)
            heap_.write([&] { array_.resize(chosen_.entries, k_initial); });
        for (std::uint64_t n = 0; chosen_.kind == shape::map && n < chosen_.entries; n += k_batch) {
            heap_.write([&] {
                for (std::uint64_t i = n; i < std::min(n + k_batch, chosen_.entries); ++i)
                    map_.emplace(bench::scattered_key(i), k_initial);
            });
        }
        heap_.checkpoint();
    }

    void update(unsigned /*thread*/, const keys& which) override {
        if (declared_) {
            heap_.write(rem::declared, [&] {
                for (const std::uint64_t n : which) {
                    std::uint64_t& value = number(n);
                    heap_.touch(&value, sizeof value);
                    ++value;
                }
            });
        } else {
            heap_.write([&] {
                for (const std::uint64_t n : which)
                    ++number(n);
            });
        }
    }

    std::uint64_t sum() override {
        std::uint64_t all = 0;
        for (const std::uint64_t value : array_)
            all += value;
        for (const auto& [key, value] : map_)
            all += value;
        return all;
    }

    std::uint64_t checkpoints() override { return heap_.stats().checkpoints; }

    void close() override { heap_.close(); }

private:
    std::uint64_t& number(std::uint64_t n) {
        return chosen_.kind == shape::array ? array_[n] : map_.find(bench::scattered_key(n))->second;
    }

    settings chosen_;
    rem::heap heap_;
    numbers& array_;
    numbers_by_key& map_;
    bool declared_;
};

system_kind with(const std::string& name, rem::tracking tracker, bool declared) {
    const auto open = [=](const settings& chosen) {
        return std::make_unique<remanence_store>(chosen, tracker, declared);
    };
    return {.name = "remanence, " + name, .open = open, .family = "remanence"};
}

} // namespace

std::vector<system_kind> remanence_systems() {
    return {with("declared", rem::tracking::automatic, true), with("scan", rem::tracking::scan, false),
            with("trap", rem::tracking::trap, false), with("fallback", rem::tracking::fallback, false)};
}
