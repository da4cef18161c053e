// Small transactions: how long one takes, durable and lazy, with one thread and with several.
#include "store.hpp"
#include "sync_count.hpp"

#include <harness.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_purpose = R"(Measures transactions that add 1 to three random numbers of 10 million, in
an array and in a map (the other systems: by their index, and by a 64-bit key), with 1, 2, 4 and 8 threads. Workloads:
durable, and lazy, which survives the end of the process but is not synced. Seconds are those of the whole divided by the
number of transactions of all threads. Each run is a fresh process on the files of the one before; it reads everything
once and makes some transactions before it measures, for a second with each number of threads. The system "device" is one
durable write of 512 bytes for each transaction, and nothing else. Syncs per transaction are counted by strace,
where it is installed. --workload "durable, map" chooses the map alone.
)";

constexpr std::uint64_t k_entries = 10'000'000;
constexpr std::uint64_t k_warm_up = 2000;             // transactions
constexpr std::chrono::milliseconds k_measured{1000}; // with each number of threads
constexpr std::uint64_t k_counted = 200;              // transactions whose syncs are counted
constexpr std::array<unsigned, 4> k_threads = {1, 2, 4, 8};

std::vector<system_kind> all_systems() {
    std::vector<system_kind> all;
    all.push_back(device_system());
#ifdef BENCH_REMANENCE
    for (system_kind& each : remanence_systems())
        all.push_back(std::move(each));
#endif
#ifdef BENCH_BERKELEY_DB
    all.push_back(berkeley_db_system());
#endif
#ifdef BENCH_LMDB
    all.push_back(lmdb_system());
#endif
#ifdef BENCH_REDB
    all.push_back(redb_system());
#endif
#ifdef BENCH_ROCKSDB
    all.push_back(rocksdb_system());
#endif
#ifdef BENCH_SQLITE
    all.push_back(sqlite_system());
#endif
    return all;
}

const char* name_of(level durability) { return durability == level::lazy ? "lazy" : "durable"; }
const char* name_of(shape kind) { return kind == shape::map ? "map" : "array"; }

/// What one child process does: words are "fill", "measure" or "count", then system, durability, shape, directory.
class child {
public:
    explicit child(const std::vector<std::string>& words)
        : chosen_{words.at(4), words.at(3) == "map" ? shape::map : shape::array,
                  words.at(2) == "lazy" ? level::lazy : level::durable, k_entries, k_threads.back()} {
        const auto all = all_systems();
        const auto system =
            std::find_if(all.begin(), all.end(), [&](const system_kind& each) { return each.name == words.at(1); });
        store_ = system->open(chosen_);
        if (words.at(0) == "fill")
            store_->fill();
        else if (words.at(0) == "measure")
            measure();
        else
            count();
        store_->close();
    }

private:
    /// Random numbers of those that are the thread's own.
    class numbers_of {
    public:
        numbers_of(unsigned thread, unsigned threads)
            : threads_(threads), thread_(thread), own_(0, k_entries / threads - 1) {}
        keys next() {
            keys some{};
            some.fill(~std::uint64_t{0}); // no key
            std::size_t found = 0;
            while (found < some.size()) {
                some[found] = own_(random_) * threads_ + thread_;
                if (std::count(some.begin(), some.end(), some[found]) == 1)
                    ++found;
            }
            return some;
        }

    private:
        std::uint64_t threads_;
        std::uint64_t thread_;
        std::uniform_int_distribution<std::uint64_t> own_;
        std::mt19937_64 random_{std::random_device{}()};
    };

    /// In so many transactions, by one thread.
    void update(std::uint64_t transactions) {
        numbers_of some(0, 1);
        for (std::uint64_t i = 0; i < transactions; ++i)
            store_->update(0, some.next());
    }

    void measure() {
        const std::uint64_t before = store_->sum();
        update(k_warm_up);
        std::uint64_t transactions = k_warm_up;
        for (const unsigned threads : k_threads)
            transactions += measure(threads);
        if (store_->sum() - before != k_updates * transactions)
            throw std::runtime_error("the changes of a transaction are not there");
    }
    /// Returns how many transactions were made.
    std::uint64_t measure(unsigned threads) {
        const bench::work_done done = bench::repeat_in_threads(threads, k_measured, [&](unsigned thread) {
            return [&, thread, mine = numbers_of(thread, threads)]() mutable { store_->update(thread, mine.next()); };
        });
        const auto number = static_cast<double>(done.times);
        bench::hand_over({std::string(name_of(chosen_.kind)) + " " + std::to_string(threads),
                          done.seconds / number,
                          {{"threads", threads}, {"cpu_seconds", done.cpu_seconds / number}}});
        return done.times;
    }

    void count() {
        update(k_counted);
        mark_beginning();
        update(k_counted);
        mark_end();
    }

    settings chosen_;
    std::unique_ptr<store> store_;
};

class parent {
public:
    explicit parent(const bench::options& chosen)
        : chosen_(chosen), report_("transactions", chosen, "device"), scratch_(chosen.dir) {
        for (const system_kind& system : all_systems()) {
            if (bench::is_wanted(system.name, chosen.only))
                systems_.push_back(system);
        }
        if (systems_.empty())
            throw std::runtime_error("no system is called so");
    }

    void run() {
        report_.remark("A column is the array or the map, and the number of threads.");
        for (const shape kind : {shape::array, shape::map}) {
            if (!is_wanted(level::durable, kind) && !is_wanted(level::lazy, kind))
                continue;
            for (const system_kind& system : systems_)
                fill(system, kind);
            for (const level durability : {level::durable, level::lazy}) {
                if (!is_wanted(durability, kind))
                    continue;
                count_syncs(durability, kind);
                for (unsigned run = 0; run < chosen_.runs; ++run)
                    measure(durability, kind, run);
            }
            for (const system_kind& system : systems_)
                fs::remove_all(directory_of(system, kind));
        }
        for (const unsigned threads : {8U, 4U, 1U})
            compare_maps(threads);
        report_.finish();
    }

private:
    [[nodiscard]] bool is_wanted(level durability, shape kind) const {
        return bench::is_wanted(std::string(name_of(durability)) + ", " + name_of(kind), chosen_.workloads);
    }
    /// The aim: declared transactions on a map take at most as long as Berkeley DB's.
    void compare_maps(unsigned threads) {
        const std::string op = std::string(name_of(shape::map)) + " " + std::to_string(threads);
        const auto ours = report_.seconds("remanence, declared", name_of(level::durable), op);
        const auto theirs = report_.seconds("Berkeley DB", name_of(level::durable), op);
        if (ours && theirs)
            report_.compare({"durable map transactions, threads: " + std::to_string(threads) + "; time / Berkeley DB's",
                             *ours / *theirs, bench::bound::at_most, 1, "",
                             "ours " + bench::duration_text(*ours) + ", Berkeley DB " + bench::duration_text(*theirs)});
    }
    static bool takes_part(const system_kind& system, level durability) {
        return durability == level::durable || system.has_lazy;
    }
    void measure(level durability, shape kind, unsigned run) {
        for (std::size_t i = 0; i < systems_.size(); ++i) {
            const system_kind& system = systems_[(i + run) % systems_.size()];
            if (!takes_part(system, durability))
                continue;
            bench::note(std::string(name_of(durability)) + ", " + name_of(kind) + ", " + system.name + ", run " +
                        std::to_string(run + 1));
            for (const bench::measurement& result : bench::run_child(words("measure", system, durability, kind)))
                report_.add(system.name, name_of(durability), k_entries, result);
        }
    }
    void fill(const system_kind& system, shape kind) {
        const fs::path directory = directory_of(system, kind);
        if (!fs::create_directory(directory))
            return; // by another one of the family
        bench::note(std::string("writing ") + name_of(kind) + ", " + system.name);
        bench::run_child(words("fill", system, level::durable, kind));
    }
    void count_syncs(level durability, shape kind) {
        if (!can_count_syncs())
            return;
        for (const system_kind& system : systems_) {
            if (!takes_part(system, durability))
                continue;
            bench::note(std::string("counting syncs, ") + name_of(durability) + ", " + name_of(kind) + ", " +
                        system.name);
            const double syncs = count_syncs_of(words("count", system, durability, kind), scratch_.path()) / k_counted;
            std::array<char, 128> line{};
            std::snprintf(line.data(), line.size(), "%s, %s, %s: %.3f syncs per transaction", system.name.c_str(),
                          name_of(durability), name_of(kind), syncs);
            report_.remark(line.data());
        }
    }
    [[nodiscard]] fs::path directory_of(const system_kind& system, shape kind) const {
        return scratch_.path() / (system.family + ", " + name_of(kind));
    }
    [[nodiscard]] std::vector<std::string> words(const char* task, const system_kind& system, level durability,
                                                 shape kind) const {
        return {task, system.name, name_of(durability), name_of(kind), directory_of(system, kind)};
    }

    const bench::options& chosen_;
    bench::report report_;
    bench::scratch_directory scratch_;
    std::vector<system_kind> systems_;
};

} // namespace

int main(int count, char* words[]) {
    return bench::run(
        count, words, "transactions", k_purpose, [](const bench::options& chosen) { parent(chosen).run(); },
        [](const std::vector<std::string>& task) { child run(task); });
}
