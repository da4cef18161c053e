// address_book_demo: kills the importer again and again, starts it again each time, and shows that nothing
// acknowledged was lost, nothing half done was kept, and every entry is right in the end.
#include "check.hpp"
#include "importer.hpp"

#include "../address_book.hpp"
#include "../address_data.hpp"
#include "../arguments.hpp"
#include "../terminal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;
using clock_type = std::chrono::steady_clock;
using std::chrono::nanoseconds;
using terminal::bytes;
using terminal::counted;
using terminal::duration;
using terminal::grouped;

constexpr std::string_view k_usage = R"(usage: address_book_demo [FILE] [--kills N] [--seed N] [--entries N] [--batch N]

Imports an address book into FILE (new; kept), or into a file in a temporary directory (removed), kills the importer
with signal 9 at random moments and starts it again, until N (25) kills have hit it between its first and its last
commit. Then checks every entry. The same seed gives the same random numbers; without one, chance gives it.

exit status: 0 all is well   1 something is wrong   2 wrong usage
)";

struct settings {
    fs::path book;
    std::uint64_t kills;
    std::uint64_t seed;
    std::uint64_t entries;
    std::uint64_t batch;
};

class temporary_directory {
public:
    temporary_directory() {
        std::string name = (fs::temp_directory_path() / "address_book_demo.XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), name);
        path_ = name;
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

/// What the person reads. Lines go above the progress bar.
class display {
public:
    explicit display(std::uint64_t total) : bar_(STDOUT_FILENO, total), look_(STDOUT_FILENO) {}

    [[nodiscard]] const terminal::style& look() const { return look_; }
    void line(const std::string& text) {
        bar_.clear();
        std::cout << text << std::endl;
    }
    /// `label` is a key of the final report.
    void fact(const std::string& label, const std::string& text) {
        line("  " + look_.faint(label + std::string(12 - std::min<std::size_t>(label.size(), 11), ' ')) + text);
    }
    void progress(std::uint64_t done, const std::string& note) { bar_.show(done, note); }
    void problem(const std::string& text) {
        ++problems_;
        line(look_.bad("WRONG: ") + text);
    }
    [[nodiscard]] std::uint64_t problems() const { return problems_; }

private:
    terminal::progress_bar bar_;
    terminal::style look_;
    std::uint64_t problems_ = 0;
};

/// The import, killed and started again until it is complete.
class campaign {
public:
    campaign(const settings& chosen, const fs::path& tool, display& out)
        : chosen_(chosen), tool_(tool), out_(out), random_(chosen.seed) {}

    void run();

    [[nodiscard]] std::uint64_t runs() const { return runs_; }
    [[nodiscard]] nanoseconds time() const { return time_; }
    [[nodiscard]] const std::vector<nanoseconds>& open_times() const { return open_times_; }

private:
    /// When to kill: so long after the start, or after that many commits of the run.
    struct plan {
        bool kills;
        std::uint64_t commits; ///< 0: count from the start
        nanoseconds delay;
    };
    plan next_plan();
    bool run_once(const plan& when);
    void check_opening(const import_event& opening);
    void show_recovery(const import_event& opening, bool counts);
    nanoseconds random_time(nanoseconds most) {
        return nanoseconds(random_.below(static_cast<std::uint64_t>(most.count()) + 1));
    }

    const settings& chosen_;
    fs::path tool_;
    display& out_;
    address_data::random_numbers random_;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t counted_ = 0;     ///< kills between the first and the last commit of their run
    std::uint64_t killed_runs_ = 0; ///< since the last opening that was reported
    bool killed_after_commit_ = false;
    std::uint64_t runs_ = 0;
    nanoseconds time_{};
    nanoseconds opening_ = std::chrono::milliseconds(5); ///< latest measure, from the start to the report
    nanoseconds commit_ = std::chrono::milliseconds(1);  ///< the same, between two commits
    std::vector<nanoseconds> open_times_;
};

// kill, entries acknowledged, entries found; recovered: commits, bytes; time to open
constexpr const char* k_row = "  %4s  %12s  %9s  %12s  %10s  %9s";

void campaign::run() {
    std::array<char, 200> heads;
    std::snprintf(heads.data(), heads.size(), k_row, "kill", "acknowledged", "found", "recovered", "", "opened in");
    out_.line(out_.look().faint(heads.data()));
    while (run_once(next_plan())) {
    }
    if (counted_ < chosen_.kills)
        out_.problem("only " + grouped(counted_) + " of " + grouped(chosen_.kills) + " kills hit the importer in time");
}

campaign::plan campaign::next_plan() {
    // The latest kill is not counted yet, but unless it was the last it will be, and else the import is complete.
    const std::uint64_t had = counted_ + (killed_after_commit_ ? 1 : 0);
    if (had >= chosen_.kills)
        return {.kills = false, .commits = 0, .delay = {}};
    const std::uint64_t kills_left = chosen_.kills - had;
    // One in five strikes anywhere from the start of the process on, so that recovery itself is cut short too.
    if (runs_ > 0 && random_.below(5) == 0)
        return {.kills = true, .commits = 0, .delay = random_time(opening_ * 3 / 2)};
    // The others are spread over what is left; four commits stay for each, since some pass before the signal arrives.
    const std::uint64_t commits_left = (chosen_.entries - acknowledged_ + chosen_.batch - 1) / chosen_.batch;
    const std::uint64_t kept = 4 * kills_left;
    const std::uint64_t spare = commits_left > kept ? commits_left - kept : 1;
    const std::uint64_t most = std::max<std::uint64_t>(1, std::min(spare, 2 * commits_left / (kills_left + 1)));
    return {.kills = true, .commits = 1 + random_.below(most), .delay = random_time(commit_ * 5 / 4)};
}

/// False when the import was complete.
bool campaign::run_once(const plan& when) {
    const auto begin = clock_type::now();
    ++runs_;
    importer child(tool_, chosen_.book,
                   {"--batch", std::to_string(chosen_.batch), "--entries", std::to_string(chosen_.entries)});
    std::uint64_t commits = 0;
    clock_type::time_point first_commit;
    const auto strike = [&] {
        std::this_thread::sleep_for(when.delay);
        child.kill();
    };
    if (when.kills && when.commits == 0)
        strike();
    while (const std::optional<import_event> event = child.next()) {
        if (event->opened) {
            opening_ = clock_type::now() - begin;
            check_opening(*event);
            continue;
        }
        const auto now = clock_type::now();
        if (++commits == 1)
            first_commit = now;
        else
            commit_ = (now - first_commit) / static_cast<std::int64_t>(commits - 1);
        acknowledged_ = event->imported;
        out_.progress(acknowledged_, "killed " + counted(counted_, "time"));
        if (when.kills && commits == when.commits)
            strike();
    }
    const import_end end = child.wait();
    time_ += clock_type::now() - begin;
    if (!end.killed && end.exit_status != 0)
        throw std::runtime_error("the importer failed with exit status " + std::to_string(end.exit_status));
    killed_runs_ += end.killed;
    killed_after_commit_ = killed_after_commit_ || (end.killed && commits > 0);
    return end.killed;
}

void campaign::check_opening(const import_event& opening) {
    open_times_.push_back(opening.open_time);
    // A kill after the run's first commit counts, once it shows that it also was before the last.
    const bool counts = killed_after_commit_ && opening.imported < chosen_.entries;
    counted_ += counts;
    if (killed_runs_ > 0)
        show_recovery(opening, counts);
    killed_runs_ = 0;
    killed_after_commit_ = false;

    if (opening.imported < acknowledged_)
        out_.problem(grouped(acknowledged_) + " entries were acknowledged, " + grouped(opening.imported) + " are left");
    if (opening.imported > acknowledged_ + chosen_.batch)
        out_.problem("there is more than one commit that was not acknowledged");
    if (opening.imported % chosen_.batch != 0 && opening.imported != chosen_.entries)
        out_.problem("a batch is there in part: " + grouped(opening.imported) + " entries");
    if (opening.found != opening.imported)
        out_.problem(grouped(opening.imported) + " entries were imported, but " + grouped(opening.found) + " found");
    acknowledged_ = std::max(acknowledged_, opening.imported);
}

void campaign::show_recovery(const import_event& opening, bool counts) {
    std::array<char, 200> text;
    std::snprintf(text.data(), text.size(), k_row, counts ? std::to_string(counted_).c_str() : "-",
                  grouped(acknowledged_).c_str(), grouped(opening.found).c_str(),
                  counted(opening.commits, "commit").c_str(), bytes(opening.bytes).c_str(),
                  duration(opening.open_time).c_str());
    out_.line(text.data());
}

void show_open_times(display& out, std::vector<nanoseconds> times) {
    std::sort(times.begin(), times.end());
    out.fact("opened", grouped(times.size()) + " times: fastest " + duration(times.front()) + ", median " +
                           duration(times[times.size() / 2]) + ", slowest " + duration(times.back()));
}

void show_names(display& out, const address_book& people, const address_data::source& source, std::uint64_t entries,
                address_data::random_numbers& random) {
    for (int i = 0; i < 5 && entries > 0; ++i) {
        const std::string_view name = source.name(random.below(entries));
        const auto [begin, end] = people.equal_range(name);
        if (begin == end)
            continue; // check_lookups() counts it
        const address& where = begin->second;
        out.fact("", std::string(name) + ", " + std::string(where.street) + ", " + std::string(where.city) + ", " +
                         std::string(where.phone) +
                         (std::next(begin) == end ? "" : " and " + grouped(people.count(name) - 1) + " more"));
    }
}

void check_book(const settings& chosen, const address_data::source& source, display& out,
                std::vector<nanoseconds>& open_times) {
    rem::heap book = rem::heap::open_existing(chosen.book);
    open_times.push_back(book.stats().open_time);
    const address_book* const people = book.find_root<address_book>(k_people);
    if (people == nullptr)
        return out.problem("the book has no people");

    const content_check content = check_content(*people, source, chosen.entries);
    if (content.missing + content.foreign > 0)
        out.problem("entries missing: " + grouped(content.missing) +
                    ", not of the source: " + grouped(content.foreign) + ", such as " + content.example);
    out.fact("checked", grouped(content.checked) + " of " + grouped(chosen.entries) +
                            " entries equal their source in every byte, in " + duration(content.time));

    const auto begin = clock_type::now();
    const rem::verify_report report = book.verify();
    for (const auto& problem : report.problems)
        out.problem("verify: " + problem.what);
    if (report.clean())
        out.fact("verified", grouped(report.pages_checked) + " pages and " + grouped(report.blocks_checked) +
                                 " blocks without a fault, in " + duration(clock_type::now() - begin));

    const lookup_check lookups = check_lookups(*people, source, chosen.entries);
    if (lookups.wrong > 0)
        out.problem(grouped(lookups.wrong) + " names were not found");
    const double seconds = std::chrono::duration<double>(lookups.time).count();
    out.fact("looked up", grouped(chosen.entries) + " names in " + duration(lookups.time) + ": " +
                              grouped(static_cast<std::uint64_t>(static_cast<double>(chosen.entries) / seconds)) +
                              " a second; for example");
    address_data::random_numbers random(chosen.seed);
    show_names(out, *people, source, chosen.entries, random);
    book.close();
}

void count_again(const settings& chosen, display& out, std::vector<nanoseconds>& open_times) {
    rem::heap book = rem::heap::open_existing(chosen.book);
    open_times.push_back(book.stats().open_time);
    const auto& people = book.root<address_book>(k_people);
    const auto found = static_cast<std::uint64_t>(std::distance(people.begin(), people.end()));
    if (found != chosen.entries || people.size() != chosen.entries)
        out.problem("reopened, the book has other entries");
    out.fact("reopened", "once more: " + grouped(found) + " entries");
    book.close();
}

void show_size(const settings& chosen, display& out) {
    struct stat file{};
    if (::stat(chosen.book.c_str(), &file) != 0)
        throw std::system_error(errno, std::generic_category(), chosen.book);
    constexpr std::uint64_t k_block_bytes = 512; // the unit of st_blocks
    out.fact("file", bytes(static_cast<std::uint64_t>(file.st_size)) + ", on disk " +
                         bytes(static_cast<std::uint64_t>(file.st_blocks) * k_block_bytes));
}

bool run(const settings& chosen, const address_data::source& source) {
    display out(chosen.entries);
    const fs::path tool = fs::read_symlink("/proc/self/exe").parent_path() / "address_book";
    out.line(out.look().bold("An import of " + grouped(chosen.entries) + " addresses is killed " +
                             counted(chosen.kills, "time") + "."));
    out.line("Commits of " + grouped(chosen.batch) + " entries into " + chosen.book.string() + "; seed " +
             std::to_string(chosen.seed));
    out.line("Kills marked - hit before the run's first commit, and do not count.\n");

    campaign import(chosen, tool, out);
    import.run();
    std::vector<nanoseconds> open_times = import.open_times();
    out.line("");
    out.fact("imported", "in " + grouped(import.runs()) + " runs and " + duration(import.time()));
    check_book(chosen, source, out, open_times);
    count_again(chosen, out, open_times);
    show_open_times(out, open_times);
    show_size(chosen, out);
    out.line(out.problems() == 0 ? out.look().good("\nNothing acknowledged was lost, nothing half done was kept.")
                                 : out.look().bad("\nFAILED: " + counted(out.problems(), "problem")));
    return out.problems() == 0;
}

settings settings_of(arguments& line, const address_data::source& source) {
    settings chosen;
    chosen.kills = line.number("kills", 0, 1'000'000).value_or(25);
    chosen.seed = line.number("seed", 0, ~std::uint64_t{0}).value_or(std::random_device{}());
    chosen.entries = line.number("entries", 1, source.size()).value_or(source.size());
    chosen.batch = line.number("batch", 1, source.size()).value_or(500);
    const std::uint64_t most_kills = chosen.entries / chosen.batch / 6;
    if (chosen.kills > most_kills)
        throw usage_error("so few commits leave room for " + counted(most_kills, "kill") + " only");
    const std::vector<std::string> files = line.operands();
    if (files.size() > 1)
        throw usage_error("one FILE is enough");
    if (!files.empty())
        chosen.book = files[0];
    if (!files.empty() && fs::exists(chosen.book))
        throw usage_error(files[0] + " exists already; give a new FILE");
    return chosen;
}

int run(arguments& line) {
    if (line.flag("help")) {
        std::cout << k_usage;
        return 0;
    }
    const address_data::source source(address_data::selection::duplicates);
    settings chosen = settings_of(line, source);
    std::optional<temporary_directory> temporary;
    if (chosen.book.empty())
        chosen.book = temporary.emplace().path() / "people.rem";
    return run(chosen, source) ? 0 : 1;
}

} // namespace

int main(int count, char* words[]) {
    try {
        arguments line(count, words);
        return run(line);
    } catch (const usage_error& reason) {
        std::cerr << "address_book_demo: " << reason.what() << "\naddress_book_demo --help tells more\n";
        return 2;
    } catch (const std::exception& reason) {
        std::cerr << "address_book_demo: " << reason.what() << '\n';
        return 1;
    }
}
