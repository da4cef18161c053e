// SQLite in WAL mode with synchronous=FULL: a table whose primary key is the reservation, prepared statements, a cache that
// holds everything. Its own types, not bytes, and one statement for each question.
#include "store.hpp"

#include <sqlite3.h>

#include <optional>
#include <stdexcept>

namespace {

class database {
public:
    explicit database(const std::filesystem::path& file) {
        if (sqlite3_open(file.c_str(), &handle_) != SQLITE_OK)
            fail("open");
        execute("PRAGMA journal_mode = WAL");
        execute("PRAGMA synchronous = FULL");
        execute("PRAGMA cache_size = -65536"); // KiB
        execute(
            "CREATE TABLE IF NOT EXISTS reservations (resource INTEGER, finish INTEGER, start INTEGER, who INTEGER, "
            "PRIMARY KEY (resource, finish, start)) WITHOUT ROWID");
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

    template <class... Numbers>
    void begin(Numbers... numbers) const {
        where_.check(sqlite3_reset(handle_), "reset");
        int index = 0;
        (where_.check(sqlite3_bind_int64(handle_, ++index, static_cast<sqlite3_int64>(numbers)), "bind"), ...);
    }
    /// True when there is a row.
    [[nodiscard]] bool step() const {
        const int status = sqlite3_step(handle_);
        if (status != SQLITE_ROW && status != SQLITE_DONE)
            where_.fail("step");
        return status == SQLITE_ROW;
    }
    [[nodiscard]] std::uint32_t number(int column) const {
        return static_cast<std::uint32_t>(sqlite3_column_int64(handle_, column));
    }
    /// Runs what gives no rows; how many it changed.
    [[nodiscard]] std::uint64_t run() const {
        static_cast<void>(step());
        where_.check(sqlite3_reset(handle_), "reset");
        return static_cast<std::uint64_t>(sqlite3_changes(where_.get()));
    }
    void end() const { where_.check(sqlite3_reset(handle_), "reset"); }

private:
    const database& where_;
    sqlite3_stmt* handle_ = nullptr;
};

class sqlite_store final : public store {
public:
    explicit sqlite_store(const std::filesystem::path& directory) {
        all_.emplace(directory / "reservations.sqlite");
        behind_.emplace(*all_,
                        "SELECT finish, start FROM reservations WHERE resource = ?1 AND finish > ?2 ORDER BY finish");
        insertion_.emplace(*all_, "INSERT INTO reservations VALUES (?1, ?2, ?3, ?4)");
        deletion_.emplace(*all_, "DELETE FROM reservations WHERE resource = ?1 AND finish = ?2 AND start = ?3");
    }

    std::uint64_t reserve(std::span<const request> requests) override {
        std::uint64_t made = 0;
        all_->execute("BEGIN IMMEDIATE");
        for (const auto& [wanted, who] : requests) {
            behind_->begin(wanted.resource, wanted.start);
            if (behind_->step() && behind_->number(1) < wanted.end)
                continue;
            behind_->end();
            insertion_->begin(wanted.resource, wanted.end, wanted.start, who);
            made += insertion_->run();
        }
        behind_->end();
        all_->execute("COMMIT");
        return made;
    }
    std::uint64_t find_free(std::span<const query> queries) override {
        std::uint64_t sum = 0;
        all_->execute("BEGIN");
        for (const query& each : queries) {
            std::uint32_t free = each.from;
            behind_->begin(each.resource, each.from);
            while (behind_->step() && behind_->number(1) < free + each.minutes)
                free = behind_->number(0);
            sum += free + each.minutes <= each.until ? free : each.until;
        }
        behind_->end();
        all_->execute("COMMIT");
        return sum;
    }
    std::uint64_t iterate() override {
        std::uint64_t sum = 0;
        const statement select(*all_, "SELECT resource, finish, start, who FROM reservations");
        while (select.step())
            sum += checksum_of({select.number(0), select.number(2), select.number(1)}, select.number(3));
        return sum;
    }
    std::uint64_t cancel(std::span<const reservation> reservations) override {
        std::uint64_t gone = 0;
        all_->execute("BEGIN IMMEDIATE");
        for (const reservation& each : reservations) {
            deletion_->begin(each.resource, each.end, each.start);
            gone += deletion_->run();
        }
        all_->execute("COMMIT");
        return gone;
    }
    void close() override {
        behind_.reset();
        insertion_.reset();
        deletion_.reset();
        all_.reset();
    }

private:
    std::optional<database> all_;
    std::optional<statement> behind_;
    std::optional<statement> insertion_;
    std::optional<statement> deletion_;
};

} // namespace

system_kind sqlite_system() {
    return {"SQLite WAL",
            [](const std::filesystem::path& directory) { return std::make_unique<sqlite_store>(directory); }};
}
