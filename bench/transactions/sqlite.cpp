// SQLite with a write-ahead log and synchronous=FULL, or, lazy, NORMAL, which syncs at checkpoints only. Each thread has a
// connection; they take turns by a mutex, which costs less than SQLite's own waiting, a sleep.
#include "store.hpp"

#include <sqlite3.h>

#include <mutex>
#include <stdexcept>

namespace {

class connection {
public:
    connection(const std::filesystem::path& file, bool is_durable) {
        if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK)
            fail();
        execute("PRAGMA journal_mode=WAL");
        execute(is_durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
        execute("PRAGMA cache_size=-1000000"); // KiB: everything fits
        execute("CREATE TABLE IF NOT EXISTS numbers(key INTEGER PRIMARY KEY, value INTEGER)");
        insert_ = prepare("INSERT INTO numbers VALUES(?, 1)");
        update_ = prepare("UPDATE numbers SET value = value + 1 WHERE key = ?");
        begin_ = prepare("BEGIN IMMEDIATE");
        commit_ = prepare("COMMIT");
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() {
        for (sqlite3_stmt* statement : {insert_, update_, begin_, commit_})
            sqlite3_finalize(statement);
        sqlite3_close(db_);
    }

    void execute(const char* text) {
        if (sqlite3_exec(db_, text, nullptr, nullptr, nullptr) != SQLITE_OK)
            fail();
    }
    void begin() { run(begin_); }
    void commit() { run(commit_); }
    void insert(std::uint64_t key) { run_with(insert_, key); }
    void update(std::uint64_t key) {
        run_with(update_, key);
        if (sqlite3_changes(db_) != 1)
            throw std::runtime_error("SQLite did not find a key");
    }
    std::uint64_t sum() {
        sqlite3_stmt* statement = prepare("SELECT sum(value) FROM numbers");
        if (sqlite3_step(statement) != SQLITE_ROW)
            fail();
        const auto all = static_cast<std::uint64_t>(sqlite3_column_int64(statement, 0));
        sqlite3_finalize(statement);
        return all;
    }

private:
    [[noreturn]] void fail() { throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_)); }
    sqlite3_stmt* prepare(const char* text) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(db_, text, -1, &statement, nullptr) != SQLITE_OK)
            fail();
        return statement;
    }
    void run(sqlite3_stmt* statement) {
        if (sqlite3_step(statement) != SQLITE_DONE)
            fail();
        sqlite3_reset(statement);
    }
    void run_with(sqlite3_stmt* statement, std::uint64_t key) {
        sqlite3_bind_int64(statement, 1, static_cast<sqlite3_int64>(key));
        run(statement);
    }

    sqlite3* db_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
    sqlite3_stmt* update_ = nullptr;
    sqlite3_stmt* begin_ = nullptr;
    sqlite3_stmt* commit_ = nullptr;
};

class sqlite_store final : public store {
public:
    explicit sqlite_store(const settings& chosen) : chosen_(chosen) {
        for (unsigned i = 0; i < chosen.threads; ++i) {
            threads_.push_back(
                std::make_unique<connection>(chosen.directory / "numbers.db", chosen.durability == level::durable));
        }
    }

    void fill() override {
        connection& first = *threads_.front();
        first.begin();
        for (std::uint64_t n = 0; n < chosen_.entries; ++n)
            first.insert(chosen_.key(n));
        first.commit();
        first.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    void update(unsigned thread, const keys& which) override {
        const std::scoped_lock turn(turn_);
        connection& mine = *threads_[thread];
        mine.begin();
        for (const std::uint64_t n : which)
            mine.update(chosen_.key(n));
        mine.commit();
    }
    std::uint64_t sum() override { return threads_.front()->sum(); }
    void close() override { threads_.clear(); }

private:
    settings chosen_;
    std::vector<std::unique_ptr<connection>> threads_;
    std::mutex turn_;
};

} // namespace

system_kind sqlite_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<sqlite_store>(chosen); };
    return {.name = "SQLite WAL", .open = open, .family = "SQLite"};
}
