// PSTL's second application: reservations of resources, with a simple object as key.
#include "store.hpp"

#include <harness.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t k_resources = 500;
constexpr std::uint32_t k_minutes = 365 * 24 * 60;
constexpr std::size_t k_requests = 200'000;
constexpr std::size_t k_of_transaction = 100;
constexpr std::size_t k_queries = 200'000;
constexpr unsigned k_passes = 10;

constexpr std::string_view k_purpose =
    R"(Measures a system of reservations: of 500 resources, over a year, from 15 minutes to four hours long; the reservation
(resource, start, end) is the key, who made it the value. Wall seconds.

  reserve    200,000 requests at random, 100 in each durable transaction: one that overlaps with another is turned down
  find free  200,000 times the first time of so many minutes within a week, of a random resource
  iterate    ten passes over all, in their order
  cancel     half of the reservations, in random order, 100 in each durable transaction
  iterate reopened, find free reopened: the same in a fresh process, the page cache warm

The same algorithms for all systems; those that store bytes have keys whose order as bytes is that of the reservations. Berkeley
DB, LMDB and SQLite (WAL, synchronous=FULL) in transactions, LevelDB and RocksDB with a sync at the end of each hundred,
Tkrzw's tree with a hard synchronization there. rem::btree_map in declared sections, rem::map in ordinary ones. gdbm has no order, and is not here.
)";

std::vector<system_kind> all_systems() {
    return {
        remanence_btree_system(),
        remanence_map_system(),
#ifdef BENCH_BERKELEY_DB
        berkeley_db_system(),
#endif
#ifdef BENCH_LEVELDB
        leveldb_system(),
#endif
#ifdef BENCH_LMDB
        lmdb_system(),
#endif
#ifdef BENCH_ROCKSDB
        rocksdb_system(),
#endif
#ifdef BENCH_SQLITE
        sqlite_system(),
#endif
#ifdef BENCH_TKRZW
        tkrzw_system(),
#endif
    };
}

/// What everybody does, and what is right: found by the simplest means.
struct plan {
    std::vector<request> requests;
    std::vector<query> queries;
    std::vector<reservation> cancelled;
    std::uint64_t made = 0;
    std::uint64_t checksum = 0; ///< of all that were made
    std::uint64_t left = 0;     ///< likewise, of those that are not cancelled
    std::uint64_t found = 0;    ///< by the queries, with half of them cancelled

    plan() {
        std::mt19937 random(1);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
        std::vector<std::vector<bool>> taken(k_resources, std::vector<bool>(k_minutes + 240));
        const auto is_free = [&](std::uint32_t resource, std::uint32_t from, std::uint32_t to) {
            const auto& minutes = taken[resource];
            return std::find(minutes.begin() + from, minutes.begin() + to, true) == minutes.begin() + to;
        };
        std::vector<request> accepted;
        for (std::size_t i = 0; i < k_requests; ++i) {
            const std::uint32_t start = below(k_minutes);
            const reservation wanted{below(k_resources), start, start + 15 * (1 + below(16))};
            requests.push_back({wanted, i});
            if (!is_free(wanted.resource, wanted.start, wanted.end))
                continue;
            std::fill(taken[wanted.resource].begin() + wanted.start, taken[wanted.resource].begin() + wanted.end, true);
            checksum += checksum_of(wanted, i);
            accepted.push_back(requests.back());
        }
        made = accepted.size();
        left = checksum;
        std::shuffle(accepted.begin(), accepted.end(), random);
        accepted.resize(accepted.size() / 2);
        for (const auto& [each, who] : accepted) {
            std::fill(taken[each.resource].begin() + each.start, taken[each.resource].begin() + each.end, false);
            left -= checksum_of(each, who);
            cancelled.push_back(each);
        }
        for (std::size_t i = 0; i < k_queries; ++i) {
            const std::uint32_t from = below(k_minutes - 7 * 24 * 60);
            queries.push_back({below(k_resources), from, from + 7 * 24 * 60, 15 * (1 + below(32))});
            const query& each = queries.back();
            std::uint32_t start = each.from;
            const auto& minutes = taken[each.resource];
            for (std::uint32_t minute = start; minute < start + each.minutes && start < each.until; ++minute)
                start = minutes[minute] ? minute + 1 : start;
            found += start + each.minutes <= each.until ? start : each.until;
        }
    }
};

void expect(bool is_so, const char* what) {
    if (!is_so)
        throw std::runtime_error(std::string("wrong: ") + what);
}

template <class F>
void time(const std::string& op, const F& f) {
    const bench::stopwatch watch;
    f();
    bench::hand_over({op, watch.seconds()});
}

template <class T, class F>
std::uint64_t by_hundreds(const std::vector<T>& all, const F& f) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < all.size(); i += k_of_transaction)
        sum += f(std::span(all).subspan(i, std::min(k_of_transaction, all.size() - i)));
    return sum;
}

void find_and_iterate(store& opened, const plan& right, const std::string& when) {
    time("find free" + when, [&] { expect(opened.find_free(right.queries) == right.found, "find free"); });
    time("iterate" + when, [&] {
        for (unsigned pass = 0; pass < k_passes; ++pass)
            expect(opened.iterate() == right.left, "iterate");
    });
}

void run_child(const std::vector<std::string>& words) {
    const plan right;
    for (const system_kind& system : all_systems()) {
        if (system.name != words.at(0))
            continue;
        const std::unique_ptr<store> opened = system.open(words.at(2));
        if (words.at(1) == "make") {
            time("reserve", [&] {
                const std::uint64_t made =
                    by_hundreds(right.requests, [&](std::span<const request> some) { return opened->reserve(some); });
                expect(made == right.made, "reserve");
            });
            expect(opened->iterate() == right.checksum, "what was reserved");
            time("cancel", [&] {
                const std::uint64_t gone = by_hundreds(
                    right.cancelled, [&](std::span<const reservation> some) { return opened->cancel(some); });
                expect(gone == right.cancelled.size(), "cancel");
            });
            find_and_iterate(*opened, right, "");
        } else {
            find_and_iterate(*opened, right, " reopened");
        }
        opened->close();
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("reservation", chosen, "rem::btree_map");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<system_kind> systems = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const std::string& name = systems[(i + run) % systems.size()].name;
            if (!bench::is_wanted(name, chosen.only))
                continue;
            const bench::scratch_directory directory(scratch.path());
            for (const char* const step : {"make", "reopen"}) {
                bench::warm_page_cache(directory.path());
                bench::note(name + ", " + step);
                for (const bench::measurement& result : bench::run_child({name, step, directory.path().string()}))
                    report.add(name, "500 resources", k_requests, result);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "reservation", k_purpose, run_parent, run_child); }
