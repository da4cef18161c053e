// What an asynchronous commit costs when a part of a large list has changed, beside writing all of it anew. After SoftPM.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

/// In a named scope, as what a root is must be.
struct list_node {
    list_node* next;
    std::array<std::uint64_t, 7> values;
};
static_assert(sizeof(list_node) == 64);

namespace {

using node = list_node;
namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures a commit after 1, 10, 50 or 100 % of the nodes of a list of 500 MB have changed, each by one word; nodes of 64
bytes, which lie in the order of the list. "local": the changed ones are neighbours; "scattered": every hundredth, tenth or
second of all.

  commit       until it is durable
  checkpoint   right after it, so that the log is empty again

The row "serialised" writes the values of all nodes by fwrite to a new file, syncs it, and renames it over the old one. The keys
written_bytes and changed_bytes (of the words) are in the JSON.
)";

constexpr std::uint64_t k_nodes = 500'000'000 / sizeof(node);

enum class place { local, scattered };

struct workload {
    std::string name;
    unsigned percent;
    place where;
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = [] {
        std::vector<workload> made;
        for (const unsigned percent : {1U, 10U, 50U, 100U}) {
            for (const place where : {place::local, place::scattered}) {
                if (percent < 100)
                    made.push_back({std::to_string(percent) + " % " + (where == place::local ? "local" : "scattered"),
                                    percent, where});
            }
        }
        made.push_back({"100 %", 100, place::local});
        return made;
    }();
    return all;
}

constexpr std::array<std::string_view, 4> k_systems{"scan", "trap", "declared", "serialised"};

/// Changes that part of the list, each node after telling of it.
template <class F>
void change(node* first, const workload& work, F declare) {
    const std::uint64_t step = work.where == place::scattered ? 100 / work.percent : 1;
    std::uint64_t left = k_nodes * work.percent / 100;
    std::uint64_t at = 0;
    for (node* each = first; each != nullptr && left > 0; each = each->next, ++at) {
        if (at % step != 0)
            continue;
        declare(each);
        ++each->values[at % each->values.size()];
        --left;
    }
}

void populate(const fs::path& file) {
    rem::heap heap = rem::heap::create(file);
    auto& first = heap.root<node*>("list");
    node** last = &first;
    for (std::uint64_t i = 0; i < k_nodes; ++i) {
        *last = heap.make<node>();
        (*last)->values.fill(i);
        last = &(*last)->next;
    }
    heap.commit();
    heap.close();
}

void measure_heap(const fs::path& file, std::string_view system, const workload& work) {
    rem::heap heap =
        rem::heap::open_existing(file, {.tracker = system == "trap" ? rem::tracking::trap : rem::tracking::automatic});
    node* const first = *heap.find_root<node*>("list");
    std::uint64_t sum = 0;
    for (const node* each = first; each != nullptr; each = each->next)
        sum += each->values[0];
    if (sum == 0)
        throw std::runtime_error("the list is empty");
    heap.write([&] { ++first->values[0]; }); // the log is there
    heap.checkpoint();
    const rem::heap_stats before = heap.stats();
    std::optional<bench::stopwatch> watch;
    if (system == "declared") {
        heap.write(rem::declared, [&] {
            change(first, work, [&](node* each) { heap.touch(each, sizeof *each); });
            watch.emplace(); // what is left of the section is its commit
        });
    } else {
        change(first, work, [](const node*) {});
        watch.emplace();
        heap.commit();
    }
    const double commit_seconds = watch->seconds();
    const bench::stopwatch applying;
    heap.checkpoint();
    const double checkpoint_seconds = applying.seconds();
    const rem::heap_stats after = heap.stats();
    bench::hand_over({"commit",
                      commit_seconds,
                      {{"changed_bytes", static_cast<double>(after.changed_bytes - before.changed_bytes)},
                       {"written_bytes", static_cast<double>(after.written_bytes - before.written_bytes)}}});
    bench::hand_over({"checkpoint", checkpoint_seconds});
    heap.close();
}

void check(bool done) {
    if (!done)
        throw std::system_error(errno, std::generic_category(), "the serialised list");
}

void measure_serialised(const fs::path& file, const workload& work) {
    std::vector<node> nodes(k_nodes);
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i)
        nodes[i].next = &nodes[i + 1];
    change(nodes.data(), work, [](const node*) {});
    const bench::stopwatch watch;
    const fs::path made = file.string() + "-new";
    std::FILE* const out = std::fopen(made.c_str(), "wb");
    check(out != nullptr);
    for (const node* each = nodes.data(); each != nullptr; each = each->next)
        check(std::fwrite(each->values.data(), sizeof each->values, 1, out) == 1);
    check(std::fflush(out) == 0 && ::fsync(::fileno(out)) == 0 && std::fclose(out) == 0);
    fs::rename(made, file);
    bench::hand_over(
        {"commit", watch.seconds(), {{"written_bytes", static_cast<double>(k_nodes * sizeof nodes[0].values)}}});
}

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "populate")
        return populate(words.at(1));
    const workload& work = all_workloads().at(std::stoul(words.at(2)));
    if (words.at(0) == "serialised")
        measure_serialised(words.at(1), work);
    else
        measure_heap(words.at(1), words.at(0), work);
}

void run_parent(const bench::options& chosen) {
    bench::report report("incremental", chosen, "serialised");
    const bench::scratch_directory scratch(chosen.dir);
    const fs::path heap = scratch.path() / "list.rem";
    bench::note("writing the list");
    bench::run_child({"populate", heap});
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t w = 0; w < all_workloads().size(); ++w) {
            const workload& work = all_workloads()[w];
            if (!bench::is_wanted(work.name, chosen.workloads))
                continue;
            for (std::size_t i = 0; i < k_systems.size(); ++i) {
                const std::string system(k_systems[(i + run) % k_systems.size()]);
                if (!bench::is_wanted(system, chosen.only))
                    continue;
                bench::note(work.name + ": " + system);
                const fs::path file = system == "serialised" ? scratch.path() / "list" : heap;
                for (const bench::measurement& result : bench::run_child({system, file, std::to_string(w)}))
                    report.add(system, work.name, k_nodes * work.percent / 100, result);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "incremental", k_purpose, run_parent, run_child); }
