// LMDB with one transaction from point to point, whose end is synced, or not (MDB_NOSYNC: it outlives the process). The numbers of
// use are in a table of their own, so that they do not cost a copy of the values.
#include "store.hpp"

#include <lmdb_library.hpp>

namespace {

using bench::check_lmdb;
using bench::thing;

class lmdb_store final : public store {
public:
    lmdb_store(const std::filesystem::path& directory, unsigned flags)
        : environment_(directory, flags, std::size_t{8} << 30, 2) {
        begin();
        check_lmdb(mdb_dbi_open(transaction_, "values", MDB_CREATE, &values_), "dbi_open");
        check_lmdb(mdb_dbi_open(transaction_, "uses", MDB_CREATE, &uses_), "dbi_open");
    }
    void get(std::string_view key) override {
        MDB_val name = thing(key);
        MDB_val value{};
        check_lmdb(mdb_get(transaction_, values_, &name, &value), "get");
        check_value(key, bench::view(value));
        note_use(key);
    }
    void set(std::string_view key, std::string_view value) override {
        MDB_val name = thing(key);
        MDB_val bytes = thing(value);
        check_lmdb(mdb_put(transaction_, values_, &name, &bytes, 0), "put");
        note_use(key);
    }
    void point() override {
        check_lmdb(mdb_txn_commit(transaction_), "txn_commit");
        begin();
    }
    void close() override {
        check_lmdb(mdb_txn_commit(transaction_), "txn_commit");
        check_lmdb(mdb_env_sync(environment_.get(), 1), "env_sync");
        environment_.close();
    }

private:
    void begin() { check_lmdb(mdb_txn_begin(environment_.get(), nullptr, 0, &transaction_), "txn_begin"); }
    void note_use(std::string_view key) {
        MDB_val name = thing(key);
        ++use_;
        MDB_val number{sizeof use_, &use_};
        check_lmdb(mdb_put(transaction_, uses_, &name, &number, 0), "put");
    }

    bench::lmdb_environment environment_;
    MDB_txn* transaction_ = nullptr; // ends with the process, if with an exception
    MDB_dbi values_ = 0;
    MDB_dbi uses_ = 0;
    std::uint64_t use_ = 0;
};

system_kind with(const std::string& name, unsigned flags) {
    return {.name = name,
            .open = [=](const std::filesystem::path& in) { return std::make_unique<lmdb_store>(in, flags); }};
}

} // namespace

std::vector<system_kind> lmdb_systems() { return {with("LMDB, synced", 0), with("LMDB, not synced", MDB_NOSYNC)}; }
