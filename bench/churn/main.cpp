// Transactions of an allocator's work: blocks are allocated, resized and freed at random, and each few such changes are
// committed durably. After the Taiyen heap manager's own benchmark.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <stdexcept>

namespace churning { // the type of a root needs a name

struct block {
    char* bytes;
    std::uint32_t size;
    std::uint32_t fill; // what each of its bytes is
};

} // namespace churning

namespace {

using churning::block;
namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures transactions that allocate, resize or free 9 random blocks of
100,000, of 8 to 53 bytes, 275 bytes in all, or 3 blocks, and commit durably; seconds per transaction, with each tracker and
with declared sections. The row "device" is one durable write of 512 bytes for each transaction (O_DIRECT and O_DSYNC, into a
file that was written before), and nothing else. Each run is a fresh process.
)";

constexpr std::size_t k_blocks = 100'000;
constexpr std::uint32_t k_bytes_min = 8;
constexpr std::uint32_t k_bytes_max = 53; // 30.5 on average, 275 for 9
constexpr int k_warm_up = 500;
constexpr int k_transactions = 5000;

struct workload {
    std::string name;
    int changes; // of a transaction
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {{"9 changes", 9}, {"3 changes", 3}};
    return all;
}

struct system {
    std::string name;
    rem::tracking tracker;
    bool is_declared;
};

const std::vector<system>& all_systems() {
    static const std::vector<system> all = {{"device", rem::tracking::automatic, false},
                                            {"declared", rem::tracking::automatic, true},
                                            {"trap", rem::tracking::trap, false},
                                            {"scan", rem::tracking::scan, false},
                                            {"fallback", rem::tracking::fallback, false}};
    return all;
}

using blocks = rem::vector<block>;

/// The heap's blocks, and what changes them.
class churn {
public:
    explicit churn(rem::heap& heap)
        : heap_(heap), all_(heap.root<blocks>("blocks")), bytes_(heap.get_allocator<char>()) {
        if (all_.empty()) {
            heap_.write([&] {
                all_.resize(k_blocks);
                for (std::size_t i = 0; i < k_blocks; ++i)
                    allocate(all_[i]);
            });
        }
    }
    /// One of the blocks is allocated, resized or freed.
    void change() {
        block& one = all_[random_() % k_blocks];
        heap_.touch(&one, sizeof one);
        if (one.bytes == nullptr) {
            allocate(one);
        } else if (random_() % 3 == 0) {
            bytes_.deallocate(one.bytes, one.size);
            one = {};
        } else {
            const block old = one;
            allocate(one);
            bytes_.deallocate(old.bytes, old.size);
        }
    }
    void verify() const {
        for (const block& one : all_) {
            if (!std::all_of(one.bytes, one.bytes + one.size, [&](char c) { return c == static_cast<char>(one.fill); }))
                throw std::runtime_error("a block holds something else");
        }
    }

private:
    void allocate(block& one) {
        one.size = sizes_(random_);
        one.fill = static_cast<std::uint32_t>(random_());
        one.bytes = bytes_.allocate(one.size);
        std::memset(one.bytes, static_cast<int>(one.fill), one.size);
    }

    rem::heap& heap_;
    blocks& all_;
    rem::allocator<char> bytes_;
    std::mt19937_64 random_{std::random_device{}()};
    std::uniform_int_distribution<std::uint32_t> sizes_{k_bytes_min, k_bytes_max};
};

template <class F>
void measure(F&& transaction) {
    for (int i = 0; i < k_warm_up; ++i)
        transaction();
    const bench::stopwatch watch;
    for (int i = 0; i < k_transactions; ++i)
        transaction();
    bench::hand_over(
        {"transaction", watch.seconds() / k_transactions, {{"cpu_seconds", watch.cpu_seconds() / k_transactions}}});
}

void measure_heap(const fs::path& directory, const system& tier, int count) {
    rem::heap_options options;
    options.tracker = tier.tracker;
    rem::heap heap = rem::heap::create(directory / "churn.rem", options);
    churn work(heap);
    const auto changes = [&] {
        for (int i = 0; i < count; ++i)
            work.change();
    };
    measure([&] { tier.is_declared ? heap.write(rem::declared, changes) : heap.write(changes); });
    work.verify();
    heap.close();
}

void measure_device(const fs::path& directory) {
    bench::raw_device device(directory / "device");
    std::uint64_t at = 0;
    measure([&] { device.write(at++); });
}

void run_child(const std::vector<std::string>& words) {
    for (const system& each : all_systems()) {
        if (each.name != words.at(0))
            continue;
        if (each.name == "device")
            measure_device(words.at(1));
        else
            measure_heap(words.at(1), each, std::stoi(words.at(2)));
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("churn", chosen, "device");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : all_workloads()) {
            for (std::size_t i = 0; i < all_systems().size(); ++i) {
                const system& each = all_systems()[(i + run) % all_systems().size()];
                if (!bench::is_wanted(each.name, chosen.only) || !bench::is_wanted(work.name, chosen.workloads))
                    continue;
                const bench::scratch_directory scratch(chosen.dir);
                bench::note(work.name + ", " + each.name);
                for (const bench::measurement& result :
                     bench::run_child({each.name, scratch.path(), std::to_string(work.changes)}))
                    report.add(each.name, work.name, k_blocks, result);
            }
        }
    }
    const auto ours = report.seconds("declared", "3 changes", "transaction");
    const auto device = report.seconds("device", "3 changes", "transaction");
    if (ours && device)
        report.compare({"Taiyen's transactions of 3 changes, declared: rate / the device's", *device / *ours,
                        bench::bound::at_least, 0.9, "",
                        "ours " + bench::figure_text(1 / *ours, "/s") + ", device " +
                            bench::figure_text(1 / *device, "/s") + ", its paper 5294 /s"});
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "churn", k_purpose, run_parent, run_child); }
