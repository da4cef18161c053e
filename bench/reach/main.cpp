// What walks along all pointers of a heap cost: moving it to other addresses, and freeing what no root reaches.
#include <harness.hpp>

#include <remanence/collector.hpp>
#include <remanence/inspect.hpp>
#include <remanence/relocate.hpp>
#include <remanence/remanence.hpp>

#include <sys/mman.h>

#ifdef BENCH_HAS_GC
#include <gc/gc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// In a named scope, as what a root is must be.
struct reach_node {
    reach_node* left = nullptr;
    reach_node* right = nullptr;
    std::uint64_t value = 0;
    std::uint64_t other = 0;
};
using reach_map = remanence::map<remanence::string, std::uint64_t>;

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures walks along all pointers of a heap.

  map     a std::map of 5 million texts, some 500 MB
  tree    a binary tree of 10 million nodes of 32 bytes, by plain pointers

  open        the heap opens read-only at other addresses: all pointers are rewritten in memory
  relocate    the file moves for good
  copy        rem copy of the file, for comparison
  collect     the tree loses half of its nodes, which are freed in one commit; "gc" is Boehm's collector in ordinary
              memory, where the same nodes become garbage
  leaks       the same walk, which frees nothing
  steps       the same collection by a rem::collector, in steps of 5 ms, between which the program changes a node and
              commits: the sum of all steps, and the longest of those that look for nodes and of those that free
)";

constexpr std::uint64_t k_texts = 5'000'000;
constexpr std::uint64_t k_nodes = 10'000'000;

std::string text_of(std::uint64_t number) {
    const std::string text = "key" + std::to_string(number * 0x9e3779b97f4a7c15U);
    return number % 4 == 0 ? "a longer key, which has a block: " + text : text;
}

/// A balanced tree, whose left half is lost when `root->left` is.
template <class Make>
reach_node* tree_of(std::uint64_t nodes, const Make& make) {
    if (nodes == 0)
        return nullptr;
    reach_node* const made = make();
    made->value = nodes;
    made->left = tree_of((nodes - 1) / 2, make);
    made->right = tree_of(nodes - 1 - (nodes - 1) / 2, make);
    return made;
}

std::uint64_t sum_of(const reach_node* from) {
    return from == nullptr ? 0 : from->value + sum_of(from->left) + sum_of(from->right);
}

void populate(const fs::path& file, const std::string& kind) {
    rem::heap heap = rem::heap::create(file);
    if (kind == "map") {
        auto& map = heap.root<reach_map>("map");
        for (std::uint64_t i = 0; i != k_texts; ++i)
            map.emplace(rem::string(text_of(i), heap.get_allocator<char>()), i);
    } else {
        heap.root<reach_node*>("tree") = tree_of(k_nodes, [&] { return heap.make<reach_node>(); });
    }
    heap.commit();
    heap.close();
}

std::uint64_t address_of(const fs::path& file) {
    const rem::heap heap = rem::heap::open_existing(file, {.read_only = true});
    return reinterpret_cast<std::uintptr_t>(heap.base());
}

void check(const rem::heap& heap, const std::string& kind) {
    const bool is_right = kind == "map" ? heap.find_root<reach_map>("map")->at(rem::string(text_of(4))) == 4
                                        : (*heap.find_root<reach_node*>("tree"))->value == k_nodes;
    if (!is_right)
        throw std::runtime_error("the heap has other content");
}

void measure_move(const fs::path& file, const std::string& kind, const std::string& op) {
    const auto bytes = static_cast<double>(fs::file_size(file));
    if (op == "relocate") {
        const bench::stopwatch watch;
        const rem::relocated done = rem::relocate(file);
        bench::hand_over({op, watch.seconds(), {{"pointers", static_cast<double>(done.pointers)}, {"bytes", bytes}}});
        check(rem::heap::open_existing(file), kind);
        return;
    }
    if (op == "copy") {
        const fs::path to = file.string() + ".copy";
        const bench::stopwatch watch;
        rem::inspect::copy(file, to);
        bench::hand_over({op, watch.seconds(), {{"bytes", bytes}}});
        fs::remove(to);
        return;
    }
    void* const taken = reinterpret_cast<void*>(address_of(file)); // NOLINT(performance-no-int-to-ptr)
    if (::mmap(taken, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != taken)
        throw std::runtime_error("the heap's addresses are in use");
    const bench::stopwatch watch;
    const rem::heap heap =
        rem::heap::open_existing(file, {.read_only = true, .memory = {.when_taken = rem::relocation::automatic}});
    const double seconds = watch.seconds();
    bench::hand_over({op, seconds, {{"bytes", bytes}, {"gigabytes_per_second", bytes / seconds / 1e9}}});
    check(heap, kind);
}

void measure_collection(const fs::path& file) {
    rem::heap heap = rem::heap::open_existing(file);
    auto& root = *heap.find_root<reach_node*>("tree");
    heap.write([&] { root->left = nullptr; });
    const bench::stopwatch looking;
    const rem::leak_report found = heap.leaks();
    bench::hand_over({"leaks", looking.seconds()});
    if (found.blocks != (k_nodes - 1) / 2)
        throw std::runtime_error("other blocks are unreached");
    const bench::stopwatch watch;
    (void)heap.collect();
    bench::hand_over({"collect", watch.seconds()});
    if (sum_of(root) == 0 || !heap.leaks().clean())
        throw std::runtime_error("the collection left something");
    heap.close();
}

void measure_steps(const fs::path& file) {
    rem::heap heap = rem::heap::open_existing(file);
    auto& root = *heap.find_root<reach_node*>("tree");
    heap.write([&] { root->left = nullptr; });
    rem::collector collection(heap);
    double first = 0;
    double looking = 0;
    double freeing = 0;
    double sum = 0;
    std::uint64_t steps = 0;
    for (bool is_done = false; !is_done; ++steps) {
        const bool is_freeing = collection.freed().blocks != 0;
        const bench::stopwatch watch;
        is_done = collection.step(std::chrono::milliseconds(5));
        const double seconds = watch.seconds();
        sum += seconds;
        double& longest = steps == 0 ? first : is_freeing || collection.freed().blocks != 0 ? freeing : looking;
        longest = std::max(longest, seconds);
        heap.write([&] { ++root->other; });
    }
    bench::hand_over({"steps",
                      sum,
                      {{"steps", static_cast<double>(steps)},
                       {"first_seconds", first},
                       {"longest_looking_seconds", looking},
                       {"longest_freeing_seconds", freeing}}});
    if (collection.freed().blocks != (k_nodes - 1) / 2 || sum_of(root) == 0 || !heap.leaks().clean())
        throw std::runtime_error("the collection in steps has left something, or freed too much");
    heap.close();
}

#ifdef BENCH_HAS_GC
void measure_gc() {
    GC_INIT();
    GC_gcollect();
    static reach_node* root = nullptr;
    root = tree_of(k_nodes, [] { return new (GC_MALLOC(sizeof(reach_node))) reach_node; });
    GC_gcollect();
    root->left = nullptr;
    const bench::stopwatch watch;
    GC_gcollect();
    bench::hand_over({"collect", watch.seconds(), {{"heap_bytes", static_cast<double>(GC_get_heap_size())}}});
    if (sum_of(root) == 0)
        throw std::runtime_error("the tree is gone");
}
#endif

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "populate")
        populate(words.at(1), words.at(2));
    else if (words.at(0) == "move")
        measure_move(words.at(1), words.at(2), words.at(3));
    else if (words.at(0) == "collect")
        measure_collection(words.at(1));
    else if (words.at(0) == "steps")
        measure_steps(words.at(1));
#ifdef BENCH_HAS_GC
    else if (words.at(0) == "gc")
        measure_gc();
#endif
}

void run_parent(const bench::options& chosen) {
    bench::report report("reach", chosen, "heap");
    const bench::scratch_directory scratch(chosen.dir);
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const std::string kind : {"map", "tree"}) {
            if (!bench::is_wanted(kind, chosen.workloads))
                continue;
            const std::uint64_t count = kind == "map" ? k_texts : k_nodes;
            const fs::path file = scratch.path() / (kind + ".rem");
            if (!fs::exists(file)) {
                bench::note("writing the " + kind);
                bench::run_child({"populate", file, kind});
            }
            for (const std::string op : {"open", "relocate", "copy"}) {
                bench::note(kind + ": " + op);
                for (const bench::measurement& each : bench::run_child({"move", file, kind, op}))
                    report.add("heap", kind, count, each);
            }
            if (kind == "map")
                continue;
            bench::note("tree: collect");
            for (const bench::measurement& each : bench::run_child({"collect", file}))
                report.add("heap", kind, count, each);
            fs::remove(file); // it lost half
            bench::note("tree: collect in steps");
            bench::run_child({"populate", file, kind});
            for (const bench::measurement& each : bench::run_child({"steps", file}))
                report.add("heap", kind, count, each);
            fs::remove(file);
#ifdef BENCH_HAS_GC
            bench::note("tree: Boehm's collector");
            for (const bench::measurement& each : bench::run_child({"gc"}))
                report.add("gc", kind, count, each);
#endif
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "reach", k_purpose, run_parent, run_child); }
