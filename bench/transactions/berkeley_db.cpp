// Berkeley DB's B-tree with transactions, and a cache that holds everything. Its log is synced by each commit, or, lazy,
// written without a sync. It locks pages, so that threads may meet in a deadlock: then one of them begins anew.
#include "store.hpp"

#include <db.h>

#include <stdexcept>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("Berkeley DB, ") + what + ": " + db_strerror(status));
}

constexpr u_int32_t k_cache_bytes = 1U << 30;

DBT thing(std::uint64_t& number) {
    DBT result{};
    result.data = &number;
    result.size = result.ulen = sizeof number;
    result.flags = DB_DBT_USERMEM;
    return result;
}

class berkeley_db_store final : public store {
public:
    explicit berkeley_db_store(const settings& chosen) : chosen_(chosen) {
        check(db_env_create(&environment_, 0), "db_env_create");
        check(environment_->set_cachesize(environment_, 0, k_cache_bytes, 1), "set_cachesize");
        check(environment_->set_lk_detect(environment_, DB_LOCK_DEFAULT), "set_lk_detect");
        check(environment_->log_set_config(environment_, DB_LOG_AUTO_REMOVE, 1), "log_set_config");
        if (chosen.durability == level::lazy)
            check(environment_->set_flags(environment_, DB_TXN_WRITE_NOSYNC, 1), "set_flags");
        const u_int32_t flags =
            DB_CREATE | DB_INIT_TXN | DB_INIT_LOG | DB_INIT_LOCK | DB_INIT_MPOOL | DB_RECOVER | DB_PRIVATE | DB_THREAD;
        check(environment_->open(environment_, chosen.directory.c_str(), flags, 0666), "environment's open");
        check(db_create(&db_, environment_, 0), "db_create");
        check(db_->open(db_, nullptr, "numbers.db", nullptr, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT | DB_THREAD, 0666),
              "open");
    }
    ~berkeley_db_store() override {
        if (db_ != nullptr)
            db_->close(db_, 0);
        if (environment_ != nullptr)
            environment_->close(environment_, 0);
    }

    void fill() override {
        constexpr std::uint64_t k_batch = 10'000; // locks and log of one transaction stay small
        for (std::uint64_t first = 0; first < chosen_.entries; first += k_batch) {
            DB_TXN* transaction = begin();
            for (std::uint64_t n = first; n < std::min(first + k_batch, chosen_.entries); ++n)
                check(put(transaction, chosen_.key(n), k_initial), "put");
            check(transaction->commit(transaction, DB_TXN_NOSYNC), "commit");
        }
        check(environment_->txn_checkpoint(environment_, 0, 0, DB_FORCE), "txn_checkpoint");
    }
    void update(unsigned /*thread*/, const keys& which) override {
        for (;;) {
            DB_TXN* transaction = begin();
            int status = 0;
            for (const std::uint64_t n : which) {
                std::uint64_t key = chosen_.key(n);
                std::uint64_t number = 0;
                DBT name = thing(key);
                DBT value = thing(number);
                status = db_->get(db_, transaction, &name, &value, DB_RMW);
                if (status == 0)
                    status = put(transaction, key, number + 1);
                if (status != 0)
                    break;
            }
            if (status == 0) {
                check(transaction->commit(transaction, 0), "commit");
                return;
            }
            check(transaction->abort(transaction), "abort");
            if (status != DB_LOCK_DEADLOCK)
                check(status, "update");
        }
    }
    std::uint64_t sum() override {
        std::uint64_t all = 0;
        DBC* cursor = nullptr;
        check(db_->cursor(db_, nullptr, &cursor, 0), "cursor");
        std::uint64_t key = 0;
        std::uint64_t number = 0;
        DBT name = thing(key);
        DBT value = thing(number);
        while (cursor->get(cursor, &name, &value, DB_NEXT) == 0)
            all += number;
        check(cursor->close(cursor), "cursor's close");
        return all;
    }
    void close() override {
        check(db_->close(db_, 0), "close");
        db_ = nullptr;
        check(environment_->close(environment_, 0), "environment's close");
        environment_ = nullptr;
    }

private:
    DB_TXN* begin() {
        DB_TXN* transaction = nullptr;
        check(environment_->txn_begin(environment_, nullptr, &transaction, 0), "txn_begin");
        return transaction;
    }
    int put(DB_TXN* transaction, std::uint64_t key, std::uint64_t number) {
        DBT name = thing(key);
        DBT value = thing(number);
        return db_->put(db_, transaction, &name, &value, 0);
    }

    settings chosen_;
    DB_ENV* environment_ = nullptr;
    DB* db_ = nullptr;
};

} // namespace

system_kind berkeley_db_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<berkeley_db_store>(chosen); };
    return {.name = "Berkeley DB", .open = open, .family = "Berkeley DB"};
}
