// The address book of the paper on the persistent storage pool for Ada: insert, iterate, look up, delete; and what a
// fresh process finds after reopening. Systems are compared at equal durability: one durable commit per phase.
#include "store.hpp"

#include <harness.hpp>

#include <address_data.hpp> // of the example

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <unordered_map>

namespace {

constexpr std::string_view k_purpose =
    R"(Measures an address book in several systems; seconds, the median of several runs.

  insert            all entries, in random order, and one durable commit
  iterate           ten passes over everything, in the order the system has, reading every byte
  lookup            each entry's name once, in random order, reading every byte of the first entry of that name
  delete            each very entry once, in random order, and one durable commit: found by its name, and among its
                    namesakes by comparing the rest, through which LMDB searches and all others walk
  delete by name    for each entry's name, in random order, the first entry of that name, and one durable commit; with
                    distinct names it would be the same as delete, and is not measured
  close             closing after an insert, which is where some systems do part of the work; the keys disk_bytes and
                    payload_bytes of the JSON are what its files then take and what the entries' bytes are
  lookup reopened   the same as lookup and as iterate, each in a fresh process that has just opened the file; the page
  iterate reopened  cache is warm, and the opening, which is not in the time, is the key open_seconds of the JSON

What bytes systems store is the same, but for the first three rows, of structs of three strings. "hash_map, find_each" gives all
names of a look-up or a deletion to the map at once, and gets their entries in that order. RocksDB is asked for 64
distinct names at once (MultiGet); all others are asked name by name, Tkrzw because its ProcessMulti is no faster.

Workloads: "distinct" (59,840 entries) and "duplicates" (148,397; frequent names are frequent).
)";

constexpr int k_passes = 10;

struct workload {
    std::string name;
    address_data::selection selection;
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {{"distinct", address_data::selection::distinct},
                                              {"duplicates", address_data::selection::duplicates}};
    return all;
}

template <class List>
const auto& named(const List& list, std::string_view name) {
    for (const auto& one : list)
        if (one.name == name)
            return one;
    throw std::runtime_error("nothing is called " + std::string(name));
}

records make_records(const workload& work) {
    const address_data::source source(work.selection);
    records result;
    result.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        address_data::entry entry = source[i];
        std::string value = entry.street;
        value.append(1, '\0').append(entry.city).append(1, '\0').append(entry.phone);
        result.push_back({std::string(entry.name), std::move(entry.street), std::move(entry.city),
                          std::move(entry.phone), std::move(value)});
    }
    return result;
}

records shuffled(records entries, std::uint64_t seed) {
    address_data::random_numbers random(seed);
    address_data::shuffle(entries, random);
    return {entries.begin(), entries.end()}; // copies, whose strings lie in their order
}

std::uint64_t expected_of_iterate(const records& entries) {
    std::uint64_t checksum = 0;
    for (const record& entry : entries)
        checksum += entry_checksum(entry.name, entry.value);
    return checksum;
}

/// Each entry's name is looked up once, so a name's first entry counts as often as there are entries of that name.
std::uint64_t expected_of_look_up(const records& entries, first_found finds) {
    std::unordered_map<std::string_view, const record*> first;
    for (const record& entry : entries) {
        const record*& known = first.try_emplace(entry.name, &entry).first->second;
        if (finds == first_found::smallest_value && entry.value < known->value)
            known = &entry;
    }
    std::uint64_t checksum = 0;
    for (const record& entry : entries)
        checksum += entry_checksum(entry.name, first.at(entry.name)->value);
    return checksum;
}

void expect_equal(std::uint64_t found, std::uint64_t expected, const char* what) {
    if (found != expected)
        throw std::runtime_error(std::string("the result of ") + what + " is wrong");
}

/// What the files take, without their holes.
double disk_bytes(const std::filesystem::path& directory) {
    constexpr double k_block_bytes = 512; // of stat(2)
    double bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
        struct stat info{};
        if (entry.is_regular_file() && ::stat(entry.path().c_str(), &info) == 0)
            bytes += static_cast<double>(info.st_blocks) * k_block_bytes;
    }
    return bytes;
}

double payload_bytes(const records& entries) {
    std::size_t bytes = 0;
    for (const record& entry : entries)
        bytes += entry.name.size() + entry.street.size() + entry.city.size() + entry.phone.size();
    return static_cast<double>(bytes);
}

template <class Action>
bench::measurement timed(const std::string& op, Action&& action) {
    const bench::stopwatch watch;
    action();
    return {op, watch.seconds(), {{"cpu_seconds", watch.cpu_seconds()}}};
}

/// What one child process does: words are system, workload, phase, directory.
class child {
public:
    explicit child(const std::vector<std::string>& words)
        : systems_(all_systems()),
          system_(named(systems_, words.at(0))),
          workload_(named(all_workloads(), words.at(1))),
          phase_(words.at(2)),
          directory_(words.at(3)),
          entries_(make_records(workload_)),
          looked_up_(shuffled(entries_, 1)),
          removed_(shuffled(entries_, 2)) {}

    void run() {
        store_ = open();
        if (phase_ == "memory") {
            insert();
            iterate("iterate");
            look_up("lookup");
            remove();
        } else if (phase_ == "delete by name") {
            store_->insert(entries_);
            remove_by_name();
        } else if (phase_ == "populate") {
            store_->insert(entries_);
            bench::measurement closing = timed("close", [&] { store_->close(); });
            closing.more.emplace_back("disk_bytes", disk_bytes(directory_));
            closing.more.emplace_back("payload_bytes", payload_bytes(entries_));
            bench::hand_over(closing);
            return;
        } else if (phase_ == "lookup reopened") {
            look_up(phase_);
        } else if (phase_ == "iterate reopened") {
            iterate(phase_);
        }
        store_->close();
    }

private:
    std::unique_ptr<store> open() {
        const bench::stopwatch watch;
        std::unique_ptr<store> opened =
            system_.open(directory_, workload_.selection == address_data::selection::duplicates);
        open_seconds_ = watch.seconds();
        return opened;
    }
    void insert() {
        bench::hand_over(timed("insert", [&] { store_->insert(entries_); }));
        expect_equal(store_->size(), entries_.size(), "insert");
    }
    void iterate(const std::string& op) {
        std::uint64_t checksum = 0;
        double first_pass = 0;
        const bench::stopwatch watch;
        bench::measurement result = timed(op, [&] {
            for (int pass = 0; pass < k_passes; ++pass) {
                checksum += store_->iterate();
                if (pass == 0)
                    first_pass = watch.seconds();
            }
        });
        expect_equal(checksum, k_passes * expected_of_iterate(entries_), "iterate");
        result.more.emplace_back("first_pass_seconds", first_pass);
        result.more.emplace_back("open_seconds", open_seconds_);
        bench::hand_over(result);
    }
    void look_up(const std::string& op) {
        std::uint64_t checksum = 0;
        bench::measurement result = timed(op, [&] { checksum = store_->look_up(looked_up_); });
        expect_equal(checksum, expected_of_look_up(entries_, system_.finds), "lookup");
        result.more.emplace_back("open_seconds", open_seconds_);
        bench::hand_over(result);
    }
    void remove() {
        std::uint64_t removed = 0;
        bench::hand_over(timed("delete", [&] { removed = store_->remove(removed_); }));
        expect_all_removed(removed);
    }
    void remove_by_name() {
        std::uint64_t removed = 0;
        bench::hand_over(timed(phase_, [&] { removed = store_->remove_by_name(removed_); }));
        expect_all_removed(removed);
    }
    void expect_all_removed(std::uint64_t removed) {
        expect_equal(removed, entries_.size(), "delete");
        expect_equal(store_->size(), 0, "delete");
    }

    std::vector<system_kind> systems_;
    const system_kind& system_;
    const workload& workload_;
    std::string phase_;
    std::filesystem::path directory_;
    records entries_;
    records looked_up_;
    records removed_;
    std::unique_ptr<store> store_;
    double open_seconds_ = 0;
};

std::size_t entries_of(const workload& work) { return address_data::source(work.selection).size(); }

class parent {
public:
    explicit parent(const bench::options& chosen)
        : chosen_(chosen), report_("address_book", chosen, all_systems().front().name) {
        for (const system_kind& system : all_systems())
            if (bench::is_wanted(system.name, chosen.only))
                systems_.push_back(system);
        if (systems_.empty())
            throw std::runtime_error("no system is called so");
    }

    void run() {
        for (unsigned run = 0; run < chosen_.runs; ++run) {
            for (const workload& work : all_workloads()) {
                if (!bench::is_wanted(work.name, chosen_.workloads))
                    continue;
                const std::size_t entries = entries_of(work);
                for (std::size_t i = 0; i < systems_.size(); ++i)
                    measure(systems_[(i + run) % systems_.size()], work, entries); // each comes first once
            }
        }
        compare_insertion();
        report_.finish();
    }

private:
    /// The faster of our rows beside the fastest of the others that are persistent.
    void compare_insertion() {
        struct fastest {
            std::string name;
            double seconds = std::numeric_limits<double>::infinity();
        };
        std::array<fastest, 2> found; // ours, theirs
        for (const system_kind& system : systems_) {
            const auto seconds = report_.seconds(system.name, "distinct", "insert");
            fastest& one = found[system.name.starts_with("remanence") ? 0 : 1];
            if (system.persistent && seconds && *seconds < one.seconds)
                one = {system.name, *seconds};
        }
        if (found[0].name.empty() || found[1].name.empty())
            return;
        const auto text = [](const fastest& of) { return of.name + " " + bench::duration_text(of.seconds); };
        report_.compare({"address book, insertion of distinct names: times as fast as the best peer",
                         found[1].seconds / found[0].seconds, bench::bound::at_least, 2, "",
                         text(found[0]) + ", " + text(found[1])});
    }

    void measure(const system_kind& system, const workload& work, std::size_t entries) {
        if (!system.keeps_duplicates && work.selection == address_data::selection::duplicates)
            return;
        bench::note(work.name + ", " + system.name);
        run_phases(system, work, entries, {"memory"});
        if (work.selection == address_data::selection::duplicates)
            run_phases(system, work, entries, {"delete by name"});
        if (system.persistent)
            run_phases(system, work, entries, {"populate", "lookup reopened", "iterate reopened"});
        bench::note("");
    }
    /// One process for each phase, all in one directory.
    void run_phases(const system_kind& system, const workload& work, std::size_t entries,
                    const std::vector<std::string>& phases) {
        const bench::scratch_directory directory(chosen_.dir);
        for (const std::string& phase : phases) {
            bench::warm_page_cache(directory.path());
            for (const bench::measurement& result :
                 bench::run_child({system.name, work.name, phase, directory.path().string()}))
                report_.add(system.name, work.name, entries, result);
        }
    }

    const bench::options& chosen_;
    bench::report report_;
    std::vector<system_kind> systems_;
};

} // namespace

std::vector<system_kind> all_systems() {
    return {
        std_multimap_system(),
#ifdef BENCH_REMANENCE
        remanence_system(),
        remanence_btree_system(),
        remanence_hash_system(),
        remanence_hash_together_system(),
        remanence_packed_system(),
#endif
#ifdef BENCH_BERKELEY_DB
        berkeley_db_system(),
        berkeley_db_transaction_system(),
#endif
#ifdef BENCH_GDBM
        gdbm_system(),
#endif
#ifdef BENCH_LEVELDB
        leveldb_system(),
#endif
#ifdef BENCH_LMDB
        lmdb_system(),
#endif
#ifdef BENCH_ROCKSDB
        rocksdb_system(),
#endif
#ifdef BENCH_SQLITE
        sqlite_system(),
#endif
#ifdef BENCH_TKRZW
        tkrzw_tree_system(),
        tkrzw_hash_system(),
#endif
    };
}

int main(int count, char* words[]) {
    return bench::run(
        count, words, "address_book", k_purpose, [](const bench::options& chosen) { parent(chosen).run(); },
        [](const std::vector<std::string>& task) { child(task).run(); });
}
