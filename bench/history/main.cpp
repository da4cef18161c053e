// What a history costs, and what it gives: commits with and without, an undo, and opening with many steps.
#include <harness.hpp>

#include "matrix.hpp"
#include "peers.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures a history that is kept over sessions, one that lies in memory, and none.

  commit           seconds of a durable section that changes 100 bytes at random in 256 MiB; of 2,000
  undo             seconds of a durable undo of one of these; of 200
  undo, 8 GiB      the same in a heap of 8 GiB, of which little is written
  open             of a heap with 1,000,000 steps of 8 bytes, closed cleanly; page cache warm
  first undo       after that, which reads the steps
  version          opening the one 1,000 commits back, read-only: of 100 bytes each in 256 MiB, of which the history has 2,000 steps, or
                   of the million steps
  kept version     opening one that was kept 10,000 commits before the last, in the first of these heaps

  walk back        bytes of 2,000 steps of 32 KiB, by the second, of one undo of all of them
  inversion        seconds of a durable commit that inverts a matrix of 1 MB, by Gauss and Jordan; the step is held by its bytes, or as a call
  reflection       the same of a matrix of 64 MB that is multiplied by Householder's, whose inverse is itself but for rounding

SQLite: rows of 100 bytes, each transaction recorded by a session, whose changeset is stored with it, and undone by its inverse, in a
transaction, too. Copies: the file of 256 MiB is copied and synced before each change, and copied back.

chainbase, whose sessions undo in memory, is in no package, so it is not among them.

The keys logged_bytes, step_bytes and history_bytes, of each commit, are in the JSON; history_bytes is of the file, undos included.
)";

constexpr std::uint64_t k_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t k_sparse_bytes = std::uint64_t{8} << 30;
constexpr std::uint64_t k_commits = 2'000;
constexpr std::uint64_t k_undos = 200;
constexpr std::uint64_t k_steps = 1'000'000;
constexpr std::uint64_t k_changed = 100;
constexpr std::uint64_t k_steps_of_versions = 2'000;
constexpr std::uint64_t k_commits_after_kept = 10'000;
constexpr std::uint64_t k_commits_back = 1'000;

using bytes = rem::vector<char>;

rem::heap_options options(std::string_view system, std::uint64_t reserve = std::uint64_t{16} << 30) {
    rem::heap_options with{.memory = {.reserve_bytes = reserve}};
    if (system != "none")
        with.history = {.steps_max = 2 * k_steps, .kept_over_sessions = system == "kept"};
    return with;
}

fs::path history_of(const fs::path& heap) { return heap.string() + "-history"; }

void change(rem::heap& heap, char* all, std::uint64_t size, std::mt19937_64& random) {
    heap.write([&] {
        char* const at = all + random() % (size - k_changed);
        for (std::uint64_t i = 0; i < k_changed; ++i)
            at[i] = static_cast<char>(random());
    });
}

void measure_commits(const fs::path& file, const std::string& system) {
    rem::heap heap = rem::heap::create(file, options(system));
    bytes& all = heap.root<bytes>("bytes");
    heap.write([&] { all.resize(k_bytes, 1); });
    std::mt19937_64 random(1);
    change(heap, all.data(), k_bytes, random); // the session has begun
    if (system != "none")
        heap.forget_history();
    const rem::heap_stats before = heap.stats();
    std::vector<double> seconds;
    for (std::uint64_t i = 0; i < k_commits; ++i) {
        const bench::stopwatch watch;
        change(heap, all.data(), k_bytes, random);
        seconds.push_back(watch.seconds());
    }
    std::uint64_t step_bytes = 0;
    for (const rem::history_step& each : heap.history())
        step_bytes += each.bytes;
    const double logged = static_cast<double>(heap.stats().logged_bytes - before.logged_bytes);
    std::vector<double> undos;
    for (std::uint64_t i = 0; system != "none" && i < k_undos; ++i) {
        const bench::stopwatch watch;
        heap.undo();
        undos.push_back(watch.seconds());
    }
    heap.close();
    const auto history = system == "kept" ? fs::file_size(history_of(file)) : 0;
    bench::hand_over({"commit",
                      bench::median(seconds),
                      {{"logged_bytes", logged / k_commits},
                       {"step_bytes", static_cast<double>(step_bytes) / k_commits},
                       {"history_bytes", static_cast<double>(history) / (k_commits + k_undos)}}});
    if (!undos.empty())
        bench::hand_over({"undo", bench::median(undos)});
}

void measure_sparse(const fs::path& file, const std::string& system) {
    rem::heap heap = rem::heap::create(file, options(system));
    bytes& reserved = heap.root<bytes>("bytes");
    char* all = nullptr;
    heap.write([&] {
        reserved.reserve(k_sparse_bytes);
        all = reserved.data();
        for (std::uint64_t at = 0; at < k_sparse_bytes; at += std::uint64_t{64} << 20)
            all[at] = 1;
    });
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < k_undos; ++i)
        change(heap, all, k_sparse_bytes, random);
    std::vector<double> undos;
    for (std::uint64_t i = 0; i < k_undos; ++i) {
        const bench::stopwatch watch;
        heap.undo();
        undos.push_back(watch.seconds());
    }
    bench::hand_over({"undo, 8 GiB", bench::median(undos)});
    heap.close();
}

/// In memory that no limit lets go, and no version is kept.
void measure_walk(const fs::path& file, const std::string& system) {
    constexpr std::uint64_t k_walked = 2'000;
    constexpr std::uint64_t k_step = 32 << 10;
    rem::heap_options with = options(system);
    with.commits = rem::durability::lazy;
    rem::heap heap = rem::heap::create(file, with);
    bytes& all = heap.root<bytes>("bytes");
    heap.write([&] { all.resize(k_bytes, 1); });
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < k_walked; ++i)
        heap.write([&] {
            char* const at = all.data() + random() % (k_bytes - k_step);
            // Another byte than what is there: a commit that changes nothing is no step.
            std::fill_n(at, k_step, static_cast<char>(static_cast<unsigned char>(*at) + 1U + random() % 255));
        });
    std::uint64_t walked = 0;
    const std::vector<rem::history_step> steps = heap.history();
    for (std::uint64_t i = 0; i < k_walked; ++i)
        walked += steps[steps.size() - 1 - i].bytes;
    heap.sync();
    const bench::stopwatch watch;
    heap.undo(k_walked);
    const double seconds = watch.seconds();
    if (std::any_of(all.begin(), all.end(), [](char each) { return each != 1; }))
        throw std::runtime_error("the undo has not led back");
    bench::hand_over({"walk back", seconds, {{"megabytes_per_second", static_cast<double>(walked) / seconds / 1e6}}});
    heap.close();
}

void make_steps(const fs::path& file) {
    rem::heap_options with = options("kept");
    with.commits = rem::durability::lazy;
    rem::heap heap = rem::heap::create(file, with);
    auto& number = heap.root<std::uint64_t>("number");
    for (std::uint64_t i = 0; i < k_steps; ++i)
        heap.write([&] { ++number; });
    heap.close();
}

void measure_open(const fs::path& file, const std::string& system) {
    const bench::stopwatch watch;
    rem::heap heap = rem::heap::open_existing(file, options(system));
    bench::hand_over({"open", watch.seconds()});
    if (system == "kept") {
        if (heap.undo_depth() < k_steps)
            throw std::runtime_error("steps are lost: " + heap.why_history_is_new());
        const bench::stopwatch undoing;
        heap.undo();
        bench::hand_over({"first undo", undoing.seconds()});
        heap.redo();
    }
    heap.close();
}

/// One that is kept, and commits after it of which the history has the last.
void make_versions(const fs::path& file) {
    rem::heap_options with = options("kept");
    with.history.steps_max = k_steps_of_versions;
    with.commits = rem::durability::lazy;
    rem::heap heap = rem::heap::create(file, with);
    bytes& all = heap.root<bytes>("bytes");
    heap.write([&] { all.resize(k_bytes, 1); });
    heap.keep("kept");
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < k_commits_after_kept; ++i)
        change(heap, all.data(), k_bytes, random);
    heap.close();
}

double seconds_of_opening(const fs::path& file, const rem::heap_options& with) {
    const bench::stopwatch watch;
    const rem::heap heap = rem::heap::open_existing(file, with);
    return watch.seconds();
}

void measure_versions(const fs::path& file, bool has_kept) {
    rem::heap_options with{.read_only = true};
    const std::uint64_t last = rem::heap::open_existing(file, with).version();
    std::vector<double> back;
    std::vector<double> kept;
    for (int i = 0; i < 5; ++i) {
        with.version = last - k_commits_back;
        back.push_back(seconds_of_opening(file, with));
        with.version.reset();
        with.kept_version = "kept";
        if (has_kept)
            kept.push_back(seconds_of_opening(file, with));
        with.kept_version.clear();
    }
    bench::hand_over({"version", bench::median(back)});
    if (has_kept)
        bench::hand_over({"kept version", bench::median(kept)});
}

/// Before each change the whole file is copied, as a program without any history may do.
void measure_copies(const fs::path& file) {
    rem::heap heap = rem::heap::create(file, options("none"));
    bytes& all = heap.root<bytes>("bytes");
    heap.write([&] { all.resize(k_bytes, 1); });
    heap.close();
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
        const bench::stopwatch watch;
        bench::copy_durably(file, file.string() + ".copy");
        seconds.push_back(watch.seconds());
    }
    bench::hand_over({"commit", bench::median(seconds)});
    bench::hand_over({"undo", bench::median(seconds)}); // the other way round
}

void run_child(const std::vector<std::string>& words) {
    const fs::path file = words.at(1);
    const std::string& system = words.at(2);
    if (words.at(0) == "commits" && system == "SQLite session")
        bench::measure_sqlite_session(file, k_bytes, k_changed, k_commits, k_undos);
    else if (words.at(0) == "commits" && system == "copies")
        measure_copies(file);
    else if (words.at(0) == "commits")
        measure_commits(file, system);
    else if (words.at(0) == "sparse")
        measure_sparse(file, system);
    else if (words.at(0) == "walk")
        measure_walk(file, system);
    else if (words.at(0) == "inversion")
        bench::measure_inversion(file, system == "call");
    else if (words.at(0) == "reflection")
        bench::measure_reflection(file, system == "call");
    else if (words.at(0) == "make")
        make_steps(file);
    else if (words.at(0) == "make versions")
        make_versions(file);
    else if (words.at(0) == "versions")
        measure_versions(file, true);
    else if (words.at(0) == "versions of steps")
        measure_versions(file, false);
    else
        measure_open(file, system);
}

void run_parent(const bench::options& chosen) {
    bench::report report("history", chosen, "none");
    std::vector<std::string> systems{"none", "in memory", "kept", "copies"};
    if (bench::has_sqlite_session())
        systems.emplace_back("SQLite session");
    else
        report.remark("SQLite is missing, or has no session extension.");
    const auto add = [&](const std::string& what, const std::string& workload, const fs::path& file,
                         const std::string& system) {
        if (!bench::is_wanted(system, chosen.only) || !bench::is_wanted(workload, chosen.workloads))
            return;
        for (const bench::measurement& result : bench::run_child({what, file.string(), system}))
            report.add(system, workload, 1, result);
    };
    const bench::scratch_directory kept(chosen.dir);
    const fs::path steps = kept.path() / "steps";
    if (bench::is_wanted("a million steps", chosen.workloads))
        bench::run_child({"make", steps.string(), "kept"});
    const fs::path versions = kept.path() / "versions";
    if (bench::is_wanted("versions", chosen.workloads))
        bench::run_child({"make versions", versions.string(), "kept"});
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const bench::scratch_directory scratch(chosen.dir);
            add("commits", "100 bytes", scratch.path() / "heap", systems[(i + run) % systems.size()]);
        }
        for (const char* system : {"in memory", "kept"}) {
            const bench::scratch_directory scratch(chosen.dir);
            add("sparse", "100 bytes of 8 GiB", scratch.path() / "heap", system);
        }
        for (const char* system : {"in memory", "kept"}) {
            const bench::scratch_directory scratch(chosen.dir);
            add("walk", "2,000 steps of 32 KiB", scratch.path() / "heap", system);
        }
        for (const char* system : {"bytes", "call"}) {
            const bench::scratch_directory scratch(chosen.dir);
            add("inversion", "a matrix of 1 MB", scratch.path() / "small", system);
            add("reflection", "a matrix of 64 MB", scratch.path() / "large", system);
        }
        for (const char* system : {"kept", "none"})
            add("open", "a million steps", steps, system);
        add("versions of steps", "a million steps", steps, "kept");
        add("versions", "versions", versions, "kept");
    }
    const auto compare = [&](const char* what, const char* workload, const char* op, double limit_ms) {
        if (const auto seconds = report.seconds("kept", workload, op))
            report.compare({what, *seconds * 1e3, bench::bound::at_most, limit_ms, "ms"});
    };
    compare("history, the version 1,000 back of a million steps", "a million steps", "version", 20);
    compare("history, a kept version", "versions", "kept version", 5);
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "history", k_purpose, run_parent, run_child); }
