// A long calculation with an asynchronous commit after each step: what the points cost it, when it waits for them and when it
// does not. After SoftPM's matrix multiplication.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures the multiplication of two matrices of 6,144 x 6,144 doubles, all three of
them in a heap, by one thread, some 30 seconds long: with no asynchronous commit, or with one after each block of the
product, synchronous or asynchronous, with each tracker, or in a declared section that declares the block; the last one is
waited for. Blocks are of 64 x 64 doubles (32 KiB, 9,216 points) or of 128 x 128 (128 KiB, 2,304 points), and matrices are
laid out by them. Each run is a fresh process, on a copy of the same heap.
)";

constexpr std::size_t k_size = 6144; // of a matrix, in numbers

using matrix = rem::vector<double>; // blocks by rows, and so the numbers of a block

template <std::size_t Side>
double* block(matrix& all, std::size_t row, std::size_t column) {
    return all.data() + (row * (k_size / Side) + column) * Side * Side;
}

template <std::size_t Side>
double number(matrix& all, std::size_t row, std::size_t column) {
    return block<Side>(all, row / Side, column / Side)[row % Side * Side + column % Side];
}

template <std::size_t Side>
void add_product(double* __restrict into, const double* __restrict left, const double* __restrict right) {
    for (std::size_t i = 0; i < Side; ++i) {
        for (std::size_t k = 0; k < Side; ++k) {
            const double factor = left[i * Side + k];
            for (std::size_t j = 0; j < Side; ++j)
                into[i * Side + j] += factor * right[k * Side + j];
        }
    }
}

template <std::size_t Side>
void check(matrix& left, matrix& right, matrix& product) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
        const std::size_t row = random() % k_size;
        const std::size_t column = random() % k_size;
        double sum = 0;
        for (std::size_t k = 0; k < k_size; ++k)
            sum += number<Side>(left, row, k) * number<Side>(right, k, column);
        if (std::abs(sum - number<Side>(product, row, column)) > 1e-6)
            throw std::runtime_error("the product is wrong");
    }
}

struct system_kind {
    std::string_view name;
    rem::tracking tracker = rem::tracking::scan;
    bool waits = false;
    bool has_points = true;
    bool is_declared = false;
};
constexpr std::array<system_kind, 6> k_systems{
    {{.name = "none", .has_points = false},
     {.name = "synchronous, scan", .waits = true},
     {.name = "synchronous, trap", .tracker = rem::tracking::trap, .waits = true},
     {.name = "asynchronous, scan"},
     {.name = "asynchronous, trap", .tracker = rem::tracking::trap},
     {.name = "asynchronous, declared", .is_declared = true}}};

void populate(const fs::path& file) {
    rem::heap heap = rem::heap::create(file);
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> any(-1, 1);
    heap.write([&] {
        for (const char* name : {"left", "right"})
            for (double& each : heap.root<matrix>(name, k_size * k_size))
                each = any(random);
        heap.root<matrix>("product", k_size * k_size);
    });
    heap.close();
}

template <std::size_t Side>
void multiply(const fs::path& file, const system_kind& system) {
    constexpr std::size_t k_blocks = k_size / Side; // along a side
    rem::heap heap = rem::heap::open_existing(file, {.tracker = system.tracker});
    auto& left = *heap.find_root<matrix>("left");
    auto& right = *heap.find_root<matrix>("right");
    auto& product = *heap.find_root<matrix>("product");
    double sum = 0;
    for (const matrix* each : {&left, &right}) // from the disk
        for (const double one : *each)
            sum += one;
    if (std::isnan(sum))
        throw std::runtime_error("the matrices are wrong");
    const rem::heap_stats before = heap.stats();
    double calls = 0;
    std::optional<rem::commit_ticket> last;
    const bench::stopwatch watch;
    for (std::size_t i = 0; i < k_blocks; ++i) {
        for (std::size_t j = 0; j < k_blocks; ++j) {
            double* const into = block<Side>(product, i, j);
            std::optional<bench::stopwatch> call;
            const auto calculate = [&] {
                for (std::size_t k = 0; k < k_blocks; ++k)
                    add_product<Side>(into, block<Side>(left, i, k), block<Side>(right, k, j));
                call.emplace();
            };
            if (system.is_declared) {
                last = heap.write_async(rem::declared, [&] {
                    heap.touch(into, Side * Side * sizeof(double));
                    calculate();
                });
            } else {
                calculate();
                if (system.waits)
                    heap.commit();
                else if (system.has_points)
                    last = heap.commit_async();
            }
            calls += call->seconds();
        }
    }
    if (last)
        last->wait();
    const double seconds = watch.seconds();
    const double cpu_seconds = watch.cpu_seconds();
    const rem::heap_stats after = heap.stats();
    bench::hand_over({"multiply",
                      seconds,
                      {{"cpu_seconds", cpu_seconds},
                       {"seconds_in_calls", calls},
                       {"points", static_cast<double>(after.commits - before.commits)},
                       {"checkpoints", static_cast<double>(after.checkpoints - before.checkpoints)},
                       {"written_bytes", static_cast<double>(after.written_bytes - before.written_bytes)}}});
    check<Side>(left, right, product);
    heap.close();
}

struct workload {
    std::string_view name;
    void (*multiply)(const fs::path& file, const system_kind& system);
    std::uint64_t points;
};
constexpr std::array<workload, 2> k_workloads{
    {{"2,304 points", multiply<128>, 2304}, {"9,216 points", multiply<64>, 9216}}};

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "populate")
        populate(words.at(1));
    else
        std::ranges::find(k_workloads, words.at(1), &workload::name)
            ->multiply(words.at(2), *std::ranges::find(k_systems, words.at(0), &system_kind::name));
}

void run_parent(const bench::options& chosen) {
    bench::report report("overlap", chosen, "none");
    const bench::scratch_directory scratch(chosen.dir);
    const fs::path original = scratch.path() / "original.rem";
    bench::run_child({"populate", original});
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : k_workloads) {
            if (!bench::is_wanted(std::string(work.name), chosen.workloads))
                continue;
            for (std::size_t i = 0; i < k_systems.size(); ++i) {
                const std::string system(k_systems[(i + run) % k_systems.size()].name);
                if (!bench::is_wanted(system, chosen.only))
                    continue;
                bench::note(std::string(work.name) + ", " + system);
                const fs::path copy = scratch.path() / "copy.rem";
                fs::copy_file(original, copy, fs::copy_options::overwrite_existing);
                for (const bench::measurement& result : bench::run_child({system, std::string(work.name), copy}))
                    report.add(system, std::string(work.name), work.points, result);
                fs::remove(copy);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "overlap", k_purpose, run_parent, run_child); }
