// Berkeley DB's B-tree, with transactions and a cache that holds everything.
#include "byte_store.hpp"

#include <db.h>

#include <stdexcept>
#include <utility>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("Berkeley DB, ") + what + ": " + db_strerror(status));
}

DBT thing(std::string_view bytes) {
    DBT result{};
    result.data = const_cast<char*>(bytes.data()); // it only reads
    result.size = static_cast<u_int32_t>(bytes.size());
    return result;
}
std::string_view view(const DBT& thing) { return {static_cast<const char*>(thing.data), thing.size}; }

class berkeley_db_bytes {
public:
    explicit berkeley_db_bytes(const std::filesystem::path& directory) {
        check(db_env_create(&environment_, 0), "db_env_create");
        check(environment_->set_cachesize(environment_, 0, 64U << 20, 1), "set_cachesize");
        check(environment_->set_lg_bsize(environment_, 4U << 20), "set_lg_bsize");
        check(environment_->set_lg_max(environment_, 256U << 20), "set_lg_max");
        const u_int32_t flags = DB_CREATE | DB_PRIVATE | DB_INIT_MPOOL | DB_INIT_LOG | DB_INIT_TXN;
        check(environment_->open(environment_, directory.c_str(), flags, 0666), "open");
        check(db_create(&db_, environment_, 0), "db_create");
        check(db_->open(db_, nullptr, "reservations.db", nullptr, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT, 0666), "open");
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
            check(environment_->txn_begin(environment_, nullptr, &transaction_, 0), "txn_begin");
        check(db_->cursor(db_, transaction_, &cursor_, 0), "cursor");
    }
    void end() {
        DBC* const cursor = std::exchange(cursor_, nullptr);
        check(cursor->close(cursor), "close");
        if (DB_TXN* const transaction = std::exchange(transaction_, nullptr))
            check(transaction->commit(transaction, DB_TXN_SYNC), "commit");
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
        check(cursor_->put(cursor_, &k, &v, DB_KEYFIRST), "put");
    }
    bool erase(std::string_view key) {
        key_ = thing(key);
        if (!get(DB_SET))
            return false;
        check(cursor_->del(cursor_, 0), "del");
        return true;
    }
    void close() {
        DB* const db = std::exchange(db_, nullptr);
        check(db->close(db, 0), "close");
        check(environment_->txn_checkpoint(environment_, 0, 0, 0), "txn_checkpoint");
        DB_ENV* const environment = std::exchange(environment_, nullptr);
        check(environment->close(environment, 0), "close");
    }

private:
    bool get(u_int32_t how) {
        const int status = cursor_->get(cursor_, &key_, &value_, how);
        if (status != DB_NOTFOUND)
            check(status, "get");
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
