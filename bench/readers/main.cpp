// Look-ups by several processes at once, alone and beside a process that writes; what a read section takes; a thousand readers.
#include "store.hpp"

#include <harness.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t k_entries = 1'000'000;
constexpr std::uint64_t k_few_entries = 10'000; // which each of a thousand processes may come to hold for itself
constexpr std::uint64_t k_updates = 3;          // of a transaction
constexpr auto k_time = 2s;                     // of each measurement
constexpr unsigned k_many = 1'000;

constexpr std::string_view k_purpose =
    R"(Measures look-ups in a table of a million numbers (16 bytes an entry) which several processes have open at once. Each look-up
is a read section (transaction) of its own.

  alone          1, 2 and 4 processes look up; the time of a look-up is that of all processes together
  with writer    the same, while another process writes as fast as it can: durable transactions of 3 random updates
  sections       a read section in which nothing is looked up: nothing has changed since the one before, or 1, 10, 100, 1,000
                 random entries, each on a page of its own as a rule, in one transaction of another process
  many readers   a process writes while 1,000 others look something up once a second; then one of them is stopped (SIGSTOP) in a
                 read section. 10,000 entries

More processes than cores share them: compare rows of equally many processes.

)";

std::vector<system_kind> all_systems() {
    std::vector<system_kind> all = remanence_systems();
#ifdef BENCH_LMDB
    all.push_back(lmdb_system());
#endif
#ifdef BENCH_SQLITE
    all.push_back(sqlite_system());
#endif
    return all;
}

/// What the processes of one measurement see of each other.
struct board {
    std::array<int, 2> gate{}; // a pipe, which they read from until it ends: that is when all begin
    std::atomic<unsigned> ready = 0;
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> look_ups = 0;
    std::atomic<std::uint64_t> transactions = 0;
    std::atomic<std::uint64_t> turn = 0; // of a writer and a reader that alternate
};

/// Processes that are over when their parent is, and that have been waited for when this is.
class processes {
public:
    processes()
        : board_(new(::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board) {
        if (::pipe(board_->gate.data()) != 0)
            throw std::runtime_error("there is no pipe");
    }
    processes(const processes&) = delete;
    processes& operator=(const processes&) = delete;
    ~processes() {
        for (const pid_t pid : running_) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        ::close(board_->gate[0]);
        if (!has_begun_)
            ::close(board_->gate[1]);
        ::munmap(board_, sizeof(board));
    }
    [[nodiscard]] board& shared() { return *board_; }

    template <class F>
    void start(const F& work) {
        const pid_t pid = ::fork();
        if (pid < 0)
            throw std::runtime_error("fork failed");
        if (pid != 0) {
            running_.push_back(pid);
            return;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(board_->gate[1]);
        int status = 1;
        try {
            work(*board_);
            status = 0;
        } catch (const std::exception& what) {
            std::fprintf(stderr, "%s\n", what.what());
        }
        ::_exit(status);
    }
    /// Until all have said so; throws when one has ended instead.
    void await_ready() {
        while (board_->ready < running_.size()) {
            if (::waitpid(-1, nullptr, WNOHANG) > 0)
                throw std::runtime_error("a process ended too early");
            std::this_thread::sleep_for(1ms);
        }
    }
    /// All that are ready go on.
    void begin() {
        has_begun_ = true;
        ::close(board_->gate[1]);
    }
    /// Tells them to end, and throws when one had failed. The stopped one is killed.
    void end(pid_t stopped = 0) {
        board_->stop = true;
        bool is_well = true;
        for (const pid_t pid : std::exchange(running_, {})) {
            if (pid == stopped)
                ::kill(pid, SIGKILL);
            int status = 0;
            ::waitpid(pid, &status, 0);
            is_well = is_well && (pid == stopped || status == 0);
        }
        if (!is_well)
            throw std::runtime_error("a process failed");
    }
    [[nodiscard]] pid_t last() const { return running_.back(); }

private:
    board* board_;
    bool has_begun_ = false;
    std::vector<pid_t> running_;
};

const system_kind& system_named(const std::string& name) {
    static const std::vector<system_kind> systems = all_systems();
    const auto at = std::ranges::find(systems, name, &system_kind::name);
    if (at == systems.end())
        throw std::runtime_error("no system is called " + name);
    return *at;
}

class random_keys {
public:
    explicit random_keys(std::uint64_t entries) : random_(static_cast<std::uint64_t>(::getpid())), entries_(entries) {}
    [[nodiscard]] std::uint64_t next() { return bench::scattered_key(random_() % entries_); }
    [[nodiscard]] std::vector<std::uint64_t> some(std::uint64_t count) {
        std::vector<std::uint64_t> keys(count);
        std::ranges::generate(keys, [this] { return next(); });
        return keys;
    }

private:
    std::mt19937_64 random_;
    std::uint64_t entries_;
};

void say_ready(board& shared) {
    ++shared.ready;
    char none = 0;
    (void)!::read(shared.gate[0], &none, 1);
}

void look_up_until_told(store& opened, board& shared) {
    constexpr unsigned k_at_once = 64;
    random_keys keys(k_entries);
    std::uint64_t count = 0;
    say_ready(shared);
    for (; !shared.stop; count += k_at_once) {
        for (unsigned i = 0; i < k_at_once; ++i)
            static_cast<void>(opened.look_up(keys.next()));
    }
    shared.look_ups += count;
}

void write_until_told(store& opened, board& shared, std::uint64_t entries) {
    random_keys keys(entries);
    say_ready(shared);
    for (; !shared.stop; ++shared.transactions)
        opened.update(keys.some(k_updates));
}

/// Of what goes on once all are ready.
double seconds_of(processes& all) {
    all.begin();
    const bench::stopwatch watch;
    std::this_thread::sleep_for(k_time);
    return watch.seconds();
}

bench::measurement transactions_of(const std::string& op, double seconds, const board& shared, unsigned readers) {
    const auto count = static_cast<double>(shared.transactions);
    return {op,
            seconds / count,
            {{"readers", readers}, {"transactions", count}, {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)}}};
}

std::string readers_text(unsigned readers) {
    return readers == 0 ? "no reader" : std::to_string(readers) + (readers == 1 ? " reader" : " readers");
}

void look(const system_kind& system, const fs::path& directory, unsigned readers, bool has_writer) {
    processes all;
    for (unsigned i = 0; i < readers; ++i)
        all.start([&](board& shared) { look_up_until_told(*system.open(directory), shared); });
    if (has_writer)
        all.start([&](board& shared) { write_until_told(*system.open(directory), shared, k_entries); });
    all.await_ready();
    const double seconds = seconds_of(all);
    all.end();
    if (has_writer)
        bench::hand_over(transactions_of("transaction, " + readers_text(readers), seconds, all.shared(), readers));
    if (readers == 0)
        return;
    const auto count = static_cast<double>(all.shared().look_ups);
    bench::hand_over(
        {"look-up, " + readers_text(readers),
         seconds / count,
         {{"readers", readers}, {"look_ups_per_second", count / seconds}, {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)}}});
}

void measure_sections(const system_kind& system, const fs::path& directory) {
    constexpr std::array k_changes{1, 10, 100, 1'000};
    constexpr std::uint64_t k_rounds = 21;
    constexpr std::uint64_t k_sections = 1'000'000;
    processes all;
    all.start([&](board& shared) { // writes when the turn is odd
        const std::unique_ptr<store> opened = system.open(directory);
        random_keys keys(k_entries);
        say_ready(shared);
        for (const int changes : k_changes) {
            for (std::uint64_t round = 0; round < k_rounds; ++round) {
                while (shared.turn % 2 == 0)
                    std::this_thread::yield();
                opened->update(keys.some(static_cast<std::uint64_t>(changes)));
                ++shared.turn;
            }
        }
    });
    const std::unique_ptr<store> opened = system.open(directory);
    all.await_ready();
    all.begin();
    opened->look_at_nothing();
    {
        const bench::stopwatch watch;
        for (std::uint64_t i = 0; i < k_sections; ++i)
            opened->look_at_nothing();
        bench::hand_over({"nothing changed", watch.seconds() / k_sections});
    }
    for (const int changes : k_changes) {
        std::vector<double> times;
        for (std::uint64_t round = 0; round < k_rounds; ++round) {
            const std::uint64_t turn = ++all.shared().turn;
            while (all.shared().turn == turn)
                std::this_thread::yield();
            const bench::stopwatch watch;
            opened->look_at_nothing();
            times.push_back(watch.seconds());
        }
        bench::hand_over({std::to_string(changes) + (changes == 1 ? " change" : " changes"), bench::median(times)});
    }
    all.end();
}

std::uint64_t bytes_of_files(const fs::path& directory) {
    std::uint64_t bytes = 0;
    for (const fs::directory_entry& file : fs::directory_iterator(directory))
        bytes += file.file_size();
    return bytes;
}

void measure_many(const system_kind& system, const fs::path& directory, unsigned readers, bool is_one_stopped) {
    processes all;
    all.start([&](board& shared) { write_until_told(*system.open(directory), shared, k_few_entries); });
    for (unsigned i = 0; i < readers; ++i) {
        all.start([&, is_stopped = is_one_stopped && i + 1 == readers](board& shared) {
            const std::unique_ptr<store> opened = system.open(directory);
            random_keys keys(k_few_entries);
            if (is_stopped) {
                opened->begin_reading();
                ++shared.ready;
                ::raise(SIGSTOP);
            }
            say_ready(shared);
            std::this_thread::sleep_for(std::chrono::milliseconds(i)); // not all at once
            for (; !shared.stop; std::this_thread::sleep_for(1s))
                static_cast<void>(opened->look_up(keys.next()));
        });
    }
    all.await_ready();
    const double seconds = seconds_of(all);
    const auto bytes = static_cast<double>(bytes_of_files(directory));
    all.end(is_one_stopped ? all.last() : 0);
    bench::measurement result =
        transactions_of("transaction, " + readers_text(readers) + (is_one_stopped ? ", one stopped" : ""), seconds,
                        all.shared(), readers);
    result.more.emplace_back("file_bytes", bytes);
    bench::hand_over(result);
}

/// Nothing is lost: all numbers together are the updates that were made.
void check(store& opened, std::uint64_t expected) {
    std::uint64_t sum = 0;
    for (std::uint64_t n = 0; n < k_entries; ++n)
        sum += opened.look_up(bench::scattered_key(n));
    if (sum != expected)
        throw std::runtime_error("there are " + std::to_string(sum) + " updates, not " + std::to_string(expected));
}

void run_child(const std::vector<std::string>& words) {
    const std::string& step = words.at(0);
    const system_kind& system = system_named(words.at(1));
    const fs::path directory = words.at(2);
    const auto number = [&](std::size_t i) { return std::stoul(words.at(i)); };
    if (step == "fill")
        system.open(directory)->fill(number(3));
    else if (step == "look")
        look(system, directory, static_cast<unsigned>(number(3)), words.at(4) == "with writer");
    else if (step == "sections")
        measure_sections(system, directory);
    else if (step == "many")
        measure_many(system, directory, static_cast<unsigned>(number(3)), words.at(4) == "one stopped");
    else
        check(*system.open(directory), number(3));
}

class runs {
public:
    explicit runs(const bench::options& chosen) : chosen_(chosen), scratch_(chosen.dir) {}

    void all() {
        const std::vector<system_kind> systems = all_systems();
        for (unsigned run = 0; run < chosen_.runs; ++run) {
            for (std::size_t i = 0; i < systems.size(); ++i) {
                const std::string& name = systems[(i + run) % systems.size()].name;
                if (bench::is_wanted(name, chosen_.only))
                    one(name);
            }
        }
        report_.finish();
    }

private:
    void one(const std::string& name) {
        const auto wants = [this](std::string_view workload) { return bench::is_wanted(workload, chosen_.workloads); };
        const fs::path directory = scratch_.path() / "store";
        const std::string where = directory.string();
        fs::create_directory(directory);
        if (wants("alone") || wants("with writer")) {
            bench::run_child({"fill", name, where, std::to_string(k_entries)});
            double updates = 0;
            for (const char* const workload : {"alone", "with writer"}) {
                if (!wants(workload))
                    continue;
                const bool has_writer = std::string_view(workload) == "with writer";
                for (const char* const readers : {"0", "1", "2", "4"}) {
                    if (*readers == '0' && !has_writer)
                        continue;
                    for (const bench::measurement& result :
                         bench::run_child({"look", name, where, readers, workload})) {
                        add(name, workload, k_entries, result);
                        if (result.more.at(1).first == "transactions")
                            updates += k_updates * result.more.at(1).second;
                    }
                }
            }
            bench::run_child({"check", name, where, std::to_string(static_cast<std::uint64_t>(updates))});
            fs::remove_all(directory);
            fs::create_directory(directory);
        }
        if (wants("sections")) {
            bench::run_child({"fill", name, where, std::to_string(k_entries)});
            for (const bench::measurement& result : bench::run_child({"sections", name, where}))
                add(name, "sections", k_entries, result);
            fs::remove_all(directory);
            fs::create_directory(directory);
        }
        if (wants("many readers")) {
            bench::run_child({"fill", name, where, std::to_string(k_few_entries)});
            const std::string many = std::to_string(k_many);
            for (const auto& [readers, how] : std::vector<std::pair<std::string, std::string>>{
                     {"0", "none stopped"}, {many, "none stopped"}, {many, "one stopped"}}) {
                for (const bench::measurement& result : bench::run_child({"many", name, where, readers, how}))
                    add(name, "many readers", k_few_entries, result);
            }
        }
        fs::remove_all(directory);
    }
    void add(const std::string& name, const char* workload, std::uint64_t entries, const bench::measurement& result) {
        report_.add(name, workload, entries, result);
    }

    const bench::options& chosen_;
    bench::scratch_directory scratch_;
    bench::report report_{"readers", chosen_, "Remanence"};
};

void run_parent(const bench::options& chosen) { runs(chosen).all(); }

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "readers", k_purpose, run_parent, run_child); }
