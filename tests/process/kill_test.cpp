// The import of an address book, killed again and again: what was acknowledged stays, nothing is partial. The kernel's
// page cache outlives a process, so these kills are no power failures; those are tests/crash's.
//
// A run: 200 counted kills in 220 runs of 9 imports of 60,000 entries. `make demo` kills an import 25 times: 148,397 of 148,397 entries.
#include "address_import.hpp"
#include "commit_phases.hpp"

#include "support/seed.hpp"
#include "support/temp_dir.hpp"
#include "support/waiting.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern char** environ; // NOLINT(readability-redundant-declaration): in a header with GNU's extensions only

namespace {

using namespace std::chrono_literals;
using remanence::test::k_phase_names;
using remanence::test::phase;
using remanence::test::progress_page;
using steady = std::chrono::steady_clock;

constexpr std::size_t k_phases = k_phase_names.size();
constexpr int k_kills_min = 200;
constexpr auto k_patience = 500ms; // for a phase to be seen; then the process is killed in another one
/// Kills in these count, and there must be some in each; recovery too, though a recovery is before the first commit.
constexpr std::array k_counted = {phase::working,         phase::computing,  phase::reserving, phase::log_setup,
                                  phase::fresh_write,     phase::fresh_sync, phase::record,    phase::applying,
                                  phase::checkpoint_sync, phase::superblock};

class shared_page {
public:
    shared_page() : descriptor_(::memfd_create("progress", 0)) { // inherited by the children
        if (descriptor_ < 0 || ::ftruncate(descriptor_, sizeof(progress_page)) != 0)
            throw std::bad_alloc();
        void* memory = ::mmap(nullptr, sizeof(progress_page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        page_ = new (memory) progress_page;
    }
    shared_page(const shared_page&) = delete;
    shared_page& operator=(const shared_page&) = delete;
    ~shared_page() {
        ::munmap(page_, sizeof(progress_page));
        ::close(descriptor_);
    }
    progress_page* operator->() const { return page_; }
    [[nodiscard]] int descriptor() const { return descriptor_; }

private:
    int descriptor_;
    progress_page* page_;
};

/// One run of the program.
class import_run {
public:
    import_run(const std::string& heap, const shared_page& page, std::uint64_t acknowledged, bool verify) {
        page->now.store(phase::opening);
        page->beside.store(phase::working);
        page->importing.store(false);
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            throw std::bad_alloc();
        pipe_ = ends[0];
        ::fcntl(ends[1], F_SETFD, 0); // this end is the child's
        std::vector<std::string> words = {IMPORT_PROGRAM,
                                          heap,
                                          std::to_string(page.descriptor()),
                                          std::to_string(ends[1]),
                                          std::to_string(acknowledged),
                                          verify ? "1" : "0"};
        std::vector<char*> pointers;
        for (std::string& word : words)
            pointers.push_back(word.data());
        pointers.push_back(nullptr);
        if (::posix_spawn(&process_, IMPORT_PROGRAM, nullptr, nullptr, pointers.data(), environ) != 0)
            throw std::bad_alloc();
        ::close(ends[1]);
    }
    import_run(const import_run&) = delete;
    import_run& operator=(const import_run&) = delete;
    ~import_run() { ::close(pipe_); }

    void kill() const { ::kill(process_, SIGKILL); }
    /// The status with which it ended.
    int wait() const {
        int status = 0;
        ::waitpid(process_, &status, 0);
        return status;
    }
    [[nodiscard]] bool has_ended() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid != 0;
    }
    /// The last commit that it told of; `before` when there was none.
    [[nodiscard]] std::uint64_t acknowledged(std::uint64_t before) const {
        for (std::uint64_t commit = 0; ::read(pipe_, &commit, sizeof commit) == sizeof commit;)
            before = commit;
        return before;
    }

private:
    pid_t process_ = 0;
    int pipe_ = -1;
};

class histogram {
public:
    int& operator[](phase p) { return counts_[static_cast<std::size_t>(p)]; }
    /// Kills between the first and the last commit of a run.
    [[nodiscard]] int counted() {
        int sum = 0;
        for (phase p : k_counted)
            sum += (*this)[p];
        return sum;
    }
    [[nodiscard]] bool has_gap() {
        return (*this)[phase::recovery] == 0 ||
               std::any_of(k_counted.begin(), k_counted.end(), [&](phase p) { return (*this)[p] == 0; });
    }
    /// One of the phases hit least.
    phase rarest(std::mt19937_64& random) {
        std::vector<phase> all(k_counted.begin(), k_counted.end());
        all.push_back(phase::recovery);
        std::shuffle(all.begin(), all.end(), random);
        return *std::min_element(all.begin(), all.end(), [&](phase a, phase b) { return (*this)[a] < (*this)[b]; });
    }
    void print() const {
        std::cout << "phase                kills\n";
        for (std::size_t i = 0; i < k_phases; ++i) {
            std::cout << std::left << std::setw(20) << k_phase_names[i] << std::right << std::setw(6) << counts_[i]
                      << "  " << std::string(static_cast<std::size_t>(counts_[i]), '#') << '\n';
        }
    }

private:
    std::array<int, k_phases> counts_{};
};

void spin(std::chrono::nanoseconds time) {
    for (const auto end = steady::now() + time; steady::now() < end;) {
    }
}

void wait_for_first_commit(const import_run& run, const shared_page& page) {
    while (!page->importing.load() && !run.has_ended())
        std::this_thread::sleep_for(100us);
}

/// Without sleeping: most phases last for some microseconds.
void wait_for_phase(const import_run& run, const shared_page& page, phase wanted) {
    const auto end = steady::now() + k_patience;
    for (unsigned round = 1; page->now.load() != wanted && page->beside.load() != wanted; ++round) {
        if (round % 4096 == 0 && (steady::now() > end || run.has_ended()))
            return;
    }
}

/// Most of the time is spent in syncs, so moments drawn at random are mostly there: half of the kills aim at the phase
/// that was hit least, and is to be seen.
void wait_for_a_moment(const import_run& run, const shared_page& page, histogram& kills, std::mt19937_64& random) {
    auto up_to = [&](std::chrono::nanoseconds time) {
        return std::chrono::nanoseconds(random() % static_cast<std::uint64_t>(time.count()));
    };
    if (random() % 2 == 0) {
        wait_for_first_commit(run, page);
        std::this_thread::sleep_for(up_to(8ms));
        return;
    }
    const phase wanted = kills.rarest(random);
    if (wanted != phase::recovery) {
        wait_for_first_commit(run, page);
        if (wanted != phase::log_setup)
            std::this_thread::sleep_for(up_to(2ms)); // not always the first of its kind
    }
    wait_for_phase(run, page, wanted);
    if (random() % 2 == 0)
        spin(up_to(wanted == phase::recovery ? 2ms : 50us));
}

/// The process is to stop by itself where a phase begins, or, in a recovery, at an operation. On a busy machine hardly any phase is
/// seen otherwise.
void let_it_stop(const shared_page& page, phase where, std::mt19937_64& random) {
    page->stops_in.store(where);
    page->stops_after.store(random() % 2 == 0 ? 0 : static_cast<int>(random() % 8));
}

/// Or until it has come so far without it that it hardly will. Takes what it tells meanwhile.
void wait_until_it_stops(const import_run& run, const shared_page& page, std::uint64_t& acknowledged) {
    const std::uint64_t before = acknowledged;
    while (!page->has_stopped.load() && !run.has_ended() && acknowledged < before + address_import::k_large_every) {
        acknowledged = run.acknowledged(acknowledged);
        std::this_thread::sleep_for(100us);
    }
}

void expect_whole_book(const std::string& path) {
    EXPECT_FALSE(std::filesystem::exists(path + "-log")) << "closed cleanly";
    auto heap = remanence::heap::open_existing(path);
    const auto* book = heap.find_root<address_import::address_book>("book");
    const auto* where = heap.find_root<address_import::position>("position");
    ASSERT_TRUE(book != nullptr && where != nullptr);
    EXPECT_EQ(where->commits, address_import::k_commits);
    EXPECT_EQ(book->size(), address_import::entries_after(address_import::k_commits));
    EXPECT_EQ(address_import::find_fault(*book, *where).value_or("none"), "none");
    const auto report = heap.verify();
    for (const auto& problem : report.problems)
        ADD_FAILURE() << problem.what << " at byte " << problem.offset;
    EXPECT_GT(report.pages_checked, 1000U);
}

} // namespace

// no_sanitizer: what is timed here are the phases of the library as it is used; instrumented, the program's own checks
// of the heap take so long that hundreds of runs do not fit into a test.
TEST(kill_no_sanitizer, an_import_killed_hundreds_of_times_loses_nothing_acknowledged) {
    std::mt19937_64 random(remanence::test::random_seed());
    const remanence::test::temp_dir dir;
    const std::string path = (dir / "book.rem").string();
    const shared_page page;
    histogram kills;
    std::uint64_t acknowledged = 0;
    const auto started = steady::now();
    int runs = 0;
    int imports = 0;
    while (kills.counted() < k_kills_min || kills.has_gap() || acknowledged != 0) {
        if (steady::now() - started >= std::chrono::seconds(remanence::test::k_hang_seconds)) {
            kills.print();
            FAIL() << "after " << runs << " runs some phase was never hit, or too few kills counted";
        }
        const bool enough = kills.counted() >= k_kills_min && !kills.has_gap();
        const bool stops = !enough && random() % 4 == 0;
        page->has_stopped.store(false);
        page->stops_after.store(-1);
        if (stops)
            let_it_stop(page, kills.rarest(random), random);
        const import_run run(path, page, acknowledged, runs++ % 16 == 15);
        if (stops)
            wait_until_it_stops(run, page, acknowledged);
        else if (!enough)
            wait_for_a_moment(run, page, kills, random);
        if (!enough)
            run.kill();
        const int status = run.wait();
        acknowledged = run.acknowledged(acknowledged);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            const phase beside = page->beside.load();
            ++kills[beside != phase::working ? beside : page->now.load()];
            continue;
        }
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "the import did not go on in run " << runs << "; its own words are above (status " << status << ")";
        EXPECT_EQ(acknowledged, address_import::k_commits);
        ASSERT_NO_FATAL_FAILURE(expect_whole_book(path));
        std::filesystem::remove(path);
        acknowledged = 0;
        ++imports;
    }
    const std::chrono::duration<double> seconds = steady::now() - started;
    kills.print();
    std::cout << kills.counted() << " kills counted (all but those while opening, closing and recovering) of " << runs
              << " runs in " << imports << " imports of " << address_import::entries_after(address_import::k_commits)
              << " entries in " << address_import::k_commits << " commits, " << std::setprecision(3) << seconds.count()
              << " s\n";
    EXPECT_GE(kills.counted(), k_kills_min);
}
