// SQLite in WAL mode with synchronous=FULL: a table whose primary key is the reservation, prepared statements, a cache that
// holds everything. Its own types, not bytes, and one statement for each question.
#include "store.hpp"

#include <sqlite_library.hpp>

#include <optional>

namespace {

using bench::sqlite_statement;

template <class... Numbers>
void begin(const sqlite_statement& what, Numbers... numbers) {
    what.reset();
    int index = 0;
    (what.bind(++index, static_cast<sqlite3_int64>(numbers)), ...);
}
std::uint32_t number(const sqlite_statement& row, int column) { return static_cast<std::uint32_t>(row.number(column)); }

class sqlite_store final : public store {
public:
    explicit sqlite_store(const std::filesystem::path& directory) {
        all_.emplace(directory / "reservations.sqlite");
        all_->execute(
            "CREATE TABLE IF NOT EXISTS reservations (resource INTEGER, finish INTEGER, start INTEGER, who INTEGER, "
            "PRIMARY KEY (resource, finish, start)) WITHOUT ROWID");
        behind_.emplace(*all_,
                        "SELECT finish, start FROM reservations WHERE resource = ?1 AND finish > ?2 ORDER BY finish");
        insertion_.emplace(*all_, "INSERT INTO reservations VALUES (?1, ?2, ?3, ?4)");
        deletion_.emplace(*all_, "DELETE FROM reservations WHERE resource = ?1 AND finish = ?2 AND start = ?3");
    }

    std::uint64_t reserve(std::span<const request> requests) override {
        std::uint64_t made = 0;
        all_->execute("BEGIN IMMEDIATE");
        for (const auto& [wanted, who] : requests) {
            begin(*behind_, wanted.resource, wanted.start);
            if (behind_->step() && number(*behind_, 1) < wanted.end)
                continue;
            behind_->reset();
            begin(*insertion_, wanted.resource, wanted.end, wanted.start, who);
            made += insertion_->run();
        }
        behind_->reset();
        all_->execute("COMMIT");
        return made;
    }
    std::uint64_t find_free(std::span<const query> queries) override {
        std::uint64_t sum = 0;
        all_->execute("BEGIN");
        for (const query& each : queries) {
            std::uint32_t free = each.from;
            begin(*behind_, each.resource, each.from);
            while (behind_->step() && number(*behind_, 1) < free + each.minutes)
                free = number(*behind_, 0);
            sum += free + each.minutes <= each.until ? free : each.until;
        }
        behind_->reset();
        all_->execute("COMMIT");
        return sum;
    }
    std::uint64_t iterate() override {
        std::uint64_t sum = 0;
        const sqlite_statement select(*all_, "SELECT resource, finish, start, who FROM reservations");
        while (select.step())
            sum += checksum_of({number(select, 0), number(select, 2), number(select, 1)}, number(select, 3));
        return sum;
    }
    std::uint64_t cancel(std::span<const reservation> reservations) override {
        std::uint64_t gone = 0;
        all_->execute("BEGIN IMMEDIATE");
        for (const reservation& each : reservations) {
            begin(*deletion_, each.resource, each.end, each.start);
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
    std::optional<bench::sqlite_database> all_;
    std::optional<sqlite_statement> behind_;
    std::optional<sqlite_statement> insertion_;
    std::optional<sqlite_statement> deletion_;
};

} // namespace

system_kind sqlite_system() {
    return {"SQLite WAL",
            [](const std::filesystem::path& directory) { return std::make_unique<sqlite_store>(directory); }};
}
