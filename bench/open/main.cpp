// How long it takes to open a heap that was closed cleanly, and whether that depends on how much it holds, or on what became
// of it.
#include <harness.hpp>
#include <number_heap.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures how long it takes to open a heap that was closed cleanly: from the call of
heap::open_existing() to its return; seconds, the median over all openings of several runs, each of them a fresh process
that opens and closes 20 times. "open": the page cache is warm; "open cold": it has nothing of the file.

Workloads: heaps full of numbers, of 64 MiB and of 8 GiB; one of 8 GiB in which a random number was changed in each of a
million commits; one of 1 TiB, of which one hundredth was written to, in 1,024 stretches of 10 MiB.
)";

constexpr int k_openings = 20;
constexpr std::uint64_t k_tib = 1024 * bench::k_gib;
constexpr std::uint64_t k_stretches = 1024;
constexpr std::uint64_t k_stretch_bytes = 10 * bench::k_mib;
constexpr std::uint64_t k_numbers_per_stretch = k_stretch_bytes / sizeof(std::uint64_t);
constexpr std::uint64_t k_commits = 1'000'000;

enum class history { written, changed, sparse };

struct workload {
    std::string name;
    std::uint64_t bytes;
    std::uint64_t disk_bytes;
    history past;
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {
        {"64 MiB", 64 * bench::k_mib, 64 * bench::k_mib, history::written},
        {"8 GiB", 8 * bench::k_gib, 8 * bench::k_gib, history::written},
        {"8 GiB after a million commits", 8 * bench::k_gib, 8 * bench::k_gib, history::changed},
        {"1 TiB, one hundredth written", k_tib, k_stretches * k_stretch_bytes, history::sparse},
    };
    return all;
}

void change_at_random(const fs::path& directory) {
    rem::heap heap = rem::heap::open_existing(directory / bench::k_number_file);
    std::vector<bench::number_block*> blocks;
    for (bench::number_block& block : *heap.find_root<bench::number_blocks>("blocks"))
        blocks.push_back(&block);
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < k_commits; ++i) {
        auto& number = blocks[random() % blocks.size()]->at(random() % (bench::k_number_block_bytes / sizeof i));
        heap.write(rem::declared, rem::durability::none, [&] {
            heap.touch(&number, sizeof number);
            number = i + 1;
        });
    }
    heap.close();
}

/// The numbers of one TiB, of which this child writes some stretches.
void write_stretches(const fs::path& directory, std::uint64_t first, std::uint64_t count) {
    rem::heap heap = rem::heap::open(directory / bench::k_number_file, {.memory = {.reserve_bytes = 2 * k_tib}});
    auto& numbers = heap.root<std::uint64_t*>("numbers");
    if (numbers == nullptr)
        numbers = heap.get_allocator<std::uint64_t>().allocate(k_tib / sizeof(std::uint64_t));
    for (std::uint64_t stretch = first; stretch < first + count; ++stretch) {
        std::uint64_t* const begin = numbers + stretch * (k_tib / k_stretches / sizeof(std::uint64_t));
        std::fill_n(begin, k_numbers_per_stretch, stretch + 1);
        heap.commit();
    }
    heap.close();
}

void populate(const fs::path& directory, const workload& work) {
    if (work.past != history::sparse) {
        bench::make_number_heap(directory, work.bytes);
        if (work.past == history::changed)
            bench::run_child({"change", directory});
        return;
    }
    fs::create_directory(directory);
    constexpr std::uint64_t k_of_one_child = 64; // of which memory must hold all
    for (std::uint64_t first = 0; first < k_stretches; first += k_of_one_child)
        bench::run_child({"stretches", directory, std::to_string(first), std::to_string(k_of_one_child)});
}

void check(rem::heap& heap, std::uint64_t bytes) {
    bool is_right = false;
    if (bytes == k_tib) {
        const std::uint64_t* const numbers = *heap.find_root<std::uint64_t*>("numbers");
        is_right = numbers[(k_stretches - 1) * (k_tib / k_stretches / sizeof bytes)] == k_stretches;
    } else {
        const auto* const blocks = heap.find_root<bench::number_blocks>("blocks");
        is_right = blocks->size() == bytes / bench::k_number_block_bytes && blocks->back().back() != 0;
    }
    if (!is_right)
        throw std::runtime_error("the heap does not hold what was written");
}

void measure(const fs::path& directory, std::uint64_t bytes) {
    const fs::path file = directory / bench::k_number_file;
    for (const bool is_cold : {true, false}) {
        for (int i = 0; i < k_openings; ++i) {
            if (is_cold)
                bench::drop_from_page_cache(file);
            const bench::stopwatch watch;
            rem::heap heap = rem::heap::open_existing(file);
            const double seconds = watch.seconds();
            check(heap, bytes);
            heap.close();
            bench::hand_over(
                {is_cold ? "open cold" : "open", seconds, {{"file_bytes", static_cast<double>(fs::file_size(file))}}});
        }
    }
}

void run_child(const std::vector<std::string>& words) {
    const fs::path directory = words.at(1);
    if (words.at(0) == "populate")
        bench::add_numbers(directory, std::stoull(words.at(2)));
    else if (words.at(0) == "change")
        change_at_random(directory);
    else if (words.at(0) == "stretches")
        write_stretches(directory, std::stoull(words.at(2)), std::stoull(words.at(3)));
    else
        measure(directory, std::stoull(words.at(2)));
}

void run_parent(const bench::options& chosen) {
    const bench::scratch_directory scratch(chosen.dir);
    std::vector<workload> ready;
    for (const workload& work : all_workloads()) {
        if (!bench::is_wanted(work.name, chosen.workloads) ||
            !bench::has_room(scratch.path(), work.name, work.disk_bytes))
            continue;
        bench::note("writing " + work.name);
        populate(scratch.path() / work.name, work);
        ready.push_back(work);
    }
    bench::report report("open", chosen, "");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : ready) {
            bench::note("opening " + work.name);
            const std::vector<std::string> words = {"open", scratch.path() / work.name, std::to_string(work.bytes)};
            for (const bench::measurement& result : bench::run_child(words))
                report.add("remanence", work.name, work.bytes / sizeof(std::uint64_t), result);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "open", k_purpose, run_parent, run_child); }
