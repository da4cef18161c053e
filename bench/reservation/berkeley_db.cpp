// Berkeley DB's B-tree, with transactions and a cache that holds everything.
#include "byte_store.hpp"

#include <berkeley_db_library.hpp>

#include <utility>

namespace {

using bench::check_berkeley_db;
using bench::thing;
using bench::view;

class berkeley_db_bytes {
public:
    explicit berkeley_db_bytes(const std::filesystem::path& directory) {
        bench::open_berkeley_db_environment(environment_, directory);
        check_berkeley_db(db_create(&db_, environment_, 0), "db_create");
        check_berkeley_db(
            db_->open(db_, nullptr, "reservations.db", nullptr, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT, 0666), "open");
    }
    berkeley_db_bytes(const berkeley_db_bytes&) = delete;
    berkeley_db_bytes& operator=(const berkeley_db_bytes&) = delete;
    ~berkeley_db_bytes() {
        if (db_ != nullptr)
            db_->close(db_, 0);
        if (environment_ != nullptr)
            environment_->close(environment_, 0);
    }

    void begin(bool changes) {
        if (changes)
            check_berkeley_db(environment_->txn_begin(environment_, nullptr, &transaction_, 0), "txn_begin");
        check_berkeley_db(db_->cursor(db_, transaction_, &cursor_, 0), "cursor");
    }
    void end() {
        DBC* const cursor = std::exchange(cursor_, nullptr);
        check_berkeley_db(cursor->close(cursor), "close");
        if (DB_TXN* const transaction = std::exchange(transaction_, nullptr))
            check_berkeley_db(transaction->commit(transaction, DB_TXN_SYNC), "commit");
    }
    bool seek(std::string_view key) {
        key_ = thing(key);
        return get(DB_SET_RANGE);
    }
    bool seek_first() { return get(DB_FIRST); }
    bool next() { return get(DB_NEXT); }
    [[nodiscard]] std::string_view key() const { return view(key_); }
    [[nodiscard]] std::string_view value() const { return view(value_); }
    void put(std::string_view key, std::string_view value) {
        DBT k = thing(key);
        DBT v = thing(value);
        check_berkeley_db(cursor_->put(cursor_, &k, &v, DB_KEYFIRST), "put");
    }
    bool erase(std::string_view key) {
        key_ = thing(key);
        if (!get(DB_SET))
            return false;
        check_berkeley_db(cursor_->del(cursor_, 0), "del");
        return true;
    }
    void close() { bench::close_berkeley_db(std::exchange(db_, nullptr), std::exchange(environment_, nullptr)); }

private:
    bool get(u_int32_t how) {
        const int status = cursor_->get(cursor_, &key_, &value_, how);
        if (status != DB_NOTFOUND)
            check_berkeley_db(status, "get");
        return status == 0;
    }

    DB_ENV* environment_ = nullptr;
    DB* db_ = nullptr;
    DB_TXN* transaction_ = nullptr;
    DBC* cursor_ = nullptr;
    DBT key_{};
    DBT value_{};
};

} // namespace

system_kind berkeley_db_system() { return byte_system<berkeley_db_bytes>("Berkeley DB"); }
