// How long a heap takes to open after its process was killed with a full log.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures the opening of a heap of 128 MiB whose process ended with a log of
64 MiB, not yet applied: of changes of one word each, which take 24 bytes, in commits of 10,000 random pages; and of whole
pages, in commits of 1,000. Seconds of heap::open_existing, which replays the log, and makes it durable in the image. Each
run is a fresh process and a fresh copy of the files, in the page cache.
)";

constexpr std::uint64_t k_mib = 1U << 20;
constexpr std::uint64_t k_page_words = 4096 / sizeof(std::uint64_t);
constexpr std::uint64_t k_pages = 128 * k_mib / 4096;
constexpr std::uint64_t k_log_bytes = 64 * k_mib;
constexpr const char* k_file = "recovery.rem";
using numbers = rem::vector<std::uint64_t>;

struct workload {
    std::string name;
    std::uint64_t pages; ///< of a commit
    std::uint64_t words; ///< of each page
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {{"words", 10'000, 1}, {"pages", 1000, k_page_words}};
    return all;
}

/// Fills the log, and ends the process as a kill does.
[[noreturn]] void crash(const fs::path& directory, const workload& work) {
    rem::heap_options options;
    options.log.log_limit_bytes = 2 * k_log_bytes; // no checkpoint
    rem::heap heap = rem::heap::create(directory / k_file, options);
    auto& all = heap.root<numbers>("numbers");
    std::mt19937_64 random(1);
    heap.write([&] {
        all.resize(k_pages * k_page_words);
        for (std::uint64_t& number : all)
            number = random();
    });
    heap.checkpoint();
    std::uint64_t record_bytes = 0;
    while (heap.stats().log_used_bytes + record_bytes <= k_log_bytes) {
        const std::uint64_t before = heap.stats().log_used_bytes;
        heap.write([&] {
            for (std::uint64_t i = 0; i < work.pages; ++i) {
                const std::uint64_t page = random() % k_pages * k_page_words;
                for (std::uint64_t word = 0; word < work.words; ++word)
                    all[page + (work.words == 1 ? random() % k_page_words : word)] = random();
            }
        });
        record_bytes = heap.stats().log_used_bytes - before;
    }
    std::fflush(nullptr);
    std::_Exit(0);
}

void measure(const fs::path& directory) {
    const bench::stopwatch watch;
    rem::heap heap = rem::heap::open_existing(directory / k_file);
    const double seconds = watch.seconds();
    const double cpu_seconds = watch.cpu_seconds();
    const rem::heap_stats stats = heap.stats();
    if (stats.recovered_bytes < k_log_bytes / 2 || !heap.verify().clean())
        throw std::runtime_error("the log was not what it was to be");
    bench::hand_over({"open",
                      seconds,
                      {{"cpu_seconds", cpu_seconds},
                       {"log_bytes", static_cast<double>(stats.recovered_bytes)},
                       {"commits", static_cast<double>(stats.recovered_commits)}}});
    heap.close();
}

/// A copy, which is in the page cache then. What is zeros becomes holes, as it is in the original.
void copy_files(const fs::path& from, const fs::path& to) {
    std::vector<char> part(4096);
    for (const auto& file : fs::directory_iterator(from)) {
        const fs::path target = to / file.path().filename();
        std::ifstream in(file.path(), std::ios::binary);
        std::ofstream out(target, std::ios::binary);
        while (in.read(part.data(), static_cast<std::streamsize>(part.size())) || in.gcount() != 0) {
            if (std::any_of(part.begin(), part.begin() + in.gcount(), [](char c) { return c != 0; }))
                out.write(part.data(), in.gcount());
            else
                out.seekp(in.gcount(), std::ios::cur);
        }
        if (!in.eof() || !out.flush())
            throw std::runtime_error("cannot copy " + file.path().string());
        fs::resize_file(target, file.file_size());
    }
}

void run_child(const std::vector<std::string>& words) {
    for (const workload& work : all_workloads()) {
        if (work.name == words.at(0))
            crash(words.at(1), work);
    }
    measure(words.at(1));
}

void run_parent(const bench::options& chosen) {
    bench::report report("recovery", chosen, "");
    for (const workload& work : all_workloads()) {
        if (!bench::is_wanted(work.name, chosen.workloads))
            continue;
        const bench::scratch_directory crashed(chosen.dir);
        bench::run_child({work.name, crashed.path()});
        for (unsigned run = 0; run < chosen.runs; ++run) {
            const bench::scratch_directory scratch(chosen.dir);
            copy_files(crashed.path(), scratch.path());
            ::sync(); // else recovery's syncs wait for the copy's pages
            for (const bench::measurement& result : bench::run_child({"measure", scratch.path()}))
                report.add("remanence", work.name, k_pages, result);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "recovery", k_purpose, run_parent, run_child); }
