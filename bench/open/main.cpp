// How long it takes to open a heap that was closed cleanly, and whether that depends on how much it holds.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures how long it takes to open a heap of 64 MiB and one of 8 GiB, closed
cleanly and with a warm page cache: from the call of heap::open_existing() to its return; seconds, the median over all
openings of several runs, each of them a fresh process that opens and closes 20 times.
)";

constexpr std::uint64_t k_mib = 1U << 20;
constexpr std::uint64_t k_gib = 1U << 30;
constexpr std::uint64_t k_block_bytes = 16 * k_mib;
constexpr std::uint64_t k_commit_bytes = 256 * k_mib;
constexpr std::uint64_t k_process_bytes = k_gib; // written by one process, so that memory is no limit
constexpr int k_openings = 20;
constexpr const char* k_file = "numbers.rem";

using number_block = rem::vector<std::uint64_t>;
using number_blocks = rem::list<number_block>;

struct workload {
    std::string name;
    std::uint64_t bytes;
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {{"64 MiB", 64 * k_mib}, {"8 GiB", 8 * k_gib}};
    return all;
}

/// Numbers without a pattern, so that nothing can save space on them.
void fill(number_block& block, std::uint64_t seed) {
    for (std::uint64_t& number : block) {
        seed ^= seed << 13; // Marsaglia's xorshift
        seed ^= seed >> 7;
        seed ^= seed << 17;
        number = seed;
    }
}

void populate(const fs::path& directory, std::uint64_t bytes) {
    rem::heap heap = rem::heap::open(directory / k_file);
    auto& blocks = heap.root<number_blocks>("blocks");
    while (bytes > 0) {
        heap.write([&] {
            for (std::uint64_t left = std::min(bytes, k_commit_bytes); left > 0; left -= k_block_bytes)
                fill(blocks.emplace_back(k_block_bytes / sizeof(std::uint64_t)), blocks.size());
        });
        bytes -= std::min(bytes, k_commit_bytes);
    }
    heap.close();
}

void measure(const fs::path& directory, std::uint64_t bytes) {
    for (int i = 0; i < k_openings; ++i) {
        const bench::stopwatch watch;
        rem::heap heap = rem::heap::open_existing(directory / k_file);
        const double seconds = watch.seconds();
        const auto* const blocks = heap.find_root<number_blocks>("blocks");
        if (blocks == nullptr || blocks->size() != bytes / k_block_bytes || blocks->back().back() == 0)
            throw std::runtime_error("the heap does not hold what was written");
        heap.close();
        const auto file_bytes = static_cast<double>(fs::file_size(directory / k_file));
        bench::hand_over({"open", seconds, {{"file_bytes", file_bytes}}});
    }
}

void run_child(const std::vector<std::string>& words) {
    const fs::path directory = words.at(1);
    const std::uint64_t bytes = std::stoull(words.at(2));
    if (words.at(0) == "populate")
        populate(directory, bytes);
    else
        measure(directory, bytes);
}

bool has_room(const fs::path& directory, const workload& work) {
    const std::uint64_t needed = work.bytes + work.bytes / 8 + k_gib;
    const std::uint64_t available = fs::space(directory).available;
    if (available >= needed)
        return true;
    std::printf("%s is skipped: it needs %.1f GiB of disk, and %.1f are free\n", work.name.c_str(),
                static_cast<double>(needed) / static_cast<double>(k_gib),
                static_cast<double>(available) / static_cast<double>(k_gib));
    return false;
}

void note(const std::string& text) {
    if (::isatty(STDERR_FILENO) == 1)
        std::fprintf(stderr, "\r%s\033[K", text.c_str());
}

void run_parent(const bench::options& chosen) {
    std::printf("%s", bench::machine_facts(chosen.dir).c_str());
    std::fflush(stdout);
    const bench::scratch_directory scratch(chosen.dir);
    std::vector<workload> ready;
    for (const workload& work : all_workloads()) {
        if (!bench::is_wanted(work.name, chosen.workloads) || !has_room(scratch.path(), work))
            continue;
        note("writing " + work.name);
        const fs::path directory = scratch.path() / work.name;
        fs::create_directory(directory);
        for (std::uint64_t done = 0; done < work.bytes; done += k_process_bytes)
            bench::run_child({"populate", directory, std::to_string(std::min(work.bytes - done, k_process_bytes))});
        ready.push_back(work);
    }
    bench::report report("open");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : ready) {
            note("opening " + work.name);
            const std::vector<std::string> words = {"open", scratch.path() / work.name, std::to_string(work.bytes)};
            for (const bench::measurement& result : bench::run_child(words))
                report.add("remanence", work.name, work.bytes / sizeof(std::uint64_t), result);
        }
    }
    note("");
    report.print("");
    if (!chosen.json.empty())
        report.write_json(chosen.json);
}

} // namespace

int main(int count, char* words[]) {
    try {
        const bench::options chosen = bench::parse_options(count, words, k_purpose);
        if (chosen.child.empty())
            run_parent(chosen);
        else
            run_child(chosen.child);
        return 0;
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "open: %s\n", reason.what());
        return 1;
    }
}
