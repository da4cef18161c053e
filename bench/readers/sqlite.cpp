// SQLite with a write-ahead log and synchronous=FULL. Its read transactions begin with their first look-up: one in which nothing is
// looked up looks up the first entry.
#include "store.hpp"

#include <sqlite_library.hpp>

#include <optional>

namespace {

class sqlite_store final : public store {
public:
    explicit sqlite_store(const std::filesystem::path& directory) : db_(directory / "numbers.db") {
        db_.execute("CREATE TABLE IF NOT EXISTS numbers(key INTEGER PRIMARY KEY, value INTEGER)");
        ready_.emplace(db_);
    }

    void fill(std::uint64_t entries) override {
        static_cast<void>(ready_->begin.run());
        for (std::uint64_t n = 0; n < entries; ++n) {
            ready_->insert.bind(1, static_cast<sqlite3_int64>(bench::scattered_key(n)));
            static_cast<void>(ready_->insert.run());
        }
        static_cast<void>(ready_->commit.run());
        db_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    void update(std::span<const std::uint64_t> keys) override {
        static_cast<void>(ready_->begin.run());
        for (const std::uint64_t key : keys) {
            ready_->update.bind(1, static_cast<sqlite3_int64>(key));
            if (ready_->update.run() != 1)
                throw std::runtime_error("SQLite did not find a key");
        }
        static_cast<void>(ready_->commit.run());
    }
    std::uint64_t look_up(std::uint64_t key) override {
        const sqlite_row found(ready_->look_up, key);
        return ready_->look_up.number(0);
    }
    void look_at_nothing() override { static_cast<void>(look_up(bench::scattered_key(0))); }
    void begin_reading() override {
        db_.execute("BEGIN");
        look_at_nothing();
    }
    void close() override {
        ready_.reset();
        db_.close();
    }

private:
    struct sqlite_row {
        sqlite_row(const bench::sqlite_statement& statement, std::uint64_t key) : statement_(statement) {
            statement.bind(1, static_cast<sqlite3_int64>(key));
            if (!statement.step())
                throw std::runtime_error("SQLite did not find a key");
        }
        sqlite_row(const sqlite_row&) = delete;
        sqlite_row& operator=(const sqlite_row&) = delete;
        ~sqlite_row() { statement_.reset(); }

    private:
        const bench::sqlite_statement& statement_;
    };
    struct statements {
        explicit statements(const bench::sqlite_database& db)
            : begin(db, "BEGIN IMMEDIATE"),
              commit(db, "COMMIT"),
              insert(db, "INSERT INTO numbers VALUES(?, 0)"),
              update(db, "UPDATE numbers SET value = value + 1 WHERE key = ?"),
              look_up(db, "SELECT value FROM numbers WHERE key = ?") {}
        bench::sqlite_statement begin;
        bench::sqlite_statement commit;
        bench::sqlite_statement insert;
        bench::sqlite_statement update;
        bench::sqlite_statement look_up;
    };

    bench::sqlite_database db_;
    std::optional<statements> ready_;
};

} // namespace

system_kind sqlite_system() {
    return {"SQLite WAL",
            [](const std::filesystem::path& directory) { return std::make_unique<sqlite_store>(directory); }};
}
