// What virtual functions cost in a heap: opening it, and calls, beside objects in ordinary memory.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

/// In a named scope, as what a root is must be.
namespace bench_virtual {

class shape {
public:
    shape() = default;
    shape(const shape&) = default;
    shape& operator=(const shape&) = default;
    virtual ~shape() = default;
    [[nodiscard]] virtual std::uint64_t area() const = 0;
    std::uint64_t side = 1;
};
template <std::uint64_t Corners>
class polygon : public shape {
public:
    [[nodiscard]] std::uint64_t area() const override { return side * Corners; }
};
using shapes = remanence::vector<shape*>;

} // namespace bench_virtual

template <std::derived_from<bench_virtual::shape> Shape>
inline constexpr bool remanence::enable_persistable<Shape> = true;

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;
using bench_virtual::polygon;
using bench_virtual::shape;
using bench_virtual::shapes;

constexpr std::string_view k_purpose =
    R"(Measures virtual functions of objects in a heap.

  few, many       10 objects of four classes, or 1 million
  open            a process opens the heap and calls a function of the first object
  same, mixed     the function of each of 1 million objects, whose classes follow in runs (calls are predicted) or at
                  random; "memory" has them in ordinary memory
)";

constexpr std::uint64_t k_few = 10;
constexpr std::uint64_t k_many = 1'000'000;
constexpr int k_rounds = 20;

/// Makes a shape of one of four classes.
template <class Make>
shape* shape_of(std::uint64_t which, const Make& make) {
    switch (which % 4) {
    case 0:
        return make(std::type_identity<polygon<3>>());
    case 1:
        return make(std::type_identity<polygon<4>>());
    case 2:
        return make(std::type_identity<polygon<5>>());
    default:
        return make(std::type_identity<polygon<6>>());
    }
}

/// Appends shapes to `all`.
template <class All, class Make>
void fill(All& all, const std::string& order, std::uint64_t count, const Make& make) {
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i != count; ++i)
        all.push_back(shape_of(order == "mixed" ? random() : 4 * i / count, make));
}

void populate(const fs::path& file, const std::string& order, std::uint64_t count) {
    rem::heap heap = rem::heap::create(file);
    heap.write([&] {
        fill(heap.root<shapes>("shapes"), order, count,
             [&]<class T>(std::type_identity<T>) -> shape* { return heap.make<T>(); });
    });
    heap.close();
}

void measure_open(const fs::path& file) {
    const bench::stopwatch watch;
    const rem::heap heap = rem::heap::open_existing(file, {.read_only = true});
    const std::uint64_t area = (*heap.find_root<shapes>("shapes"))[0]->area();
    bench::hand_over({"open", watch.seconds()});
    if (area < 3)
        throw std::runtime_error("the shape has another area");
}

template <class All>
void measure_calls(const All& all) {
    std::uint64_t sum = 0;
    for (const shape* const each : all) // reads all of it once
        sum += each->area();
    const bench::stopwatch watch;
    for (int round = 0; round != k_rounds; ++round) {
        for (const shape* const each : all)
            sum += each->area();
    }
    const double seconds = watch.seconds();
    bench::hand_over(
        {"calls", seconds, {{"nanoseconds", seconds * 1e9 / (k_rounds * static_cast<double>(all.size()))}}});
    if (sum < all.size() * 3)
        throw std::runtime_error("the shapes have other areas");
}

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "populate") {
        populate(words.at(1), words.at(2), std::stoull(words.at(3)));
    } else if (words.at(0) == "open") {
        measure_open(words.at(1));
    } else if (words.at(0) == "calls") {
        const rem::heap heap = rem::heap::open_existing(words.at(1), {.read_only = true});
        measure_calls(*heap.find_root<shapes>("shapes"));
    } else if (words.at(0) == "memory") {
        std::vector<shape*> all; // the process ends before they would be freed
        fill(all, words.at(1), k_many, []<class T>(std::type_identity<T>) -> shape* { return new T; });
        measure_calls(all);
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("virtual", chosen, "heap");
    const bench::scratch_directory scratch(chosen.dir);
    const auto file_of = [&](const std::string& name) { return (scratch.path() / (name + ".rem")).string(); };
    bench::run_child({"populate", file_of("few"), "same", std::to_string(k_few)});
    for (const std::string order : {"same", "mixed"})
        bench::run_child({"populate", file_of(order), order, std::to_string(k_many)});
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const auto& [name, file, count] :
             {std::tuple("few", file_of("few"), k_few), std::tuple("many", file_of("mixed"), k_many)}) {
            for (const bench::measurement& each : bench::run_child({"open", file}))
                report.add("heap", name, count, each);
        }
        for (const std::string order : {"same", "mixed"}) {
            for (const bench::measurement& each : bench::run_child({"calls", file_of(order)}))
                report.add("heap", order, k_many, each);
            for (const bench::measurement& each : bench::run_child({"memory", order}))
                report.add("memory", order, k_many, each);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "virtual", k_purpose, run_parent, run_child); }
