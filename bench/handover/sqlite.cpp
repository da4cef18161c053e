// SQLite with a write-ahead log and synchronous=FULL, or, lazy, NORMAL, which syncs at checkpoints only.
#include "store.hpp"

#include <sqlite_library.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace {

class sqlite_store final : public store {
public:
    sqlite_store(const std::filesystem::path& directory, bool is_durable)
        : db_(directory / "record.db"),
          made_(db_, is_durable),
          get_(db_, "SELECT bytes FROM records WHERE id = 1"),
          put_(db_, "REPLACE INTO records VALUES (1, ?)"),
          begin_(db_, "BEGIN IMMEDIATE"),
          commit_(db_, "COMMIT") {}
    void change() override {
        static_cast<void>(begin_.run());
        record now = look();
        add_one(now);
        put_.bind_blob(1, {reinterpret_cast<const char*>(now.data()), now.size()});
        static_cast<void>(put_.run());
        static_cast<void>(commit_.run());
    }
    record look() override {
        record found{};
        if (get_.step()) {
            const std::string_view bytes = get_.bytes(0);
            std::memcpy(found.data(), bytes.data(), std::min(bytes.size(), found.size()));
        }
        get_.reset();
        return found;
    }

private:
    struct table {
        table(const bench::sqlite_database& in, bool is_durable) {
            in.execute("CREATE TABLE IF NOT EXISTS records(id INTEGER PRIMARY KEY, bytes BLOB)");
            if (!is_durable)
                in.execute("PRAGMA synchronous = NORMAL");
        }
    };
    bench::sqlite_database db_;
    table made_;
    bench::sqlite_statement get_, put_, begin_, commit_;
};

} // namespace

system_kind sqlite_system() {
    return {"SQLite", [](const std::filesystem::path& directory, bool is_durable) {
                return std::make_unique<sqlite_store>(directory, is_durable);
            }};
}
