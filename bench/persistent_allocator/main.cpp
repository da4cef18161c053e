// The allocator in a file: churns with a commit each so many changes, pages that these change, and freeing in and out of order.
#include "store.hpp"

#include <harness.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_purpose = R"(Measures allocators over a file, at equal intervals of commits.

  churn small   100,000 blocks of 8 to 53 bytes are there; a change frees one at random and allocates another
  churn mixed   20,000 blocks of 16 to 4,096 bytes, small ones more often
  order         10 million blocks of 32 bytes are freed in the order of their allocation, and in a random one; nothing is
                committed meanwhile

Each churn is measured with a commit for every 9 and for every 1,000 changes, in seconds for 1,000 changes, commits included. The key
"pages" of the JSON, and a remark, say how many pages of 4 KiB differ after 1,000 changes, in all memory that is mapped. The new
blocks' first 8 bytes are written.
)";

struct workload {
    std::string name;
    std::size_t blocks;
    std::size_t bytes_min;
    std::size_t bytes_max;
    bool mostly_small;
};
const std::vector<workload> k_churns = {{"churn small", 100'000, 8, 53, false},
                                        {"churn mixed", 20'000, 16, 4096, true}};

constexpr std::size_t k_file_bytes = std::size_t{256} << 20;
constexpr std::size_t k_ordered_blocks = 10'000'000;
constexpr std::size_t k_ordered_bytes = 32;
constexpr std::size_t k_ordered_file_bytes = std::size_t{1} << 30;
constexpr std::size_t k_page = 4096;

std::vector<system_kind> all_systems() {
    return {
        declared_system(),
        remanence_system(),
#ifdef BENCH_INTERPROCESS
        interprocess_system(),
#endif
#ifdef BENCH_PMEMOBJ
        pmemobj_system(),
#endif
    };
}

class churn {
public:
    churn(block_store& store, const workload& what) : store_(store), what_(what), blocks_(what.blocks) {
        constexpr std::size_t k_part = 10'000;
        for (std::size_t i = 0; i != blocks_.size(); ++i) {
            if (i % k_part == 0)
                store_.begin();
            fill(blocks_[i]);
            if (i % k_part == k_part - 1)
                store_.commit();
        }
    }

    void change(std::size_t count) {
        store_.begin();
        for (std::size_t i = 0; i != count; ++i) {
            one& chosen = blocks_[random_() % blocks_.size()];
            store_.free(chosen.start, chosen.bytes);
            fill(chosen);
        }
        store_.commit();
    }

private:
    struct one {
        void* start;
        std::size_t bytes;
    };
    void fill(one& block) {
        std::size_t most = what_.bytes_max;
        if (what_.mostly_small)
            most = std::max(what_.bytes_min, most >> random_() % 6);
        block.bytes = what_.bytes_min + random_() % (most - what_.bytes_min + 1);
        block.start = store_.allocate(block.bytes);
        const std::uint64_t written = random_();
        std::memcpy(block.start, &written, sizeof written);
    }

    block_store& store_;
    const workload& what_;
    std::vector<one> blocks_;
    std::mt19937_64 random_{1};
};

double pages_that_differ(std::span<const std::byte> before, std::span<const std::byte> now) {
    double found = 0;
    for (std::size_t at = 0; at < now.size(); at += k_page)
        found += at >= before.size() || std::memcmp(&before[at], &now[at], k_page) != 0 ? 1 : 0;
    return found;
}

void measure_churn(block_store& store, const workload& what) {
    churn work(store, what);
    for (const auto& [name, interval, count] : {std::tuple("commit each 9", std::size_t{9}, std::size_t{150}),
                                                std::tuple("commit each 1,000", std::size_t{1000}, std::size_t{50})}) {
        for (std::size_t i = 0; i != count / 10; ++i)
            work.change(interval);
        const bench::stopwatch watch;
        for (std::size_t i = 0; i != count; ++i)
            work.change(interval);
        const double each_thousand = watch.seconds() * 1000 / static_cast<double>(interval * count);
        std::vector<double> pages;
        for (int i = 0; interval == 1000 && i != 5; ++i) {
            const auto mapped = store.memory();
            const std::vector<std::byte> before(mapped.begin(), mapped.end());
            work.change(interval);
            pages.push_back(pages_that_differ(before, store.memory()));
        }
        if (pages.empty())
            bench::hand_over({name, each_thousand});
        else
            bench::hand_over({name, each_thousand, {{"pages", bench::median(pages)}}});
    }
}

void measure_order(block_store& store) {
    for (const char* const order : {"in order", "at random"}) {
        std::vector<void*> blocks(k_ordered_blocks);
        store.begin();
        for (void*& each : blocks)
            each = store.allocate(k_ordered_bytes);
        if (order == std::string_view("at random"))
            std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64{2});
        const bench::stopwatch watch;
        for (void* const each : blocks)
            store.free(each, k_ordered_bytes);
        bench::hand_over({order, watch.seconds()});
        store.commit();
    }
}

void run_child(const std::vector<std::string>& words) {
    const fs::path file = words.at(2);
    for (const system_kind& system : all_systems()) {
        if (system.name != words.at(0))
            continue;
        const auto store = system.create(file, words.at(1) == "order" ? k_ordered_file_bytes : k_file_bytes);
        if (words.at(1) == "order")
            return measure_order(*store);
        for (const workload& each : k_churns) {
            if (each.name == words.at(1))
                return measure_churn(*store, each);
        }
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("persistent_allocator", chosen, "declared");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<system_kind> systems = all_systems();
    std::vector<std::string> workloads{"order"};
    for (const workload& each : k_churns)
        workloads.push_back(each.name);
    std::map<std::string, std::vector<double>> pages;
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const std::string& what : workloads) {
            if (!bench::is_wanted(what, chosen.workloads))
                continue;
            for (std::size_t i = 0; i < systems.size(); ++i) {
                const std::string& name = systems[(i + run) % systems.size()].name;
                // pmemobj syncs at each of 10 million frees, unless one transaction holds them all.
                if (!bench::is_wanted(name, chosen.only) || (what == "order" && name == "pmemobj"))
                    continue;
                bench::note(name + ", " + what);
                const fs::path file = scratch.path() / "blocks";
                for (const bench::measurement& result : bench::run_child({name, what, file})) {
                    report.add(name, what, what == "order" ? k_ordered_blocks : 1000, result);
                    for (const auto& [key, value] : result.more)
                        pages[what + ", " + name].push_back(value);
                }
                fs::remove(file);
            }
        }
    }
    for (const auto& [name, values] : pages)
        report.remark(name + ": 1,000 changes change " + std::to_string(static_cast<long>(bench::median(values))) +
                      " pages");
    report.finish();
}

} // namespace

int main(int count, char* words[]) {
    return bench::run(count, words, "persistent_allocator", k_purpose, run_parent, run_child);
}
