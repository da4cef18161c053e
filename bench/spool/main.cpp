// Articles of a news server, posted and read by 1 and 4 processes.
#include "store.hpp"

#include <harness.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr unsigned k_groups = 8; // as many as a process of the news server has open at once
constexpr unsigned k_posts = 250;
constexpr unsigned k_reads = 20'000;
constexpr unsigned k_overviews = 10'000;
constexpr std::size_t k_overview_lines = 100;
constexpr std::size_t k_text_bytes = 2'000;

constexpr std::string_view k_purpose =
    R"(Measures the storage of a news server, without the network: articles of 2 KB in 8 groups, each fourth in two of them.

  post       1 and 4 processes post 250 articles each; each is durable when the call returns
  read       1 and 4 processes read articles at random, by their message-ids; 20,000 each
  overview   1 and 4 processes read the overview of 100 articles of a group at random; 10,000 each

Times are those of an article, or of an overview, of all processes together. They include opening the groups' files, at the
first use, and closing them. The systems: the spool of examples/news_spool (a heap for each group, and one for the
catalogue), LMDB (one environment, a transaction for each article), and a file for each article.

)";

std::vector<system_kind> all_systems() {
    std::vector<system_kind> all{remanence_system()};
#ifdef BENCH_LMDB
    all.push_back(lmdb_system());
#endif
    all.push_back(files_system());
    return all;
}

const system_kind& system_named(const std::string& name) {
    static const std::vector<system_kind> systems = all_systems();
    const auto at = std::ranges::find(systems, name, &system_kind::name);
    if (at == systems.end())
        throw std::runtime_error("no system is called " + name);
    return *at;
}

std::string group_name(unsigned number) { return "bench." + std::to_string(number % k_groups); }

std::string message_id(unsigned processes, unsigned process, unsigned number) {
    return '<' + std::to_string(number) + '.' + std::to_string(process) + '.' + std::to_string(processes) +
           "@bench.example>";
}

news::article article(unsigned processes, unsigned process, unsigned number) {
    const std::string second = number % 4 == 0 ? ',' + group_name(number + 1) : "";
    std::string text =
        "From: A. Person <person@example.org>\r\nSubject: words of an article\r\nNewsgroups: " + group_name(number) +
        second + "\r\nMessage-ID: " + message_id(processes, process, number) +
        "\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000\r\nPath: bench\r\n\r\n";
    while (text.size() < k_text_bytes)
        text += "A line of the body, which is as long as lines of such articles are.\r\n";
    return news::make_article(text, {});
}

/// Calls `work(store, process)` in so many processes at once, each with its own store. Returns the seconds from when all
/// have opened theirs to when the last has ended.
template <class F>
double seconds_of(unsigned processes, const system_kind& system, const fs::path& directory, const F& work) {
    int ready[2];
    int gate[2];
    if (::pipe(ready) != 0 || ::pipe(gate) != 0)
        throw std::runtime_error("there is no pipe");
    for (unsigned process = 0; process < processes; ++process) {
        if (::fork() != 0)
            continue;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(gate[1]);
        int status = 1;
        char byte = 0;
        try {
            const std::unique_ptr<store> opened = system.open(directory);
            static_cast<void>(!::write(ready[1], &byte, 1));
            static_cast<void>(!::read(gate[0], &byte, 1)); // until the parent closes it
            work(*opened, process);
            status = 0;
        } catch (const std::exception& what) {
            std::fprintf(stderr, "%s\n", what.what());
        }
        static_cast<void>(!::write(ready[1], &byte, 1)); // if it failed before: the parent waits for it
        ::_exit(status);
    }
    ::close(ready[1]);
    char byte = 0;
    for (unsigned process = 0; process < processes; ++process)
        static_cast<void>(!::read(ready[0], &byte, 1));
    const bench::stopwatch watch;
    for (const int each : {ready[0], gate[0], gate[1]})
        ::close(each);
    bool is_well = true;
    for (int status = 0; ::wait(&status) > 0;)
        is_well = is_well && status == 0;
    if (!is_well)
        throw std::runtime_error("a process failed");
    return watch.seconds();
}

void post(const system_kind& system, const fs::path& directory, unsigned processes) {
    const double seconds = seconds_of(processes, system, directory, [&](store& to, unsigned process) {
        for (unsigned number = 0; number < k_posts; ++number)
            to.post(article(processes, process, number), process);
    });
    bench::hand_over({"post, " + std::to_string(processes), seconds / (processes * k_posts)});
}

void read(const system_kind& system, const fs::path& directory, unsigned processes) {
    const double seconds = seconds_of(processes, system, directory, [&](store& from, unsigned process) {
        std::mt19937 random(process);
        for (unsigned i = 0; i < k_reads; ++i) {
            const auto poster = static_cast<unsigned>(random() % processes);
            const auto number = static_cast<unsigned>(random() % k_posts);
            if (!from.read(message_id(processes, poster, number)).ends_with(" are.\r\n"))
                throw std::runtime_error("an article has another text");
        }
    });
    bench::hand_over({"read, " + std::to_string(processes), seconds / (processes * k_reads)});
}

void overview(const system_kind& system, const fs::path& directory, unsigned processes) {
    const double seconds = seconds_of(processes, system, directory, [&](store& from, unsigned process) {
        std::mt19937 random(process);
        for (unsigned i = 0; i < k_overviews; ++i) {
            const std::string lines =
                from.overview(group_name(static_cast<unsigned>(random() % k_groups)), k_overview_lines);
            if (static_cast<std::size_t>(std::ranges::count(lines, '\n')) != k_overview_lines)
                throw std::runtime_error("an overview lacks lines");
        }
    });
    bench::hand_over({"overview, " + std::to_string(processes), seconds / (processes * k_overviews)});
}

void run_child(const std::vector<std::string>& words) {
    const system_kind& system = system_named(words.at(0));
    const fs::path directory = words.at(1);
    {
        const std::unique_ptr<store> opened = system.open(directory);
        for (unsigned number = 0; number < k_groups; ++number)
            opened->make_group(group_name(number));
    }
    for (const unsigned processes : {1U, 4U}) {
        post(system, directory, processes);
        read(system, directory, processes);
    }
    for (const unsigned processes : {1U, 4U})
        overview(system, directory, processes);
}

void run_parent(const bench::options& chosen) {
    bench::report report("spool", chosen, "Remanence");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<system_kind> systems = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const std::string& name = systems[(i + run) % systems.size()].name;
            if (!bench::is_wanted(name, chosen.only))
                continue;
            const fs::path directory = scratch.path() / "store";
            fs::create_directory(directory);
            for (const bench::measurement& result : bench::run_child({name, directory.string()}))
                report.add(name, result.op.substr(0, result.op.find(',')), k_posts, result);
            fs::remove_all(directory);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "spool", k_purpose, run_parent, run_child); }
