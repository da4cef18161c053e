// SQLite in WAL mode with synchronous=FULL, with prepared statements and a cache that holds everything.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace bench {

class sqlite_database {
public:
    explicit sqlite_database(const std::filesystem::path& file) {
        if (sqlite3_open(file.c_str(), &handle_) != SQLITE_OK)
            fail("open");
        check(sqlite3_busy_timeout(handle_, k_wait_milliseconds), "busy_timeout"); // other processes may open it, too
        execute("PRAGMA journal_mode = WAL");
        execute("PRAGMA synchronous = FULL");
        execute("PRAGMA cache_size = -65536"); // KiB
    }
    sqlite_database(const sqlite_database&) = delete;
    sqlite_database& operator=(const sqlite_database&) = delete;
    ~sqlite_database() { sqlite3_close_v2(handle_); }

    void check(int status, const char* what) const {
        if (status != SQLITE_OK)
            fail(what);
    }
    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error(std::string("SQLite, ") + what + ": " + sqlite3_errmsg(handle_));
    }
    void execute(const char* text) const { check(sqlite3_exec(handle_, text, nullptr, nullptr, nullptr), text); }
    /// No statement is left.
    void close() { check(sqlite3_close(std::exchange(handle_, nullptr)), "close"); }
    [[nodiscard]] sqlite3* get() const { return handle_; }

private:
    static constexpr int k_wait_milliseconds = 60'000;

    sqlite3* handle_ = nullptr;
};

class sqlite_statement {
public:
    sqlite_statement(const sqlite_database& where, const char* text) : where_(where) {
        where.check(sqlite3_prepare_v3(where.get(), text, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr), text);
    }
    sqlite_statement(const sqlite_statement&) = delete;
    sqlite_statement& operator=(const sqlite_statement&) = delete;
    ~sqlite_statement() { sqlite3_finalize(handle_); }

    void bind(int index, sqlite3_int64 number) const {
        where_.check(sqlite3_bind_int64(handle_, index, number), "bind");
    }
    /// The bytes stay where they are until the statement is reset.
    void bind_text(int index, std::string_view text) const {
        where_.check(sqlite3_bind_text(handle_, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC),
                     "bind");
    }
    void bind_blob(int index, std::string_view bytes) const {
        where_.check(sqlite3_bind_blob(handle_, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC),
                     "bind");
    }
    /// True when there is a row.
    [[nodiscard]] bool step() const {
        const int status = sqlite3_step(handle_);
        if (status != SQLITE_ROW && status != SQLITE_DONE)
            where_.fail("step");
        return status == SQLITE_ROW;
    }
    void reset() const { where_.check(sqlite3_reset(handle_), "reset"); }
    /// Runs what gives no rows. Returns the number of rows it changed.
    [[nodiscard]] std::uint64_t run() const {
        static_cast<void>(step());
        reset();
        return static_cast<std::uint64_t>(sqlite3_changes(where_.get()));
    }
    [[nodiscard]] std::string_view bytes(int column) const {
        const void* const bytes = sqlite3_column_blob(handle_, column);
        return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
    }
    [[nodiscard]] std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(handle_, column));
    }

private:
    const sqlite_database& where_;
    sqlite3_stmt* handle_ = nullptr;
};

} // namespace bench
