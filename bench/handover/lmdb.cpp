// LMDB with its default, durable settings, or with MDB_NOSYNC, which leaves writing to the operating system.
#include "store.hpp"

#include <lmdb.h>

#include <cstring>
#include <stdexcept>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("LMDB, ") + what + ": " + mdb_strerror(status));
}

class lmdb_store final : public store {
public:
    lmdb_store(const std::filesystem::path& directory, bool is_durable) {
        check(mdb_env_create(&environment_), "env_create");
        check(mdb_env_open(environment_, directory.c_str(), is_durable ? 0 : MDB_NOSYNC, 0666), "env_open");
        within(0, [&](MDB_txn* transaction) { check(mdb_dbi_open(transaction, nullptr, 0, &records_), "dbi_open"); });
    }
    ~lmdb_store() override { mdb_env_close(environment_); }
    void change() override {
        within(0, [&](MDB_txn* transaction) {
            record now = get(transaction);
            add_one(now);
            MDB_val key = name();
            MDB_val value{now.size(), now.data()};
            check(mdb_put(transaction, records_, &key, &value, 0), "put");
        });
    }
    record look() override {
        record found{};
        within(MDB_RDONLY, [&](MDB_txn* transaction) { found = get(transaction); });
        return found;
    }

private:
    static MDB_val name() {
        static char text[] = "record";
        return {sizeof text, text};
    }
    template <class F>
    void within(unsigned flags, const F& work) {
        MDB_txn* transaction = nullptr;
        check(mdb_txn_begin(environment_, nullptr, flags, &transaction), "txn_begin");
        work(transaction);
        check(mdb_txn_commit(transaction), "txn_commit");
    }
    record get(MDB_txn* transaction) {
        MDB_val key = name();
        MDB_val value{};
        const int status = mdb_get(transaction, records_, &key, &value);
        record found{};
        if (status == MDB_NOTFOUND)
            return found;
        check(status, "get");
        std::memcpy(found.data(), value.mv_data, found.size());
        return found;
    }

    MDB_env* environment_ = nullptr;
    MDB_dbi records_ = 0;
};

} // namespace

system_kind lmdb_system() {
    return {"LMDB", [](const std::filesystem::path& directory, bool is_durable) {
                return std::make_unique<lmdb_store>(directory, is_durable);
            }};
}
