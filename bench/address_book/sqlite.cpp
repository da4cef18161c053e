// SQLite in WAL mode with synchronous=FULL: a table with an index on the name, prepared statements, one transaction per
// phase, a cache that holds everything. Iteration is in the order of the rows, which is faster than by name.
#include "store.hpp"

#include <sqlite3.h>

#include <stdexcept>
#include <utility>

namespace {

class database {
public:
    explicit database(const std::filesystem::path& file) {
        if (sqlite3_open(file.c_str(), &handle_) != SQLITE_OK)
            fail("open");
    }
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    ~database() { sqlite3_close_v2(handle_); }

    void check(int status, const char* what) const {
        if (status != SQLITE_OK)
            fail(what);
    }
    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error(std::string("SQLite, ") + what + ": " + sqlite3_errmsg(handle_));
    }
    void execute(const char* text) const { check(sqlite3_exec(handle_, text, nullptr, nullptr, nullptr), text); }
    void close() { check(sqlite3_close(std::exchange(handle_, nullptr)), "close"); }
    [[nodiscard]] sqlite3* get() const { return handle_; }

private:
    sqlite3* handle_ = nullptr;
};

class statement {
public:
    statement(const database& where, const char* text) : where_(where) {
        where.check(sqlite3_prepare_v3(where.get(), text, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr), text);
    }
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;
    ~statement() { sqlite3_finalize(handle_); }

    void bind_name(const std::string& name) const {
        const int bytes = static_cast<int>(name.size());
        where_.check(sqlite3_bind_text(handle_, 1, name.data(), bytes, SQLITE_STATIC), "bind");
    }
    void bind_value(const std::string& value) const {
        const int bytes = static_cast<int>(value.size());
        where_.check(sqlite3_bind_blob(handle_, 2, value.data(), bytes, SQLITE_STATIC), "bind");
    }
    /// True when there is a row.
    [[nodiscard]] bool step() const {
        const int status = sqlite3_step(handle_);
        if (status != SQLITE_ROW && status != SQLITE_DONE)
            where_.fail("step");
        return status == SQLITE_ROW;
    }
    void reset() const { where_.check(sqlite3_reset(handle_), "reset"); }
    [[nodiscard]] std::string_view column(int index) const {
        const void* const bytes = sqlite3_column_blob(handle_, index);
        return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_, index))};
    }
    [[nodiscard]] std::uint64_t number() const { return static_cast<std::uint64_t>(sqlite3_column_int64(handle_, 0)); }

private:
    const database& where_;
    sqlite3_stmt* handle_ = nullptr;
};

class sqlite_store final : public store {
public:
    explicit sqlite_store(const std::filesystem::path& directory) : book_(directory / "book.sqlite") {
        book_.execute("PRAGMA journal_mode = WAL");
        book_.execute("PRAGMA synchronous = FULL");
        book_.execute("PRAGMA cache_size = -65536"); // KiB
        book_.execute("CREATE TABLE IF NOT EXISTS people (name TEXT NOT NULL, value BLOB NOT NULL)");
        book_.execute("CREATE INDEX IF NOT EXISTS by_name ON people (name)");
    }

    void insert(const records& entries) override {
        const statement insert(book_, "INSERT INTO people VALUES (?1, ?2)");
        book_.execute("BEGIN IMMEDIATE");
        for (const record& entry : entries) {
            insert.bind_name(entry.name);
            insert.bind_value(entry.value);
            run(insert);
        }
        book_.execute("COMMIT");
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        const statement select(book_, "SELECT name, value FROM people");
        while (select.step())
            checksum += entry_checksum(select.column(0), select.column(1));
        return checksum;
    }

    std::uint64_t look_up(const records& entries, const record_order& order) override {
        std::uint64_t checksum = 0;
        const statement select(book_, "SELECT name, value FROM people WHERE name = ?1 LIMIT 1");
        book_.execute("BEGIN");
        for (const std::uint32_t index : order) {
            select.bind_name(entries[index].name);
            if (select.step())
                checksum += entry_checksum(select.column(0), select.column(1));
            select.reset();
        }
        book_.execute("COMMIT");
        return checksum;
    }

    std::uint64_t remove(const records& entries, const record_order& order) override {
        std::uint64_t removed = 0;
        const statement deletion(book_, "DELETE FROM people WHERE name = ?1 AND value = ?2");
        book_.execute("BEGIN IMMEDIATE");
        for (const std::uint32_t index : order) {
            deletion.bind_name(entries[index].name);
            deletion.bind_value(entries[index].value);
            removed += run(deletion);
        }
        book_.execute("COMMIT");
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries, const record_order& order) override {
        std::uint64_t removed = 0;
        const statement deletion(book_,
                                 "DELETE FROM people WHERE rowid = (SELECT rowid FROM people WHERE name = ?1 LIMIT 1)");
        book_.execute("BEGIN IMMEDIATE");
        for (const std::uint32_t index : order) {
            deletion.bind_name(entries[index].name);
            removed += run(deletion);
        }
        book_.execute("COMMIT");
        return removed;
    }

    std::uint64_t size() override {
        const statement count(book_, "SELECT count(*) FROM people");
        return count.step() ? count.number() : 0;
    }

    void close() override { book_.close(); }

private:
    /// Of a statement that gives no rows. Returns the number of rows it changed.
    std::uint64_t run(const statement& change) const {
        static_cast<void>(change.step());
        change.reset();
        return static_cast<std::uint64_t>(sqlite3_changes(book_.get()));
    }

    database book_;
};

} // namespace

system_kind sqlite_system() {
    const auto open = [](const std::filesystem::path& directory, bool) {
        return std::make_unique<sqlite_store>(directory);
    };
    return {.name = "SQLite WAL", .open = open};
}
