// What it costs to read and to change elements that are stored serialised.
#include "store.hpp"

#include <harness.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_people = 100'000;

constexpr std::string_view k_purpose =
    R"(Measures elements of a class with strings and a vector of strings, 100,000 of them in a B-tree by number, stored
serialised: rem::fragile beside Berkeley DB's bytes, copied out and in, with the same serialize_trait. Seconds per element, of
random order, all in memory, without commits or syncs.

  read       a copy that is only looked at
  untouched  a reference, or a copy, that could have been changed and was not: it is serialised again, to know that
  changed    one that got another string: it is written back

)";

std::vector<system_kind> all_systems() {
    return {
        remanence_system(),
#ifdef BENCH_BERKELEY_DB
        berkeley_db_system(),
#endif
    };
}

void expect(bool is_so) {
    if (!is_so)
        throw std::runtime_error("an element is not what was put in");
}

void measure(store& people) {
    people.fill(k_people);
    std::vector<std::uint64_t> numbers(k_people);
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    std::size_t expected = 0;
    for (const std::uint64_t number : numbers)
        expected += person_of(number).name.size() + person_of(number).city.size();
    std::mt19937_64 random(1);
    const auto time = [&](const char* op, const auto& f) {
        std::ranges::shuffle(numbers, random);
        const bench::stopwatch watch;
        f();
        bench::hand_over({op, watch.seconds() / k_people});
    };
    std::size_t read = 0;
    std::size_t touched = 0;
    time("read", [&] { read = people.read(numbers); });
    time("untouched", [&] { touched = people.touch(numbers); });
    time("changed", [&] { people.change(numbers); });
    expect(read == expected && touched == expected && people.read(numbers) == expected);
}

void run_child(const std::vector<std::string>& words) {
    for (const system_kind& system : all_systems()) {
        if (system.name == words.at(0))
            measure(*system.open(words.at(1)));
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("fragile", chosen, "Berkeley DB");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<system_kind> systems = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const std::string& name = systems[(i + run) % systems.size()].name;
            if (!bench::is_wanted(name, chosen.only))
                continue;
            bench::note(name);
            const fs::path directory = scratch.path() / "store";
            fs::create_directory(directory);
            for (const bench::measurement& result : bench::run_child({name, directory.string()}))
                report.add(name, "people", k_people, result);
            fs::remove_all(directory);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "fragile", k_purpose, run_parent, run_child); }
