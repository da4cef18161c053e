// address_book_demo: kills the importer again and again, starts it again each time, and shows that nothing
// acknowledged was lost, nothing half done was kept, and every entry is right in the end.
#include "campaign.hpp"
#include "check.hpp"
#include "display.hpp"

#include "../address_book.hpp"
#include "../address_data.hpp"
#include "../arguments.hpp"
#include "../temporary_directory.hpp"
#include "../terminal.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
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
    chosen.book = line.new_file().value_or("");
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
        chosen.book = temporary.emplace("address_book_demo").path() / "people.rem";
    return run(chosen, source) ? 0 : 1;
}

} // namespace

int main(int count, char* words[]) { return run_demo("address_book_demo", count, words, run); }
