#define SQLITE_ENABLE_SESSION
#define SQLITE_ENABLE_PREUPDATE_HOOK

#include "peers.hpp"

#include <harness.hpp>
#include <sqlite_library.hpp>

#include <random>
#include <string>
#include <vector>

namespace bench {

bool has_sqlite_session() { return sqlite3_compileoption_used("ENABLE_SESSION") != 0; }

void measure_sqlite_session(const std::filesystem::path& file, std::uint64_t bytes, std::uint64_t changed,
                            std::uint64_t commits, std::uint64_t undos) {
    const sqlite_database database(file);
    database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, content BLOB)");
    database.execute("CREATE TABLE steps (id INTEGER PRIMARY KEY, changeset BLOB)");
    const std::uint64_t rows = bytes / changed;
    std::mt19937_64 random(1);
    const auto content = [&] {
        std::string made(changed, '\0');
        for (char& each : made)
            each = static_cast<char>(random());
        return made;
    };
    {
        database.execute("BEGIN");
        const sqlite_statement insert(database, "INSERT INTO rows VALUES (?, ?)");
        const std::string same = content();
        for (std::uint64_t i = 0; i < rows; ++i) {
            insert.bind(1, static_cast<sqlite3_int64>(i));
            insert.bind_blob(2, same);
            (void)insert.run();
        }
        database.execute("COMMIT");
    }
    const sqlite_statement update(database, "UPDATE rows SET content = ? WHERE id = ?");
    const sqlite_statement store(database, "INSERT INTO steps VALUES (?, ?)");
    std::vector<std::string> steps;
    std::vector<double> seconds;
    for (std::uint64_t i = 0; i < commits; ++i) {
        const std::string made = content();
        const auto row = static_cast<sqlite3_int64>(random() % rows);
        const stopwatch watch;
        sqlite3_session* session = nullptr;
        database.check(sqlite3session_create(database.get(), "main", &session), "session_create");
        database.check(sqlite3session_attach(session, "rows"), "session_attach");
        database.execute("BEGIN");
        update.bind_blob(1, made);
        update.bind(2, row);
        (void)update.run();
        int length = 0;
        void* changeset = nullptr;
        database.check(sqlite3session_changeset(session, &length, &changeset), "session_changeset");
        steps.emplace_back(static_cast<const char*>(changeset), static_cast<std::size_t>(length));
        store.bind(1, static_cast<sqlite3_int64>(i));
        store.bind_blob(2, steps.back());
        (void)store.run();
        database.execute("COMMIT");
        sqlite3_free(changeset);
        sqlite3session_delete(session);
        seconds.push_back(watch.seconds());
    }
    hand_over({"commit", median(seconds), {{"step_bytes", static_cast<double>(steps.back().size())}}});
    std::vector<double> undone;
    for (std::uint64_t i = 0; i < undos; ++i) {
        std::string& step = steps[commits - 1 - i];
        const stopwatch watch;
        int length = 0;
        void* inverse = nullptr;
        database.check(sqlite3changeset_invert(static_cast<int>(step.size()), step.data(), &length, &inverse),
                       "invert");
        database.check(sqlite3changeset_apply(
                           database.get(), length, inverse, nullptr,
                           [](void*, int, sqlite3_changeset_iter*) { return SQLITE_CHANGESET_ABORT; }, nullptr),
                       "apply");
        sqlite3_free(inverse);
        undone.push_back(watch.seconds());
    }
    hand_over({"undo", median(undone)});
}

} // namespace bench
