// What a small commit costs in heaps of several sizes, with each tracker.
#include "small_commits.hpp"

#include <harness.hpp>
#include <number_heap.hpp>

#include <remanence/remanence.hpp>

#include <cstdint>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures a small change of a heap of 64 MiB, 1 GiB and 8 GiB all of whose
pages are in memory, with each tracker: three random pages get a new number, and are committed (durable), or rolled back,
which needs no device; seconds, the changes' own time included. In the rows "declared" the changes are declared, in
declared sections with the tracker that is picked by default; such a section is rolled back by an exception. The first
commit, which makes the log, starts the tracking
and changes a page in each 4 MiB (the first change there in a session reserves room for its checksums), is a row of its
own. Each run is a fresh process; it hands over the median of its changes.
The workload "256 MiB, 100 bytes": lazy commits of 100 bytes at a random place, with the default tracker and declared, in
a heap that was just made, and in the same heap opened anew, of which one in a hundred pages was read; seconds, and those
of the processor.
)";

constexpr int k_pages_changed = 3;
constexpr int k_changes = 101; // of each kind
constexpr std::uint64_t k_page_bytes = 4096;

struct workload {
    std::string name;
    std::uint64_t bytes;
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {
        {"64 MiB", 64 * bench::k_mib}, {"1 GiB", bench::k_gib}, {"8 GiB", 8 * bench::k_gib}};
    return all;
}

struct system {
    std::string name;
    rem::tracking tracker;
    bool is_declared = false;
};

const std::vector<system>& all_systems() {
    static const std::vector<system> all = {{"trap", rem::tracking::trap},
                                            {"scan", rem::tracking::scan},
                                            {"fallback", rem::tracking::fallback},
                                            {"declared", rem::tracking::automatic, true}};
    return all;
}

/// The heap's pages, to be changed at random.
class pages {
public:
    explicit pages(bench::number_blocks& blocks) {
        for (bench::number_block& block : blocks)
            blocks_.push_back(block.data());
    }
    /// Reads each once; the sum is of no use but to be used.
    [[nodiscard]] std::uint64_t read_all() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t* const block : blocks_) {
            for (std::size_t i = 0; i < bench::k_number_block_bytes / k_page_bytes; ++i)
                sum += block[i * (k_page_bytes / sizeof(std::uint64_t))];
        }
        return sum;
    }
    /// One page in each 4 MiB.
    void change_everywhere() {
        for (std::uint64_t* const block : blocks_) {
            for (std::size_t at = 0; at < bench::k_number_block_bytes; at += 4 * bench::k_mib)
                block[at / sizeof(std::uint64_t)] = random_();
        }
    }
    /// `declare` is called with each place before it is changed.
    template <class F>
    void change_some(F&& declare) {
        for (int i = 0; i < k_pages_changed; ++i) {
            const std::size_t page = random_() % (bench::k_number_block_bytes / k_page_bytes);
            std::uint64_t& number = blocks_[random_() % blocks_.size()][page * (k_page_bytes / sizeof(std::uint64_t))];
            declare(&number);
            number = random_();
        }
    }

private:
    std::vector<std::uint64_t*> blocks_;
    std::mt19937_64 random_{std::random_device{}()};
};

void measure(const fs::path& directory, const system& tier) {
    rem::heap_options options;
    options.tracker = tier.tracker;
    rem::heap heap = rem::heap::open_existing(directory / bench::k_number_file, options);
    if (!tier.is_declared && heap.stats().tracker != tier.name)
        throw std::runtime_error("the tracker is another one; is REMANENCE_TRACKING set?");
    auto* const blocks = heap.find_root<bench::number_blocks>("blocks");
    if (blocks == nullptr)
        throw std::runtime_error("the heap does not hold what was written");
    pages all(*blocks);
    if (all.read_all() == 0)
        throw std::runtime_error("the heap holds nothing");

    struct given_up {};
    auto change = [&] {
        all.change_some([&](const std::uint64_t* number) {
            if (tier.is_declared)
                heap.touch(number, sizeof *number);
        });
    };
    auto timed = [&](auto&& run) {
        const bench::stopwatch watch;
        run();
        return watch.seconds();
    };
    auto commit = [&] {
        if (tier.is_declared) {
            heap.write(rem::declared, change);
        } else {
            change();
            heap.commit();
        }
    };
    auto roll_back = [&] {
        if (!tier.is_declared) {
            change();
            return heap.rollback();
        }
        try {
            heap.write(rem::declared, [&] {
                change();
                throw given_up();
            });
        } catch (const given_up&) { // as it was meant
        }
    };
    all.change_everywhere();
    bench::hand_over({"first commit", timed([&] {
                          change();
                          heap.commit();
                      })});
    const std::uint64_t before = heap.version();
    std::vector<double> commits;
    std::vector<double> rollbacks;
    // Not in turns: a device that waited while a rollback looked through memory takes longer for its next write.
    for (int i = 0; i < k_changes; ++i)
        commits.push_back(timed(commit));
    for (int i = 0; i < k_changes; ++i)
        rollbacks.push_back(timed(roll_back));
    if (heap.version() != before + k_changes)
        throw std::runtime_error("not every commit was one");
    bench::hand_over({"commit", bench::median(commits)});
    bench::hand_over({"rollback", bench::median(rollbacks)});
    heap.close();
}

constexpr const char* k_default = "default";
constexpr const char* k_declared = "declared";

void run_child(const std::vector<std::string>& words) {
    const fs::path directory = words.at(1);
    if (words.at(0) == k_small_workload) {
        measure_small_commits(directory, words.at(2) == k_declared);
        return;
    }
    if (words.at(0) == "populate") {
        bench::add_numbers(directory, std::stoull(words.at(2)));
        return;
    }
    for (const system& tier : all_systems()) {
        if (tier.name == words.at(0))
            measure(directory, tier);
    }
}

void run_small_commits(const bench::options& chosen, bench::report& report) {
    if (!bench::is_wanted(k_small_workload, chosen.workloads))
        return;
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const char* const system : {k_default, k_declared}) {
            if (!bench::is_wanted(system, chosen.only))
                continue;
            const bench::scratch_directory scratch(chosen.dir);
            bench::note(std::string(k_small_workload) + ", " + system);
            for (const bench::measurement& result : bench::run_child({k_small_workload, scratch.path(), system}))
                report.add(system, k_small_workload, k_small_pages, result);
        }
    }
    const auto compare = [&](const char* what, const char* op, double limit) {
        const auto ours = report.seconds(k_default, k_small_workload, op);
        const auto declared = report.seconds(k_declared, k_small_workload, op);
        if (ours)
            report.compare({what, *ours * 1e6, bench::bound::at_most, limit, "us",
                            declared ? "declared: " + bench::figure_text(*declared * 1e6, "us") : ""});
    };
    compare("commit of 100 bytes, heap of 256 MiB, default tracker, CPU", "CPU", 150);
    compare("the same, heap just reopened, few pages present", "reopened, CPU", 80);
}

void run_parent(const bench::options& chosen) {
    const bench::scratch_directory scratch(chosen.dir);
    bench::report report("commit_cost", chosen, "");
    for (const workload& work : all_workloads()) {
        if (!bench::is_wanted(work.name, chosen.workloads) || !bench::has_room(scratch.path(), work.name, work.bytes))
            continue;
        bench::note("writing " + work.name);
        const fs::path directory = scratch.path() / work.name;
        bench::make_number_heap(directory, work.bytes);
        for (unsigned run = 0; run < chosen.runs; ++run) {
            for (std::size_t i = 0; i < all_systems().size(); ++i) {
                const system& tier = all_systems()[(i + run) % all_systems().size()];
                if (!bench::is_wanted(tier.name, chosen.only))
                    continue;
                bench::note(work.name + ", " + tier.name);
                for (const bench::measurement& result : bench::run_child({tier.name, directory}))
                    report.add(tier.name, work.name, work.bytes / k_page_bytes, result);
            }
        }
        fs::remove_all(directory);
    }
    run_small_commits(chosen, report);
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "commit_cost", k_purpose, run_parent, run_child); }
