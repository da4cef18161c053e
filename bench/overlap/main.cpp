// A long calculation with a persistence point after each step: what the points cost it, when it waits for them and when it
// does not. After SoftPM's matrix multiplication.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures the multiplication of two matrices of 4,096 x 4,096 doubles, all three of
them in a heap, by one thread, some 30 seconds long: with no persistence point, or with one after each of the 4,096 blocks
of the product (64 x 64 doubles, 32 KiB), synchronous or asynchronous; the last one is waited for. Matrices are laid out by
blocks. Each run is a fresh process, on a copy of the same heap.
)";

constexpr std::size_t k_side = 64;   // of a block, in numbers
constexpr std::size_t k_blocks = 64; // along a side of a matrix
constexpr std::size_t k_size = k_side * k_blocks;

using matrix = rem::vector<double>; // blocks by rows, and so the numbers of a block

double* block(matrix& all, std::size_t row, std::size_t column) {
    return all.data() + (row * k_blocks + column) * k_side * k_side;
}

double number(const matrix& all, std::size_t row, std::size_t column) {
    const std::size_t of_block = (row / k_side * k_blocks + column / k_side) * k_side * k_side;
    return all[of_block + row % k_side * k_side + column % k_side];
}

void add_product(double* __restrict into, const double* __restrict left, const double* __restrict right) {
    for (std::size_t i = 0; i < k_side; ++i) {
        for (std::size_t k = 0; k < k_side; ++k) {
            const double factor = left[i * k_side + k];
            for (std::size_t j = 0; j < k_side; ++j)
                into[i * k_side + j] += factor * right[k * k_side + j];
        }
    }
}

void check(const matrix& left, const matrix& right, const matrix& product) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
        const std::size_t row = random() % k_size;
        const std::size_t column = random() % k_size;
        double sum = 0;
        for (std::size_t k = 0; k < k_size; ++k)
            sum += number(left, row, k) * number(right, k, column);
        if (std::abs(sum - number(product, row, column)) > 1e-6)
            throw std::runtime_error("the product is wrong");
    }
}

constexpr std::array<std::string_view, 3> k_systems{"none", "synchronous", "asynchronous"};

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

void multiply(const fs::path& file, std::string_view points) {
    rem::heap heap = rem::heap::open_existing(file);
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
            for (std::size_t k = 0; k < k_blocks; ++k)
                add_product(block(product, i, j), block(left, i, k), block(right, k, j));
            const bench::stopwatch call;
            if (points == "synchronous")
                heap.commit();
            else if (points == "asynchronous")
                last = heap.commit_async();
            calls += call.seconds();
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
    check(left, right, product);
    heap.close();
}

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "populate")
        populate(words.at(1));
    else
        multiply(words.at(1), words.at(0));
}

void run_parent(const bench::options& chosen) {
    bench::report report("overlap");
    const bench::scratch_directory scratch(chosen.dir);
    const fs::path original = scratch.path() / "original.rem";
    bench::run_child({"populate", original});
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < k_systems.size(); ++i) {
            const std::string points(k_systems[(i + run) % k_systems.size()]);
            if (!bench::is_wanted(points, chosen.only))
                continue;
            bench::note(points);
            const fs::path copy = scratch.path() / "copy.rem";
            fs::copy_file(original, copy, fs::copy_options::overwrite_existing);
            for (const bench::measurement& result : bench::run_child({points, copy}))
                report.add(points, "4096 x 4096", k_blocks * k_blocks, result);
            fs::remove(copy);
        }
    }
    bench::note("");
    report.print("none");
    if (!chosen.json.empty())
        report.write_json(chosen.json);
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "overlap", k_purpose, run_parent, run_child); }
