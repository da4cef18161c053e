// SQLite in WAL mode with synchronous=FULL: a table with an index on the name, prepared statements, one transaction per
// phase, a cache that holds everything. Iteration is in the order of the rows, which is faster than by name.
#include "store.hpp"

#include <sqlite_library.hpp>

namespace {

class sqlite_store final : public store {
public:
    explicit sqlite_store(const std::filesystem::path& directory) : book_(directory / "book.sqlite") {
        book_.execute("CREATE TABLE IF NOT EXISTS people (name TEXT NOT NULL, value BLOB NOT NULL)");
        book_.execute("CREATE INDEX IF NOT EXISTS by_name ON people (name)");
    }

    void insert(const records& entries) override {
        const bench::sqlite_statement insert(book_, "INSERT INTO people VALUES (?1, ?2)");
        book_.execute("BEGIN IMMEDIATE");
        for (const record& entry : entries) {
            insert.bind_text(1, entry.name);
            insert.bind_blob(2, entry.value);
            static_cast<void>(insert.run());
        }
        book_.execute("COMMIT");
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        const bench::sqlite_statement select(book_, "SELECT name, value FROM people");
        while (select.step())
            checksum += entry_checksum(select.bytes(0), select.bytes(1));
        return checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        std::uint64_t checksum = 0;
        const bench::sqlite_statement select(book_, "SELECT name, value FROM people WHERE name = ?1 LIMIT 1");
        book_.execute("BEGIN");
        for (const record& entry : entries) {
            select.bind_text(1, entry.name);
            if (select.step())
                checksum += entry_checksum(select.bytes(0), select.bytes(1));
            select.reset();
        }
        book_.execute("COMMIT");
        return checksum;
    }

    std::uint64_t remove(const records& entries) override {
        std::uint64_t removed = 0;
        const bench::sqlite_statement deletion(book_, "DELETE FROM people WHERE name = ?1 AND value = ?2");
        book_.execute("BEGIN IMMEDIATE");
        for (const record& entry : entries) {
            deletion.bind_text(1, entry.name);
            deletion.bind_blob(2, entry.value);
            removed += deletion.run();
        }
        book_.execute("COMMIT");
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries) override {
        std::uint64_t removed = 0;
        const bench::sqlite_statement deletion(
            book_, "DELETE FROM people WHERE rowid = (SELECT rowid FROM people WHERE name = ?1 LIMIT 1)");
        book_.execute("BEGIN IMMEDIATE");
        for (const record& entry : entries) {
            deletion.bind_text(1, entry.name);
            removed += deletion.run();
        }
        book_.execute("COMMIT");
        return removed;
    }

    std::uint64_t size() override {
        const bench::sqlite_statement count(book_, "SELECT count(*) FROM people");
        return count.step() ? count.number(0) : 0;
    }

    void close() override { book_.close(); }

private:
    bench::sqlite_database book_;
};

} // namespace

system_kind sqlite_system() {
    const auto open = [](const std::filesystem::path& directory, bool) {
        return std::make_unique<sqlite_store>(directory);
    };
    return {.name = "SQLite WAL", .open = open};
}
