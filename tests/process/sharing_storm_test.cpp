// Eight processes share a heap and are stopped and killed at random. What each of them sees is held against what was
// acknowledged: a read is exactly one version, never an older one than the reader's last, nor than the last commit that was
// acknowledged before it began; nothing acknowledged is lost.
//
// REMANENCE_SHARING_KILLS: how many of the processes are killed (default 60).
//
// A long run: 500 kills, no violation.

#include "process/other_process.hpp"
#include "support/seed.hpp"
#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>
#include <unistd.h>

namespace remanence::test {
namespace storm { // as roots need

constexpr std::size_t k_cells = 400; // each on a page of its own, some of which a commit changes

struct cell {
    std::uint64_t version;
    std::array<std::uint64_t, 511> rest;
};

/// Each commit adds one to `commits`, and writes that to some cells and into the map; so a reader can tell whether all it sees is
/// of one commit: cell i holds the last commit that wrote it, which follows from `commits` alone.
struct state {
    std::uint64_t commits = 0;
    std::array<std::uint64_t, 64> log_of_commits{}; // by commit modulo 64: its number
    std::array<cell, k_cells> cells{};
    btree_map<std::uint64_t, std::uint64_t> by_number; // the last 200 commits
};

} // namespace storm
namespace {

using storm::k_cells;
using storm::state;

constexpr std::size_t k_processes = 8;
constexpr std::size_t k_writers = 3;

/// Which cells commit `n` writes.
template <class F>
void for_each_cell_of(std::uint64_t n, const F& f) {
    for (std::uint64_t k = 0; k < 12; ++k)
        f(static_cast<std::size_t>((n * 31 + k * 37) % k_cells));
}

std::uint64_t last_writer_of(std::size_t cell, std::uint64_t commits) {
    for (std::uint64_t n = commits; n > 0 && n + k_cells > commits; --n) {
        bool is_of_it = false;
        for_each_cell_of(n, [&](std::size_t i) { is_of_it = is_of_it || i == cell; });
        if (is_of_it)
            return n;
    }
    return 0;
}

/// What the processes tell each other, outside of the heap.
struct board {
    std::atomic<std::uint64_t> acknowledged; // the newest commit
    std::atomic<std::uint64_t> seen;         // likewise, by a reader
    std::atomic<std::uint64_t> sections[k_processes];
    std::atomic<std::uint64_t> starts[k_processes];
    std::atomic<bool> ends;
    std::atomic<int> failures;
    char failure[1024];
};

void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
    std::uint64_t before = most;
    while (before < value && !most.compare_exchange_weak(before, value)) {
    }
}

void fail_with(board& all, const std::string& why) {
    if (all.failures.fetch_add(1) == 0)
        std::snprintf(all.failure, sizeof all.failure, "%s", why.c_str());
}

/// Empty when everything that the section sees is of one commit.
std::string check(const state& s, bool thoroughly) {
    const std::uint64_t n = s.commits;
    if (n != 0 && s.log_of_commits[n % 64] != n)
        return "commit " + std::to_string(n) + " is not in its place, but " + std::to_string(s.log_of_commits[n % 64]);
    if (s.by_number.size() != std::min<std::uint64_t>(n, 200))
        return "the map has " + std::to_string(s.by_number.size()) + " commits at " + std::to_string(n);
    for (std::uint64_t k = n; k > 0 && k + 200 > n; k -= std::min<std::uint64_t>(k, 17)) {
        const auto found = s.by_number.find(k);
        if (found == s.by_number.end() || found->second != k * k)
            return "the map lacks commit " + std::to_string(k) + " at " + std::to_string(n);
    }
    for (std::size_t i = 0; i < k_cells; i += thoroughly ? 1 : 7) {
        const std::uint64_t expected = last_writer_of(i, n);
        if (expected != 0 && s.cells[i].version != expected)
            return "cell " + std::to_string(i) + " is of commit " + std::to_string(s.cells[i].version) +
                   " instead of " + std::to_string(expected) + " at " + std::to_string(n);
    }
    return {};
}

heap_options shared_options() {
    heap_options options = small_heap();
    options.access = sharing::processes;
    options.log.log_limit_bytes = 128 * 1024; // many checkpoints
    return options;
}

void work(board& all, const fs::path& path, std::size_t self, unsigned seed) {
    std::mt19937 random(seed);
    ++all.starts[self];
    try {
        heap h = when_others_let([&] { return heap::open(path, shared_options()); });
        auto& s = when_others_let([&]() -> state& { return h.root<state>("state"); });
        std::uint64_t last = 0;
        while (!all.ends) {
            const std::uint64_t acknowledged = all.acknowledged;
            std::string wrong;
            std::uint64_t n = 0;
            if (self < k_writers && random() % 4 != 0) {
                const durability how = random() % 4 == 0 ? durability::lazy : durability::durable;
                when_others_let([&] {
                    h.write(how, [&] {
                        wrong = check(s, false);
                        n = ++s.commits;
                        s.log_of_commits[n % 64] = n;
                        for_each_cell_of(n, [&](std::size_t i) { s.cells[i].version = n; });
                        s.by_number.emplace(n, n * n);
                        s.by_number.erase(n - std::min<std::uint64_t>(n, 200));
                    });
                });
                raise_to(all.acknowledged, n);
            } else {
                h.read([&] {
                    wrong = check(s, random() % 16 == 0);
                    n = s.commits;
                    if (random() % 8 == 0)
                        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 5));
                    if (random() % 64 == 0) // some checkpoints long
                        std::this_thread::sleep_for(std::chrono::milliseconds(100));
                    if (wrong.empty() && random() % 4 == 0)
                        wrong = check(s, false);
                    if (wrong.empty() && s.commits != n)
                        wrong = "the version changed within a section";
                });
                raise_to(all.seen, n);
            }
            if (wrong.empty() && n < last)
                wrong = "went back from commit " + std::to_string(last) + " to " + std::to_string(n);
            if (wrong.empty() && n < acknowledged)
                wrong = "saw commit " + std::to_string(n) + " although " + std::to_string(acknowledged) +
                        " was acknowledged before";
            if (!wrong.empty())
                return fail_with(all, wrong);
            last = n;
            ++all.sections[self];
        }
        h.close();
    } catch (const std::exception& e) {
        fail_with(all, e.what());
    }
}

unsigned kills_wanted() {
    const char* asked = std::getenv("REMANENCE_SHARING_KILLS");
    return asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 60;
}

TEST(sharing_storm, each_read_is_one_version_and_nothing_acknowledged_is_lost) {
    const temp_dir dir;
    const fs::path path = dir / "h";
    void* const shared = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    board& all = *new (shared) board{};
    const unsigned seed = test::random_seed();
    std::mt19937 random(seed);
    std::array<pid_t, k_processes> processes{};
    const auto start = [&](std::size_t i) {
        processes[i] = ::fork();
        if (processes[i] == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(all, path, i, seed + static_cast<unsigned>(random()));
            ::_exit(0);
        }
    };
    for (std::size_t i = 0; i < k_processes; ++i)
        start(i);
    const unsigned kills = kills_wanted();
    for (unsigned killed = 0; killed < kills && all.failures == 0;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
        const std::size_t i = random() % k_processes;
        int status = 0;
        if (::waitpid(processes[i], &status, WNOHANG) != 0) {
            fail_with(all, "process " + std::to_string(i) + " ended by itself, status " + std::to_string(status));
            break;
        }
        if (random() % 3 == 0) {
            ::kill(processes[i], SIGSTOP);
            std::this_thread::sleep_for(std::chrono::milliseconds(random() % 80));
            ::kill(processes[i], SIGCONT);
            continue;
        }
        ::kill(processes[i], SIGKILL);
        ::waitpid(processes[i], nullptr, 0);
        ++killed;
        start(i);
    }
    EXPECT_TRUE(comes_true([&] { // each has come to a section
        return all.failures != 0 ||
               std::ranges::all_of(all.sections, [](const std::atomic<std::uint64_t>& each) { return each != 0; });
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    all.ends = true;
    for (const pid_t each : processes) {
        int status = 0;
        ::waitpid(each, &status, 0);
        EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    }
    EXPECT_EQ(all.failures, 0) << all.failure;
    heap h = heap::open(path, small_heap());
    const state* const found = h.find_root<state>("state");
    ASSERT_NE(found, nullptr);
    const state& s = *found;
    EXPECT_GE(s.commits, all.acknowledged);
    EXPECT_GE(s.commits, all.seen);
    EXPECT_EQ(check(s, true), "");
    EXPECT_TRUE(h.verify().clean());
    RecordProperty("commits", static_cast<int>(s.commits));
    h.close();
    EXPECT_FALSE(fs::exists(dir / "h-log"));
    EXPECT_FALSE(fs::exists(dir / "h-shm"));
    ::munmap(shared, sizeof(board));
}

} // namespace
} // namespace remanence::test
