// cache_demo: kills a process with a cache again and again, and shows what that costs: how much of the cache is lost, how
// soon the next process answers, and how often it finds what it is asked for.
#include "service.hpp"

#include "arguments.hpp"
#include "temporary_directory.hpp"
#include "terminal.hpp"

#include <signal.h> // NOLINT(modernize-deprecated-headers): kill
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace {

namespace rem = remanence;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using terminal::duration;
using terminal::grouped;
using terminal::right_aligned;

constexpr std::string_view k_usage =
    R"(usage: cache_demo [FILE] [--kills N] [--entries N] [--threads N] [--loss-ms N] [--run-ms N] [--seed N]

Threads (4) ask a cache of so many entries (100,000), in FILE (new; kept) or in a temporary directory (removed), for ten
times as many keys, and put in what they do not find. After at least --run-ms (1,000), and up to twice that, their process is killed with signal
9, N (5) times, and another one goes on with the same cache. A crash may lose what came in the last --loss-ms (1,000).

exit status: 0 all is well   1 something is wrong   2 wrong usage
)";

struct settings {
    service_settings service;
    std::uint64_t kills;
    milliseconds run;
};

/// The report of one process after the other: memory that children share with us.
class shared_report {
public:
    shared_report()
        : memory_(::mmap(nullptr, sizeof(service_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap");
        new (memory_) service_report;
    }
    shared_report(const shared_report&) = delete;
    shared_report& operator=(const shared_report&) = delete;
    ~shared_report() { ::munmap(memory_, sizeof(service_report)); }
    service_report& operator*() const { return *static_cast<service_report*>(memory_); }
    service_report* operator->() const { return &**this; }

private:
    void* memory_;
};

/// What a killed process leaves for comparison with what the next one finds.
struct before_kill {
    std::int64_t killed = 0; ///< when
    std::uint64_t durable_sets = 0;
    double first_hits = 0; ///< share of all gets
    double last_hits = 0;
};

pid_t start(void (*what)(const settings&, service_report&), const settings& chosen, service_report& report) {
    std::cout.flush();
    const pid_t child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0)
        return child;
    try {
        what(chosen, report);
        std::_Exit(0);
    } catch (const std::exception& reason) {
        std::cerr << "cache_demo: " << reason.what() << '\n';
    }
    std::_Exit(1);
}

int status_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    return status;
}

void await_answer(pid_t child, const service_report& report) {
    while (!report.answered) {
        siginfo_t ended{};
        if (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0)
            throw std::runtime_error("the cache's process ended by itself");
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

/// Share of hits while so much time passes.
double hits_within(const service_report& report, milliseconds time) {
    const std::uint64_t gets = report.gets;
    const std::uint64_t hits = report.hits;
    std::this_thread::sleep_for(time);
    const std::uint64_t gets_since = report.gets - gets;
    return gets_since == 0 ? 0 : static_cast<double>(report.hits - hits) / static_cast<double>(gets_since);
}

std::string percent(double share) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.1f %%", 100 * share);
    return text.data();
}

class demo {
public:
    explicit demo(const settings& chosen) : chosen_(chosen), look_(STDOUT_FILENO), random_(chosen.service.seed) {}

    bool run() {
        line(look_.bold("A cache of " + grouped(chosen_.service.cache.entries_max) + " entries is killed " +
                        terminal::counted(chosen_.kills, "time") + "."));
        line(terminal::counted(chosen_.service.threads, "thread") + ", " + grouped(chosen_.service.keys) +
             " keys; a crash may lose " + duration(chosen_.service.cache.loss_max) + "; seed " +
             std::to_string(chosen_.service.seed) + "\n");
        line(look_.faint(row("kill", "lost", "entries", "first answer", "hits at first", "at last")));
        for (std::uint64_t kill = 0; kill < chosen_.kills; ++kill)
            serve_and_kill(kill);
        look_once_more();
        line("");
        fact("pauses", "at most " + duration(longest_pause_) + " for an asynchronous commit");
        verify();
        line(problems_ == 0
                 ? look_.good("\nNothing durable was lost, and each process began with the cache of the one before.")
                 : look_.bad("\nFAILED: " + terminal::counted(problems_, "problem")));
        return problems_ == 0;
    }

private:
    static std::string row(std::string_view kill, std::string_view lost, std::string_view entries,
                           std::string_view answer, std::string_view first, std::string_view last) {
        return right_aligned(kill, 6) + right_aligned(lost, 11) + right_aligned(entries, 11) +
               right_aligned(answer, 15) + right_aligned(first, 16) + right_aligned(last, 10);
    }
    static void line(const std::string& text) { std::cout << text << '\n' << std::flush; }
    void fact(const std::string& label, const std::string& text) {
        line("  " + look_.faint(label + std::string(12 - label.size(), ' ')) + text);
    }
    void problem(const std::string& text) {
        ++problems_;
        line(look_.bad("WRONG: ") + text);
    }

    void serve_and_kill(std::uint64_t kills_before) {
        const shared_report report;
        service_settings& service = chosen_.service;
        service.seed = random_();
        const std::int64_t started = steady_now();
        const pid_t child =
            start([](const settings& all, service_report& to) { serve(all.service, to); }, chosen_, *report);
        before_kill now;
        try {
            await_answer(child, *report);
            const milliseconds sample = chosen_.run / 5;
            now.first_hits = hits_within(*report, sample);
            const auto longer =
                static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(chosen_.run.count() + 1));
            std::this_thread::sleep_for(chosen_.run - 2 * sample + milliseconds(longer));
            now.last_hits = hits_within(*report, sample);
            while (report->durable_sets <= report->sets_found && !report->failed) // on a busy machine
                std::this_thread::sleep_for(milliseconds(1));
        } catch (...) {
            ::kill(child, SIGKILL);
            status_of(child);
            throw;
        }
        now.durable_sets = report->durable_sets;
        now.killed = steady_now();
        ::kill(child, SIGKILL);
        const int status = status_of(child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            throw std::runtime_error("the cache's process ended by itself");
        if (report->failed)
            problem("there were no points any more");
        show(kills_before, *report, started, now);
        longest_pause_ = std::max(longest_pause_, nanoseconds(report->longest_pause.load()));
        before_ = now;
    }

    /// What a process found, and how it went on; `kills` are those before it.
    void show(std::uint64_t kills, const service_report& report, std::int64_t started, const before_kill& then) {
        line(row(kills == 0 ? "-" : std::to_string(kills), kills == 0 ? "-" : lost(report),
                 grouped(report.entries_found), duration(nanoseconds(report.first_answer - started)),
                 percent(then.first_hits), percent(then.last_hits)));
        check(report);
    }
    void look_once_more() {
        const shared_report report;
        const std::int64_t started = steady_now();
        const int status =
            status_of(start([](const settings& all, service_report& to) { look(all.service, to); }, chosen_, *report));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            throw std::runtime_error("the cache cannot be opened any more");
        line(row(std::to_string(chosen_.kills), lost(*report), grouped(report->entries_found),
                 duration(nanoseconds(report->first_answer - started)), "-", "-"));
        check(*report);
    }
    [[nodiscard]] std::string lost(const service_report& report) const {
        return report.newest_found == 0 ? "all" : duration(nanoseconds(before_.killed - report.newest_found));
    }
    void check(const service_report& report) {
        if (!report.is_sound)
            problem("the hash map and the order of use do not have the same entries");
        if (report.sets_found < before_.durable_sets)
            problem(grouped(before_.durable_sets) + " changes were durable, " + grouped(report.sets_found) +
                    " are left");
        if (report.entries_found == 0 && before_.durable_sets != 0)
            problem("the cache is empty");
    }
    void verify() {
        const rem::heap heap = rem::heap::open_existing(chosen_.service.file, {.read_only = true});
        const rem::verify_report found = heap.verify();
        for (const auto& each : found.problems)
            problem(each.what);
        if (found.clean())
            fact("verified", grouped(found.pages_checked) + " pages and " + grouped(found.blocks_checked) +
                                 " blocks without a fault");
    }

    settings chosen_;
    terminal::style look_;
    std::mt19937_64 random_;
    before_kill before_;
    nanoseconds longest_pause_{};
    std::uint64_t problems_ = 0;
};

settings settings_of(arguments& words) {
    settings chosen{};
    constexpr std::uint64_t k_hour = 3'600'000;
    chosen.kills = words.number("kills", 1, 1'000'000).value_or(5);
    chosen.run = milliseconds(words.number("run-ms", 10, k_hour).value_or(1000));
    service_settings& service = chosen.service;
    service.threads = words.number("threads", 1, 1000).value_or(4);
    service.seed = words.number("seed", 0, ~std::uint64_t{0}).value_or(std::random_device{}());
    service.cache.entries_max = words.number("entries", 100, 100'000'000).value_or(100'000);
    service.cache.loss_max = milliseconds(words.number("loss-ms", 2, k_hour).value_or(1000));
    service.keys = 10 * service.cache.entries_max;
    service.file = words.new_file().value_or("");
    return chosen;
}

int run(arguments& words) {
    if (words.flag("help")) {
        std::cout << k_usage;
        return 0;
    }
    settings chosen = settings_of(words);
    std::optional<temporary_directory> temporary;
    if (chosen.service.file.empty())
        chosen.service.file = temporary.emplace("cache_demo").path() / "cache.rem";
    return demo(chosen).run() ? 0 : 1;
}

} // namespace

int main(int count, char* words[]) { return run_demo("cache_demo", count, words, run); }
