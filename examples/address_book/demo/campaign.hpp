// The import, killed at random moments and started again until it is complete; with a look at every restart whether
// what was acknowledged is there, and no batch in part.
#pragma once

#include "display.hpp"
#include "importer.hpp"

#include "../address_data.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

struct settings {
    std::filesystem::path book;
    std::uint64_t kills;
    std::uint64_t seed;
    std::uint64_t entries;
    std::uint64_t batch;
};

class campaign {
public:
    campaign(const settings& chosen, std::filesystem::path tool, display& out)
        : chosen_(chosen), tool_(std::move(tool)), out_(out), random_(chosen.seed) {}

    /// Reports what is wrong to the display; throws when the importer fails on its own.
    void run();

    [[nodiscard]] std::uint64_t runs() const { return runs_; }
    [[nodiscard]] std::chrono::nanoseconds time() const { return time_; }
    [[nodiscard]] const std::vector<std::chrono::nanoseconds>& open_times() const { return open_times_; }

private:
    /// When to kill: so long after the start, or after that many commits of the run.
    struct plan {
        bool kills;
        std::uint64_t commits; ///< 0: count from the start
        std::chrono::nanoseconds delay;
    };
    plan next_plan();
    bool run_once(const plan& when);
    void check_opening(const import_event& opening);
    void show_recovery(const import_event& opening, bool counts);
    std::chrono::nanoseconds random_time(std::chrono::nanoseconds most);

    const settings& chosen_;
    std::filesystem::path tool_;
    display& out_;
    address_data::random_numbers random_;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t counted_ = 0;     ///< kills between the first and the last commit of their run
    std::uint64_t killed_runs_ = 0; ///< since the last opening that was reported
    bool killed_after_commit_ = false;
    std::uint64_t runs_ = 0;
    std::chrono::nanoseconds time_{};
    std::chrono::nanoseconds opening_ = std::chrono::milliseconds(5); ///< latest measure, from the start to the report
    std::chrono::nanoseconds commit_ = std::chrono::milliseconds(1);  ///< the same, between two commits
    std::vector<std::chrono::nanoseconds> open_times_;
};
