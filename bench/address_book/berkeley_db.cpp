// Berkeley DB's B-tree, with unsorted duplicates, and a cache that holds everything. Once with a sync at a phase's end:
// its fastest durable way, though a crash in the midst of a phase leaves part of it, and perhaps a broken file; and
// once with a transaction for each phase, which gives what the other systems give.
#include "store.hpp"

#include <berkeley_db_library.hpp>

#include <utility>

namespace {

using bench::check_berkeley_db;
using bench::thing;
using bench::view;

class berkeley_db_store final : public store {
public:
    berkeley_db_store(const std::filesystem::path& directory, bool duplicates, bool transactions) {
        if (transactions)
            bench::open_berkeley_db_environment(environment_, directory);
        check_berkeley_db(db_create(&db_, environment_, 0), "db_create");
        if (environment_ == nullptr)
            check_berkeley_db(db_->set_cachesize(db_, 0, bench::k_berkeley_db_cache_bytes, 1), "set_cachesize");
        if (duplicates)
            check_berkeley_db(db_->set_flags(db_, DB_DUP), "set_flags");
        const std::string file = transactions ? "book.db" : (directory / "book.db").string();
        const u_int32_t flags = DB_CREATE | (transactions ? DB_AUTO_COMMIT : 0U);
        check_berkeley_db(db_->open(db_, nullptr, file.c_str(), nullptr, DB_BTREE, flags, 0666), "open");
    }
    ~berkeley_db_store() override {
        if (db_ != nullptr)
            db_->close(db_, DB_NOSYNC);
        if (environment_ != nullptr)
            environment_->close(environment_, 0);
    }

    void insert(const records& entries) override {
        DB_TXN* const transaction = begin();
        for (const record& entry : entries) {
            DBT key = thing(entry.name);
            DBT value = thing(entry.value);
            check_berkeley_db(db_->put(db_, transaction, &key, &value, 0), "put");
        }
        commit(transaction);
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        DBC* const cursor = open_cursor(nullptr);
        DBT key{};
        DBT value{};
        int status = 0;
        while ((status = cursor->get(cursor, &key, &value, DB_NEXT)) == 0)
            checksum += entry_checksum(view(key), view(value));
        if (status != DB_NOTFOUND)
            check_berkeley_db(status, "get");
        check_berkeley_db(cursor->close(cursor), "close");
        return checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        // The name that counts is the stored one, so a cursor: DB->get() does not give the key back.
        std::uint64_t checksum = 0;
        DBC* const cursor = open_cursor(nullptr);
        for (const record& entry : entries) {
            DBT key = thing(entry.name);
            DBT value{};
            check_berkeley_db(cursor->get(cursor, &key, &value, DB_SET), "get");
            checksum += entry_checksum(view(key), view(value));
        }
        check_berkeley_db(cursor->close(cursor), "close");
        return checksum;
    }

    std::uint64_t remove(const records& entries) override { return remove_each(entries, DB_GET_BOTH); }

    std::uint64_t remove_by_name(const records& entries) override { return remove_each(entries, DB_SET); }

    std::uint64_t size() override {
        DBC* const cursor = open_cursor(nullptr);
        DBT key{};
        DBT value{};
        std::uint64_t count = 0;
        while (cursor->get(cursor, &key, &value, DB_NEXT) == 0)
            ++count;
        check_berkeley_db(cursor->close(cursor), "close");
        return count;
    }

    void close() override {
        bench::close_berkeley_db(std::exchange(db_, nullptr), std::exchange(environment_, nullptr));
    }

private:
    /// What `how` finds for each entry: DB_GET_BOTH compares the value too, DB_SET finds the first of the name.
    std::uint64_t remove_each(const records& entries, u_int32_t how) {
        std::uint64_t removed = 0;
        DB_TXN* const transaction = begin();
        DBC* const cursor = open_cursor(transaction);
        for (const record& entry : entries) {
            DBT key = thing(entry.name);
            DBT value = how == DB_GET_BOTH ? thing(entry.value) : DBT{};
            const int status = cursor->get(cursor, &key, &value, how);
            if (status == DB_NOTFOUND)
                continue;
            check_berkeley_db(status, "get");
            check_berkeley_db(cursor->del(cursor, 0), "del");
            ++removed;
        }
        check_berkeley_db(cursor->close(cursor), "close");
        commit(transaction);
        return removed;
    }
    DB_TXN* begin() {
        DB_TXN* transaction = nullptr;
        if (environment_ != nullptr)
            check_berkeley_db(environment_->txn_begin(environment_, nullptr, &transaction, 0), "txn_begin");
        return transaction;
    }
    void commit(DB_TXN* transaction) {
        if (transaction != nullptr)
            check_berkeley_db(transaction->commit(transaction, DB_TXN_SYNC), "commit");
        else
            check_berkeley_db(db_->sync(db_, 0), "sync");
    }
    DBC* open_cursor(DB_TXN* transaction) {
        DBC* cursor = nullptr;
        check_berkeley_db(db_->cursor(db_, transaction, &cursor, 0), "cursor");
        return cursor;
    }

    DB_ENV* environment_ = nullptr;
    DB* db_ = nullptr;
};

} // namespace

system_kind berkeley_db_system() {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) {
        return std::make_unique<berkeley_db_store>(directory, duplicates, false);
    };
    return {.name = "Berkeley DB btree", .open = open};
}

system_kind berkeley_db_transaction_system() {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) {
        return std::make_unique<berkeley_db_store>(directory, duplicates, true);
    };
    return {.name = "Berkeley DB btree, transactions", .open = open};
}
