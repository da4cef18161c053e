// address_book: an address book in a file, as a user of Remanence would write it.
#include "address_book.hpp"
#include "address_data.hpp"
#include "arguments.hpp"
#include "terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <iostream>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace rem = remanence;

constexpr std::string_view k_usage = R"(usage: address_book FILE COMMAND

  import [--batch N] [--entries N] [--distinct]
                            take in the sample entries, N (500) to a commit; goes on where an interrupted import ended
  add NAME STREET CITY PHONE
  find NAME                 the entries of that name
  list [--limit N] [--from NAME]
                            all entries in the order of their names, or N of them, or those from NAME on
  remove NAME [PHONE]       the entries of that name, or the one of them that has that number

Entries are printed one a line, as name, street, city and phone with a tab between.
FILE is created by import and add. Names are found as they were added, capitals and all.

options of import
  --batch N                 entries in a commit
  --entries N               only the first N of the sample entries
  --distinct                the 59,840 with distinct names, not the 148,397 in which frequent names are frequent
  --report-fd N             to a program that watches: write to descriptor N a line
                            "opened IMPORTED FOUND COMMITS BYTES NANOSECONDS" (entries imported so far, entries found
                            by counting them; commits and bytes recovered, time it took to open), then after each
                            commit a line "committed IMPORTED"; no progress bar

exit status
  0 done   1 no such entry   2 wrong usage   3 FILE is missing or no address book   4 FILE is in use
  5 FILE is damaged   6 out of space   7 something else went wrong
)";

enum exit_status : int {
    k_done = 0,
    k_no_such_entry = 1,
    k_wrong_usage = 2,
    k_no_address_book = 3,
    k_in_use = 4,
    k_damaged = 5,
    k_out_of_space = 6,
    k_other_failure = 7,
};

exit_status status_of(rem::errc reason) {
    switch (reason) {
    case rem::errc::not_found:
    case rem::errc::not_a_heap:
    case rem::errc::type_mismatch:
        return k_no_address_book;
    case rem::errc::in_use:
        return k_in_use;
    case rem::errc::truncated:
    case rem::errc::corrupt:
    case rem::errc::log_missing:
    case rem::errc::log_foreign:
        return k_damaged;
    case rem::errc::no_space:
    case rem::errc::exhausted:
        return k_out_of_space;
    default:
        return k_other_failure;
    }
}

class no_address_book : public std::runtime_error {
public:
    explicit no_address_book(const std::string& path)
        : std::runtime_error(path + " is a heap without an address book") {}
};

void expect_count(const std::vector<std::string>& operands, std::size_t least, std::size_t most, const char* form) {
    if (operands.size() < least || operands.size() > most)
        throw usage_error(std::string("it is: ") + form);
}

/// The people of a book that is there already.
address_book& people_of(const rem::heap& book) {
    address_book* const people = book.find_root<address_book>(k_people);
    if (people == nullptr)
        throw no_address_book(book.path().string());
    return *people;
}

/// For looking only, so that a file which cannot be written serves too.
rem::heap open_for_reading(const std::string& path) { return rem::heap::open_existing(path, {.read_only = true}); }

void print(const address_book::value_type& entry) {
    const auto& [name, where] = entry;
    std::cout << name << '\t' << where.street << '\t' << where.city << '\t' << where.phone << '\n';
}

/// Tells a watching program what happens, and survives nothing: when nobody reads any more, the import ends too.
class reporter {
public:
    explicit reporter(std::optional<std::uint64_t> descriptor)
        : descriptor_(descriptor ? static_cast<int>(*descriptor) : -1) {}
    [[nodiscard]] bool wanted() const { return descriptor_ >= 0; }
    void tell(const std::string& line) const {
        if (!wanted())
            return;
        if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::system_error(errno, std::generic_category(), "writing to the descriptor of --report-fd");
    }

private:
    int descriptor_;
};

void report_opening(const reporter& watcher, const rem::heap& book, const address_book& people,
                    const import_state& imported) {
    if (!watcher.wanted())
        return;
    const rem::heap_stats stats = book.stats();
    const auto found = std::distance(people.begin(), people.end()); // by a walk, so that it tells of the nodes
    watcher.tell("opened " + std::to_string(imported.entries) + " " + std::to_string(found) + " " +
                 std::to_string(stats.recovered_commits) + " " + std::to_string(stats.recovered_bytes) + " " +
                 std::to_string(stats.open_time.count()) + "\n");
}

exit_status import(const std::string& path, arguments& line) {
    constexpr std::uint64_t k_any = std::numeric_limits<std::uint32_t>::max();
    const std::uint64_t batch = line.number("batch", 1, k_any).value_or(500);
    const std::uint64_t wanted = line.number("entries", 0, k_any).value_or(k_any);
    const bool distinct = line.flag("distinct");
    const reporter watcher(line.number("report-fd", 0, std::numeric_limits<int>::max()));
    expect_count(line.operands(), 0, 0, "import [--batch N] [--entries N] [--distinct]");

    rem::heap book = rem::heap::open(path);
    auto& people = book.root<address_book>(k_people);
    auto& imported = book.root<import_state>(k_import, import_state{0, distinct});
    if (imported.distinct != (distinct ? 1U : 0U))
        throw usage_error(path + (distinct ? " was begun without --distinct" : " was begun with --distinct"));
    report_opening(watcher, book, people, imported);

    const address_data::source entries(distinct ? address_data::selection::distinct
                                                : address_data::selection::duplicates);
    const std::uint64_t total = std::min<std::uint64_t>(wanted, entries.size());
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t before = imported.entries;
    std::uint64_t commits = 0;
    terminal::progress_bar bar(watcher.wanted() ? -1 : STDERR_FILENO, total);
    while (imported.entries < total) {
        book.write([&] {
            const std::uint64_t end = std::min(imported.entries + batch, total);
            for (std::uint64_t i = imported.entries; i < end; ++i) {
                const address_data::entry entry = entries[i];
                people.emplace(entry.name,
                               address{rem::string(entry.street), rem::string(entry.city), rem::string(entry.phone)});
            }
            imported.entries = end;
        });
        ++commits;
        watcher.tell("committed " + std::to_string(imported.entries) + "\n");
        bar.show(imported.entries);
    }
    bar.clear();
    const std::uint64_t added = imported.entries - before;
    const std::uint64_t present = people.size();
    book.close();

    const auto elapsed = std::chrono::steady_clock::now() - begin;
    std::cout << terminal::grouped(added) << " entries imported in " << terminal::counted(commits, "commit") << " and "
              << terminal::duration(elapsed) << "; " << terminal::grouped(present) << " in the book\n";
    return k_done;
}

exit_status add(const std::string& path, arguments& line) {
    const std::vector<std::string> words = line.operands();
    expect_count(words, 4, 4, "add NAME STREET CITY PHONE");
    if (words[0].empty())
        throw usage_error("the name is empty");
    rem::heap book = rem::heap::open(path);
    auto& people = book.root<address_book>(k_people);
    book.write([&] {
        people.emplace(words[0], address{rem::string(words[1]), rem::string(words[2]), rem::string(words[3])});
    });
    book.close();
    return k_done;
}

exit_status find(const std::string& path, arguments& line) {
    const std::vector<std::string> words = line.operands();
    expect_count(words, 1, 1, "find NAME");
    const rem::heap book = open_for_reading(path);
    const auto [begin, end] = people_of(book).equal_range(words[0]);
    std::for_each(begin, end, print);
    return begin == end ? k_no_such_entry : k_done;
}

exit_status list(const std::string& path, arguments& line) {
    std::uint64_t left = line.number("limit", 0, std::numeric_limits<std::uint64_t>::max())
                             .value_or(std::numeric_limits<std::uint64_t>::max());
    const std::string from = line.value("from").value_or("");
    expect_count(line.operands(), 0, 0, "list [--limit N] [--from NAME]");
    const rem::heap book = open_for_reading(path);
    const address_book& people = people_of(book);
    for (auto at = people.lower_bound(from); at != people.end() && left > 0; ++at, --left)
        print(*at);
    return k_done;
}

exit_status remove(const std::string& path, arguments& line) {
    const std::vector<std::string> words = line.operands();
    expect_count(words, 1, 2, "remove NAME [PHONE]");
    rem::heap book = rem::heap::open_existing(path);
    address_book& people = people_of(book);
    const std::uint64_t removed = book.write([&] {
        std::uint64_t count = 0;
        auto [at, end] = people.equal_range(words[0]);
        while (at != end) {
            const bool meant = words.size() == 1 || at->second.phone == words[1];
            at = meant ? people.erase(at) : std::next(at);
            count += meant;
        }
        return count;
    });
    book.close();
    std::cout << terminal::grouped(removed) << " removed\n";
    return removed == 0 ? k_no_such_entry : k_done;
}

exit_status run(int count, const char* const words[]) {
    const auto asks_for_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
    if (std::any_of(words + 1, words + count, asks_for_help)) {
        std::cout << k_usage;
        return k_done;
    }
    if (count < 3)
        throw usage_error(count < 2 ? "a FILE is needed" : "a command is needed after FILE");
    const std::string path = words[1];
    const std::string_view command = words[2];
    arguments line(count - 2, words + 2); // the command stands where a program's name stands
    if (command == "import")
        return import(path, line);
    if (command == "add")
        return add(path, line);
    if (command == "find")
        return find(path, line);
    if (command == "list")
        return list(path, line);
    if (command == "remove")
        return remove(path, line);
    throw usage_error("there is no command '" + std::string(command) + "'");
}

exit_status fail(const std::exception& reason, exit_status status) {
    std::cout.flush();
    std::cerr << "address_book: " << reason.what() << '\n';
    if (status == k_wrong_usage)
        std::cerr << "address_book --help tells more\n";
    return status;
}

} // namespace

int main(int count, char* words[]) {
    std::ios::sync_with_stdio(false);
    try {
        const exit_status status = run(count, words);
        if (!std::cout.flush())
            throw std::runtime_error("the output could not be written");
        return status;
    } catch (const usage_error& reason) {
        return fail(reason, k_wrong_usage);
    } catch (const no_address_book& reason) {
        return fail(reason, k_no_address_book);
    } catch (const rem::error& reason) {
        return fail(reason, status_of(reason.reason()));
    } catch (const std::bad_alloc& reason) {
        return fail(reason, k_out_of_space);
    } catch (const std::exception& reason) {
        return fail(reason, k_other_failure);
    }
}
