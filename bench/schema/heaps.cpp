// Heaps: the portable form, opening with many types, and migration.
#include "objects.hpp"

#include <harness.hpp>

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <array>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace schema_bench {

struct address {
    remanence::string street, city, phone;
};
using book = remanence::multimap<remanence::string, address>;
using numbers = remanence::vector<std::int64_t>;

/// 300 types that differ.
template <std::size_t N>
struct record {
    std::array<std::int32_t, N + 1> values;
    remanence::string name;
    std::int64_t number;
    double weight;
};

/// Releases of a struct: the second has a member more, in the third two have changed places.
inline namespace first {
struct part {
    std::int64_t number;
    std::int32_t x, y;
    std::array<char, 16> name;
};
} // namespace first
namespace later {
struct part {
    std::int64_t number;
    std::int32_t x, y;
    std::array<char, 16> name;
    std::int64_t colour = 7;
};
} // namespace later
namespace swapped {
struct part {
    std::int64_t number;
    std::int32_t y, x;
    std::array<char, 16> name;
};
} // namespace swapped

} // namespace schema_bench

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;
using namespace schema_bench;

rem::heap_options large() { return {.memory = {.reserve_bytes = std::uint64_t{16} << 30}}; }

void fill(rem::heap& heap, workload what, std::uint64_t count) {
    heap.write(rem::durability::lazy, [&] {
        if (what == workload::book) {
            book& people = heap.root<book>("people");
            for (const auto& [name, each] : make_book()) {
                people.emplace_hint(people.end(), rem::string(name),
                                    address{rem::string(each.street), rem::string(each.city), rem::string(each.phone)});
            }
        } else {
            numbers& all = heap.root<numbers>("numbers");
            all.reserve(count);
            for (std::uint64_t i = 0; i != count; ++i)
                all.push_back(number_at(i));
        }
    });
}

std::uint64_t checksum_of(const rem::heap& heap, workload what) {
    std::uint64_t sum = 0;
    if (what == workload::book) {
        for (const auto& [name, each] : *heap.find_root<book>("people"))
            sum += checksum(name) ^ checksum(each.street) ^ checksum(each.city) ^ checksum(each.phone);
    } else {
        for (const std::int64_t each : *heap.find_root<numbers>("numbers"))
            sum = sum * 31 + static_cast<std::uint64_t>(each);
    }
    return sum;
}

template <std::size_t... N>
void make_roots(rem::heap& heap, std::index_sequence<N...> /*numbers*/) {
    (static_cast<void>(heap.root<record<N>>("root " + std::to_string(N))), ...);
}
template <std::size_t... N>
void find_roots(rem::heap& heap, std::index_sequence<N...> /*numbers*/) {
    ((heap.find_root<record<N>>("root " + std::to_string(N)) != nullptr
          ? void()
          : throw std::runtime_error("a root is missing")),
     ...);
}

constexpr std::size_t k_types = 300;
constexpr std::uint64_t k_parts = 1'000'000;

} // namespace

namespace {

dump_system heap_system(const std::string& name, bool as_binary) {
    return {name, [=](workload what, std::uint64_t count, const fs::path& file) {
                dump_times times;
                const std::string heap_file = file.string() + ".heap";
                rem::heap from = rem::heap::create(heap_file, large());
                fill(from, what, count);
                {
                    const bench::stopwatch watch;
                    std::ofstream to(file, std::ios::binary);
                    if (as_binary)
                        rem::save(from, rem::as_binary([&](std::string_view piece) {
                                      to.write(piece.data(), static_cast<std::streamsize>(piece.size()));
                                  }));
                    else
                        rem::save(from, to);
                    if (!to.flush())
                        throw std::runtime_error("cannot write " + file.string());
                    times.dump = watch.seconds();
                }
                rem::heap into = rem::heap::create(heap_file + ".loaded", large());
                {
                    const bench::stopwatch watch;
                    std::ifstream stream(file, std::ios::binary);
                    rem::load<>(into, stream);
                    times.load = watch.seconds();
                }
                times.checksum = checksum_of(into, what);
                return times;
            }};
}

} // namespace

dump_system portable_system() { return heap_system("portable form", false); }
dump_system binary_form_system() { return heap_system("binary form", true); }

void measure_open(const fs::path& directory) {
    constexpr unsigned k_times = 51;
    const auto all = std::make_index_sequence<k_types>();
    const auto measure = [&](const std::string& name, const auto& make, const auto& find) {
        const fs::path file = directory / name;
        {
            rem::heap heap = rem::heap::create(file);
            make(heap);
            heap.commit();
        }
        std::vector<double> open;
        std::vector<double> found;
        for (unsigned i = 0; i != k_times; ++i) {
            const bench::stopwatch watch;
            rem::heap heap = rem::heap::open_existing(file);
            open.push_back(watch.seconds());
            find(heap);
            found.push_back(watch.seconds());
        }
        bench::hand_over({name + ": open", bench::median(open)});
        bench::hand_over({name + ": and find all", bench::median(found)});
    };
    measure("no root", [](rem::heap&) {}, [](rem::heap&) {});
    measure(
        "1 type", [](rem::heap& heap) { static_cast<void>(heap.root<record<0>>("root 0")); },
        [](rem::heap& heap) { static_cast<void>(heap.find_root<record<0>>("root 0")); });
    measure(
        "300 types", [&](rem::heap& heap) { make_roots(heap, all); }, [&](rem::heap& heap) { find_roots(heap, all); });
}

void measure_migration(const fs::path& directory) {
    using old_parts = rem::map<std::int64_t, schema_bench::first::part>;
    const auto make = [&](const fs::path& file) {
        rem::heap heap = rem::heap::create(file, large());
        heap.write([&] {
            old_parts& parts = heap.root<old_parts>("parts");
            for (std::uint64_t i = 0; i != k_parts; ++i) {
                const auto number = static_cast<std::int64_t>(i);
                parts.emplace_hint(parts.end(), number, schema_bench::first::part{number, 1, 2, {"part"}});
            }
        });
    };
    {
        make(directory / "copied");
        rem::heap heap = rem::heap::open_existing(directory / "copied", large());
        const old_parts& parts = *heap.find_root<old_parts>("parts");
        const bench::stopwatch watch;
        heap.write([&] { heap.root<old_parts>("copy") = parts; });
        bench::hand_over({"copy in the heap", watch.seconds()});
    }
    make(directory / "migrated");
    rem::heap heap = rem::heap::open_existing(directory / "migrated", large());
    using new_parts = rem::map<std::int64_t, schema_bench::later::part>;
    const bench::stopwatch watch;
    static_cast<void>(rem::migrate<new_parts>(heap, "parts"));
    bench::hand_over({"migration", watch.seconds()});
    const new_parts& parts = *heap.find_root<new_parts>("parts");
    if (parts.size() != k_parts || parts.rbegin()->second.colour != 7)
        throw std::runtime_error("what was migrated is not what was there");

    make(directory / "in place");
    rem::heap other = rem::heap::open_existing(directory / "in place", large());
    using swapped_parts = rem::map<std::int64_t, schema_bench::swapped::part>;
    const bench::stopwatch in_place;
    const bool stays = rem::migrate<swapped_parts>(other, "parts").is_in_place;
    bench::hand_over({"migration in place", in_place.seconds()});
    const swapped_parts& changed = *other.find_root<swapped_parts>("parts");
    if (!stays || changed.size() != k_parts || changed.rbegin()->second.x != 1 || changed.rbegin()->second.y != 2)
        throw std::runtime_error("what was migrated in place is not what was there");
}
