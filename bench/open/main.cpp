// How long it takes to open a heap that was closed cleanly, and whether that depends on how much it holds.
#include <harness.hpp>
#include <number_heap.hpp>

#include <remanence/remanence.hpp>

#include <cstdint>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures how long it takes to open a heap of 64 MiB and one of 8 GiB, closed
cleanly and with a warm page cache: from the call of heap::open_existing() to its return; seconds, the median over all
openings of several runs, each of them a fresh process that opens and closes 20 times.
)";

constexpr int k_openings = 20;

struct workload {
    std::string name;
    std::uint64_t bytes;
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {{"64 MiB", 64 * bench::k_mib}, {"8 GiB", 8 * bench::k_gib}};
    return all;
}

void measure(const fs::path& directory, std::uint64_t bytes) {
    for (int i = 0; i < k_openings; ++i) {
        const bench::stopwatch watch;
        rem::heap heap = rem::heap::open_existing(directory / bench::k_number_file);
        const double seconds = watch.seconds();
        const auto* const blocks = heap.find_root<bench::number_blocks>("blocks");
        if (blocks == nullptr || blocks->size() != bytes / bench::k_number_block_bytes || blocks->back().back() == 0)
            throw std::runtime_error("the heap does not hold what was written");
        heap.close();
        const auto file_bytes = static_cast<double>(fs::file_size(directory / bench::k_number_file));
        bench::hand_over({"open", seconds, {{"file_bytes", file_bytes}}});
    }
}

void run_child(const std::vector<std::string>& words) {
    const fs::path directory = words.at(1);
    const std::uint64_t bytes = std::stoull(words.at(2));
    if (words.at(0) == "populate")
        bench::add_numbers(directory, bytes);
    else
        measure(directory, bytes);
}

void run_parent(const bench::options& chosen) {
    const bench::scratch_directory scratch(chosen.dir);
    std::vector<workload> ready;
    for (const workload& work : all_workloads()) {
        if (!bench::is_wanted(work.name, chosen.workloads) || !bench::has_room(scratch.path(), work.name, work.bytes))
            continue;
        bench::note("writing " + work.name);
        bench::make_number_heap(scratch.path() / work.name, work.bytes);
        ready.push_back(work);
    }
    bench::report report("open");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : ready) {
            bench::note("opening " + work.name);
            const std::vector<std::string> words = {"open", scratch.path() / work.name, std::to_string(work.bytes)};
            for (const bench::measurement& result : bench::run_child(words))
                report.add("remanence", work.name, work.bytes / sizeof(std::uint64_t), result);
        }
    }
    bench::note("");
    report.print("");
    if (!chosen.json.empty())
        report.write_json(chosen.json);
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "open", k_purpose, run_parent, run_child); }
