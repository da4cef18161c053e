// Two processes that change a record of 100 bytes in turn: what a transaction takes that first has to see the other's.
#include "store.hpp"

#include <harness.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <thread>

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_warm_up = 200;
constexpr std::uint64_t k_durable_turns = 4'000; // of both processes together
constexpr std::uint64_t k_lazy_turns = 40'000;

constexpr std::string_view k_purpose =
    R"(Two processes have a record of 100 bytes open and add 1 to each byte in turn, each in a transaction of its own. A process waits
for its turn by looking at a word in shared memory, so the time is that of the transactions alone.

  durable   each transaction is on the device before the other process begins
  lazy      the operating system has it: nothing is lost when a process dies. LMDB with MDB_NOSYNC, SQLite with synchronous=NORMAL

)";

std::vector<system_kind> all_systems() {
    std::vector<system_kind> all{remanence_system()};
#ifdef BENCH_LMDB
    all.push_back(lmdb_system());
#endif
#ifdef BENCH_SQLITE
    all.push_back(sqlite_system());
#endif
    return all;
}

struct board {
    std::atomic<std::uint64_t> turn = 0;
    std::atomic<bool> has_failed = false;
};

void take_turns(store& opened, board& shared, std::uint64_t mine, std::uint64_t end) {
    for (std::uint64_t turn = mine; turn < end; turn += 2) {
        while (shared.turn != turn) {
            if (shared.has_failed)
                throw std::runtime_error("the other process has failed");
            std::this_thread::yield();
        }
        opened.change();
        ++shared.turn;
    }
}

pid_t start_other(const system_kind& system, const fs::path& directory, bool is_durable, board& shared,
                  std::uint64_t end) {
    const pid_t other = ::fork();
    if (other < 0)
        throw std::runtime_error("fork failed");
    if (other != 0)
        return other;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 0;
    try {
        take_turns(*system.open(directory, is_durable), shared, 1, end);
    } catch (const std::exception& what) {
        std::fprintf(stderr, "%s\n", what.what());
        shared.has_failed = true;
        status = 1;
    }
    ::_exit(status);
}

void run_child(const std::vector<std::string>& words) {
    const std::vector<system_kind> systems = all_systems();
    const auto system = std::ranges::find(systems, words.at(0), &system_kind::name);
    if (system == systems.end())
        throw std::runtime_error("no system is called " + words.at(0));
    const fs::path directory = words.at(1);
    const bool is_durable = words.at(2) == "durable";
    const std::uint64_t turns = is_durable ? k_durable_turns : k_lazy_turns;
    void* const place = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        throw std::runtime_error("there is no shared memory");
    auto& shared = *new (place) board;
    const pid_t other = start_other(*system, directory, is_durable, shared, k_warm_up + turns);
    try {
        const std::unique_ptr<store> opened = system->open(directory, is_durable);
        take_turns(*opened, shared, 0, k_warm_up);
        const bench::stopwatch watch;
        take_turns(*opened, shared, k_warm_up, k_warm_up + turns);
        const double seconds = watch.seconds();
        int status = 0;
        ::waitpid(other, &status, 0);
        if (status != 0)
            throw std::runtime_error("the other process has failed");
        const auto expected = static_cast<unsigned char>(k_warm_up + turns);
        for (const unsigned char byte : opened->look()) {
            if (byte != expected)
                throw std::runtime_error("a change was lost");
        }
        bench::hand_over({"transaction", seconds / static_cast<double>(turns), {}});
    } catch (...) {
        shared.has_failed = true;
        throw;
    }
}

void run_parent(const bench::options& chosen) {
    const bench::scratch_directory scratch(chosen.dir);
    bench::report report("handover", chosen, "Remanence");
    const std::vector<system_kind> systems = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const std::string& name = systems[(i + run) % systems.size()].name;
            if (!bench::is_wanted(name, chosen.only))
                continue;
            for (const char* const workload : {"durable", "lazy"}) {
                if (!bench::is_wanted(workload, chosen.workloads))
                    continue;
                const fs::path directory = scratch.path() / "store";
                fs::create_directory(directory);
                for (const bench::measurement& result : bench::run_child({name, directory.string(), workload}))
                    report.add(name, workload, 1, result);
                fs::remove_all(directory);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "handover", k_purpose, run_parent, run_child); }
