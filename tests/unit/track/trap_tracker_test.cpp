// What only the trap tier does: see track/trap_tracker.cpp. What it shares with the others is in page_scan_test.cpp.

#include "support/seed.hpp"
#include "unit/track/tracked_memory.hpp"

#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>

namespace remanence::track {
namespace {

class trap_tracker : public testing::Test {
protected:
    void make(std::uint64_t pages = k_pages, std::uint64_t file_pages = k_file_pages) {
        ASSERT_EQ(memory_.make(tracker_choice::trap, pages, file_pages), "");
        (void)memory_.collect(); // the pages written to prepare their mappings
    }
    /// The lines of /proc/self/maps within the memory.
    std::size_t mappings(std::uint64_t pages) {
        const auto begin = reinterpret_cast<std::uint64_t>(memory_.base());
        std::size_t count = 0;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            const std::uint64_t at = std::stoull(line, nullptr, 16);
            count += at >= begin && at < begin + pages * k_page_bytes ? 1 : 0;
        }
        return count;
    }
    bool is_open(std::uint64_t page) {
        const auto wanted = reinterpret_cast<std::uint64_t>(memory_.base()) + page * k_page_bytes;
        std::ifstream maps("/proc/self/maps"); // begin-end rw-p ...
        for (std::string line; std::getline(maps, line);) {
            std::size_t dash = 0;
            const std::uint64_t begin = std::stoull(line, &dash, 16);
            if (wanted >= begin && wanted < std::stoull(line.substr(dash + 1), nullptr, 16))
                return line[line.find(' ') + 2] == 'w';
        }
        return false;
    }
    std::vector<std::uint64_t> random_pages(std::uint64_t count, std::uint64_t among) {
        std::vector<std::uint64_t> all(among);
        std::iota(all.begin(), all.end(), std::uint64_t{0});
        std::shuffle(all.begin(), all.end(), random_);
        all.resize(count);
        return all;
    }

    std::mt19937_64 random_{test::random_seed()};
    tracked_memory memory_;
};

/// Runs `f` in a child process: "" for success, what it returned, or the signal that killed it.
std::string in_child(const std::function<std::string()>& f) {
    int ends[2];
    if (::pipe(ends) != 0)
        return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string said = f();
        const ssize_t written = ::write(ends[1], said.data(), said.size());
        ::_exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said;
    for (char c = 0; ::read(ends[0], &c, 1) == 1;)
        said += c;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status)) : said;
}

TEST_F(trap_tracker, keeps_the_bytes_from_before_the_first_write) {
    make();
    for (int round = 0; round < 3; ++round) {
        for (const std::uint64_t page : {3U, 4U, 77U}) {
            const std::byte before = memory_.read(page);
            memory_.write(page);
            memory_.write(page); // does not trap
            std::vector<page_run> runs;
            ASSERT_TRUE(memory_.scanner().collect(k_pages * k_page_bytes, runs));
            const std::byte* old = memory_.scanner().old_bytes(page * k_page_bytes);
            ASSERT_NE(old, nullptr);
            EXPECT_EQ(old[page % k_page_bytes], before);
            EXPECT_EQ(old[page % k_page_bytes + 1], std::byte{'f'});
            EXPECT_EQ(memory_.scanner().old_bytes((page + 100) * k_page_bytes), nullptr);
        }
        memory_.scanner().watch();
        EXPECT_EQ(memory_.scanner().old_bytes(3 * k_page_bytes), nullptr);
    }
}

TEST_F(trap_tracker, pages_written_in_their_order_trap_less_and_less) {
    make(1024, 1024);
    for (int round = 0; round < 2; ++round) {
        std::set<std::uint64_t> written;
        int traps = 0;
        for (std::uint64_t page = 100; page < 300; ++page) {
            traps += is_open(page) ? 0 : 1;
            memory_.write(page);
            written.insert(page);
        }
        EXPECT_LE(traps, 10); // at pages 0, 1, 2, 4, 8, 16, 32, 64, 128, 192 of them
        EXPECT_FALSE(is_open(100 + 256));
        EXPECT_EQ(memory_.collect(), written) << round; // not what was opened ahead
    }
    for (const std::uint64_t page : {10U, 12U, 14U, 15U}) {
        memory_.write(page);
        EXPECT_FALSE(is_open(page + 1));
    }
    EXPECT_EQ(memory_.collect(), (std::set<std::uint64_t>{10, 12, 14, 15}));
}

TEST_F(trap_tracker, the_pieces_of_a_mapping_are_joined_again) {
    constexpr std::uint64_t k_many = 8192;
    make(k_many, k_many);
    const std::size_t before = mappings(k_many);
    for (int round = 0; round < 5; ++round) {
        auto written = random_pages(300, k_many / 2);
        for (std::uint64_t& page : written)
            memory_.write(page *= 2); // no neighbours, which would open others
        EXPECT_GT(mappings(k_many), before + 300);
        EXPECT_EQ(memory_.collect(), std::set<std::uint64_t>(written.begin(), written.end()));
        EXPECT_LE(mappings(k_many), before + 2);
    }
}

TEST_F(trap_tracker, fresh_memory_is_opened_in_large_units_and_only_its_written_pages_are_reported) {
    make(4096, 0);
    std::set<std::uint64_t> written;
    for (std::uint64_t page = 0; page < 2048; page += 3) {
        memory_.write(page);
        written.insert(page);
    }
    EXPECT_LE(mappings(4096), 4U); // huge units, not pages
    const auto reported = memory_.collect();
    EXPECT_TRUE(std::includes(reported.begin(), reported.end(), written.begin(), written.end()));
    memory_.write(5);
    EXPECT_EQ(memory_.collect(), std::set<std::uint64_t>{5});
}

TEST_F(trap_tracker, more_traps_than_it_lists_open_everything_and_nothing_is_missed) {
    constexpr std::uint64_t k_many = 40'000;
    make(k_many, k_many);
    for (int round = 0; round < 2; ++round) {
        const auto written = random_pages(18'000, k_many);
        for (const std::uint64_t page : written)
            memory_.write(page);
        EXPECT_LE(mappings(k_many), 3U); // all of it is open
        const auto reported = memory_.collect();
        for (const std::uint64_t page : written)
            ASSERT_TRUE(reported.contains(page)) << page;
        memory_.write(17);
        EXPECT_EQ(memory_.collect(), std::set<std::uint64_t>{17}) << "watched page by page again";
    }
}

class trap_tracker_paused : public trap_tracker {
protected:
    void pause(std::uint64_t first) {
        paused_ = first;
        ASSERT_TRUE(memory_.scanner().pause_writes({first * k_page_bytes, k_paused * k_page_bytes}));
    }
    void expect_closed() {
        for (std::uint64_t page = paused_; page < paused_ + k_paused; ++page)
            EXPECT_FALSE(is_open(page)) << page << ": who writes there now would not wait";
    }
    void expect_open_afterwards(std::uint64_t page) {
        ASSERT_TRUE(memory_.scanner().let_writes_go_on());
        memory_.write(page);
        EXPECT_TRUE(is_open(page));
        EXPECT_TRUE(memory_.collect().contains(page));
    }
    static constexpr std::uint64_t k_paused = 8;

private:
    std::uint64_t paused_ = 0;
};

TEST_F(trap_tracker_paused, stays_closed_when_fresh_memory_beside_it_is_opened_in_a_large_unit) {
    make();
    constexpr std::uint64_t k_first = k_file_pages + 24;
    pause(k_first);
    memory_.write(k_first - 3);
    memory_.write(k_first + k_paused + 3);
    EXPECT_TRUE(is_open(k_first - 1));
    EXPECT_TRUE(is_open(k_first + k_paused));
    expect_closed();
    expect_open_afterwards(k_first + 2);
}

TEST_F(trap_tracker_paused, stays_closed_when_pages_before_it_are_written_in_their_order) {
    make();
    constexpr std::uint64_t k_first = 40;
    pause(k_first);
    for (std::uint64_t page = k_first - 20; page < k_first; ++page)
        memory_.write(page);
    EXPECT_TRUE(is_open(k_first - 1));
    expect_closed();
    expect_open_afterwards(k_first);
}

TEST_F(trap_tracker_paused, stays_closed_when_everything_else_is_opened) {
    constexpr std::uint64_t k_many = 40'000;
    make(k_many, k_many);
    const std::uint64_t first = k_many / 2;
    pause(first);
    for (const std::uint64_t page : random_pages(18'000, k_many)) {
        if (page < first || page >= first + k_paused)
            memory_.write(page);
    }
    EXPECT_LE(mappings(k_many), 5U); // all the rest is open
    EXPECT_TRUE(is_open(first - 1));
    EXPECT_TRUE(is_open(first + k_paused));
    expect_closed();
    expect_open_afterwards(first + 5);
}

// The sanitizers need mappings of their own.
using trap_tracker_no_sanitizer = trap_tracker;

TEST_F(trap_tracker_no_sanitizer, mappings_that_run_out_lose_nothing) {
    constexpr std::uint64_t k_many = 8192;
    EXPECT_EQ(in_child([&] {
                  tracked_memory mine;
                  if (auto missing = mine.make(tracker_choice::trap, k_many, k_many); !missing.empty())
                      return missing;
                  (void)mine.collect();
                  // Pages of alternating protection, until the process may have 500 mappings more.
                  constexpr std::size_t k_area = std::size_t{1} << 30;
                  auto* area = static_cast<std::byte*>(
                      ::mmap(nullptr, k_area, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
                  std::size_t cut = 1;
                  while (cut < k_area / k_page_bytes &&
                         ::mprotect(area + cut * k_page_bytes, k_page_bytes, PROT_READ) == 0)
                      cut += 2;
                  if (cut + 2 >= k_area / k_page_bytes)
                      return std::string("this machine has no such limit");
                  ::munmap(area + (cut - 501) * k_page_bytes, 500 * k_page_bytes);
                  const auto written = random_pages(2000, k_many);
                  for (const std::uint64_t page : written)
                      mine.write(page);
                  const auto reported = mine.collect();
                  for (const std::uint64_t page : written) {
                      if (!reported.contains(page))
                          return "missed " + std::to_string(page);
                  }
                  mine.write(9);
                  return mine.collect().contains(9) ? std::string("nothing missed") : std::string("missed the last");
              }),
              "nothing missed");
}

TEST_F(trap_tracker, a_forked_child_changes_its_own_copy_only) {
    make();
    EXPECT_EQ(in_child([&] {
                  memory_.write(10);
                  memory_.write(300);
                  return std::string(memory_.read(10) == std::byte{'g'} ? "written" : "not written");
              }),
              "written");
    EXPECT_EQ(memory_.read(10), std::byte{'f'});
    memory_.write(11);
    EXPECT_EQ(memory_.collect(), std::set<std::uint64_t>{11});
}

TEST_F(trap_tracker, a_write_leaves_errno_alone) {
    make();
    errno = ENOTTY;
    memory_.write(20);
    EXPECT_EQ(errno, ENOTTY);
}

TEST_F(trap_tracker, a_system_call_may_write_what_was_declared) {
    make();
    EXPECT_EQ(::pread(memory_.file(), memory_.base() + 30 * k_page_bytes, k_page_bytes, 0), -1);
    EXPECT_EQ(errno, EFAULT);
    ASSERT_TRUE(memory_.scanner().declare(30 * k_page_bytes + 4000, 200)); // two pages
    EXPECT_EQ(::pread(memory_.file(), memory_.base() + 30 * k_page_bytes + 4000, 200, 0), 200);
    memory_.write(33);
    EXPECT_EQ(memory_.collect(), (std::set<std::uint64_t>{30, 31, 33}));
    EXPECT_EQ(::pread(memory_.file(), memory_.base() + 30 * k_page_bytes, k_page_bytes, 0), -1) << "a new round";
}

TEST_F(trap_tracker, the_handler_runs_on_the_alternate_stack_of_a_thread_that_has_one) {
    make();
    // The handler's frame must lie there: what was zero before is not afterwards.
    std::vector<std::byte> area(64 * KiB);
    stack_t mine{};
    mine.ss_sp = area.data();
    mine.ss_size = area.size();
    stack_t before{};
    ASSERT_EQ(::sigaltstack(&mine, &before), 0);
    memory_.write(40);
    ASSERT_EQ(::sigaltstack(&before, nullptr), 0);
    EXPECT_FALSE(std::ranges::all_of(area, [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_EQ(memory_.collect(), std::set<std::uint64_t>{40});
}

tracked_memory* written_by_signal = nullptr;
volatile std::sig_atomic_t signals_taken = 0;
volatile std::sig_atomic_t next_page = 0;

TEST_F(trap_tracker, handlers_of_other_signals_may_write_at_any_time) {
    constexpr std::uint64_t k_many = 4096;
    make(k_many, k_many);
    written_by_signal = &memory_;
    signals_taken = 0;
    struct sigaction action{};
    action.sa_handler = [](int) {
        signals_taken = signals_taken + 1;
        written_by_signal->write(static_cast<std::uint64_t>(next_page));
        next_page = (next_page + 7) % static_cast<int>(k_many);
    };
    struct sigaction before{};
    ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
    const itimerval often{{0, 50}, {0, 50}};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
    for (std::uint64_t page = 0; page < k_many || signals_taken < 100; ++page) {
        memory_.write(page % k_many);
        ASSERT_LT(page, 100'000'000U) << "the timer does not run";
    }
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    EXPECT_EQ(memory_.collect().size(), k_many);
}

// Another library's handler of SIGSEGV, which jumps out of faults at its own address as garbage collectors and checks
// of pointers do.
class other_handler {
public:
    enum class conduct { passes_on, keeps_all };
    explicit other_handler(conduct how) {
        jump_count = 0;
        answer = how;
        struct sigaction action{};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        ::sigaction(SIGSEGV, &action, &next);
    }
    other_handler(const other_handler&) = delete;
    other_handler& operator=(const other_handler&) = delete;
    ~other_handler() { ::sigaction(SIGSEGV, &next, nullptr); }

    /// Whether it is asked about a write to an address that is nobody's.
    static bool gets_foreign_faults() {
        const int before = jump_count;
        if (sigsetjmp(out, 1) == 0)
            *reinterpret_cast<volatile int*>(foreign) = 1;
        return jump_count == before + 1;
    }

private:
    static constexpr std::uintptr_t k_foreign = 16;
    static void on_fault(int signal, siginfo_t* info, void* context) {
        if (reinterpret_cast<std::uintptr_t>(info->si_addr) == k_foreign) {
            jump_count = jump_count + 1;
            siglongjmp(out, 1);
        }
        if (answer == conduct::keeps_all)
            ::_exit(99);
        if ((next.sa_flags & SA_SIGINFO) != 0) {
            next.sa_sigaction(signal, info, context);
        } else {
            ::_exit(98);
        }
    }
    static inline sigjmp_buf out;
    static inline volatile std::sig_atomic_t jump_count = 0;
    static inline conduct answer = conduct::passes_on;
    static inline struct sigaction next{};
    static inline volatile std::uintptr_t foreign = k_foreign;
};

std::string writes_and_faults(tracked_memory& memory) {
    for (int i = 0; i < 3; ++i) {
        if (!other_handler::gets_foreign_faults())
            return "a foreign fault went elsewhere";
        memory.write(50 + static_cast<std::uint64_t>(i));
    }
    return memory.collect() == std::set<std::uint64_t>{50, 51, 52} ? "both" : "missed";
}

std::string beside(other_handler::conduct how, bool before) {
    return in_child([&] {
        std::optional<other_handler> other;
        if (before)
            other.emplace(how);
        tracked_memory memory;
        if (auto missing = memory.make(tracker_choice::trap); !missing.empty())
            return missing;
        (void)memory.collect();
        if (!before)
            other.emplace(how);
        memory.scanner().allow_writes(true); // as a write section does
        const std::string first = writes_and_faults(memory);
        return first == "both" ? writes_and_faults(memory) : first;
    });
}

// The first tracker of the process decides which handler is the earlier one, hence children. Sanitizers have handlers of
// their own, which report what we want to happen.
TEST(other_handlers_no_sanitizer, one_installed_before_gets_what_is_not_ours) {
    EXPECT_EQ(beside(other_handler::conduct::passes_on, true), "both");
    EXPECT_EQ(beside(other_handler::conduct::keeps_all, true), "both");
}

TEST(other_handlers_no_sanitizer, one_installed_afterwards_gets_what_is_not_ours) {
    EXPECT_EQ(beside(other_handler::conduct::passes_on, false), "both");
    EXPECT_EQ(beside(other_handler::conduct::keeps_all, false), "both");
}

TEST(other_handlers_no_sanitizer, without_one_the_process_dies_of_a_foreign_fault_as_ever) {
    for (const bool installed_twice : {false, true}) {
        EXPECT_EQ(in_child([&] {
                      tracked_memory memory;
                      (void)memory.make(tracker_choice::trap);
                      std::optional<other_handler> other;
                      if (installed_twice) { // ours, theirs, ours, theirs… must come to an end
                          other.emplace(other_handler::conduct::passes_on);
                          memory.scanner().allow_writes(true);
                      }
                      const volatile std::uintptr_t nobodys = 8;
                      *reinterpret_cast<volatile int*>(nobodys) = 1;
                      return std::string("alive");
                  }),
                  "killed by signal " + std::to_string(SIGSEGV));
    }
    EXPECT_EQ(in_child([&] {
                  tracked_memory memory;
                  (void)memory.make(tracker_choice::trap);
                  ::raise(SIGSEGV); // sent, no fault
                  return std::string("alive");
              }),
              "killed by signal " + std::to_string(SIGSEGV));
}

} // namespace
} // namespace remanence::track
