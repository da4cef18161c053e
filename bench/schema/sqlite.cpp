// SQLite: a table, dumped by the command of its shell (.dump), and read again by it into a new database.
#include "objects.hpp"

#include <harness.hpp>

#include <sqlite3.h>

#include <cstdlib>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

class database {
public:
    explicit database(const fs::path& file) {
        if (sqlite3_open(file.c_str(), &opened_) != SQLITE_OK)
            throw std::runtime_error("cannot open " + file.string());
    }
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    ~database() { sqlite3_close(opened_); }

    void run(const char* command) {
        if (sqlite3_exec(opened_, command, nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(opened_));
    }
    sqlite3_stmt* prepare(const char* command) {
        sqlite3_stmt* made = nullptr;
        if (sqlite3_prepare_v2(opened_, command, -1, &made, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(opened_));
        return made;
    }

private:
    sqlite3* opened_ = nullptr;
};

std::string text(sqlite3_stmt* row, int column) {
    return reinterpret_cast<const char*>(sqlite3_column_text(row, column));
}

void make(const fs::path& file, workload what, std::uint64_t numbers) {
    database made(file);
    made.run("PRAGMA synchronous=OFF; BEGIN");
    if (what == workload::book) {
        made.run("CREATE TABLE people(name TEXT, street TEXT, city TEXT, phone TEXT)");
        sqlite3_stmt* const insert = made.prepare("INSERT INTO people VALUES(?,?,?,?)");
        for (const auto& [name, address] : make_book()) {
            int column = 0;
            for (const std::string* each : {&name, &address.street, &address.city, &address.phone})
                sqlite3_bind_text(insert, ++column, each->data(), static_cast<int>(each->size()), SQLITE_STATIC);
            sqlite3_step(insert);
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
    } else {
        made.run("CREATE TABLE numbers(value INTEGER)");
        sqlite3_stmt* const insert = made.prepare("INSERT INTO numbers VALUES(?)");
        for (std::uint64_t i = 0; i != numbers; ++i) {
            sqlite3_bind_int64(insert, 1, number_at(i));
            sqlite3_step(insert);
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
    }
    made.run("COMMIT");
}

std::uint64_t checksum_of(const fs::path& file, workload what) {
    database loaded(file);
    if (what == workload::book) {
        plain_book book;
        sqlite3_stmt* const rows = loaded.prepare("SELECT * FROM people ORDER BY rowid");
        while (sqlite3_step(rows) == SQLITE_ROW)
            book.emplace(text(rows, 0), plain_address{text(rows, 1), text(rows, 2), text(rows, 3)});
        sqlite3_finalize(rows);
        return checksum(book);
    }
    plain_numbers numbers;
    sqlite3_stmt* const rows = loaded.prepare("SELECT value FROM numbers ORDER BY rowid");
    while (sqlite3_step(rows) == SQLITE_ROW)
        numbers.push_back(sqlite3_column_int64(rows, 0));
    sqlite3_finalize(rows);
    return checksum(numbers);
}

double seconds_of(const std::string& command) {
    const bench::stopwatch watch;
    if (std::system(command.c_str()) != 0) // NOLINT(cert-env33-c,concurrency-mt-unsafe)
        throw std::runtime_error("this failed: " + command);
    return watch.seconds();
}

} // namespace

dump_system sqlite_system() {
    return {"SQLite .dump", [](workload what, std::uint64_t numbers, const fs::path& file) {
                const std::string from = file.string() + ".db";
                const std::string to = file.string() + ".loaded.db";
                make(from, what, numbers);
                dump_times times;
                times.dump = seconds_of("sqlite3 '" + from + "' .dump > '" + file.string() + "'");
                times.load = seconds_of("(echo 'PRAGMA synchronous=OFF;'; cat '" + file.string() + "') | sqlite3 '" +
                                        to + "' > '" + file.string() + ".out'");
                times.checksum = checksum_of(to, what);
                return times;
            }};
}
