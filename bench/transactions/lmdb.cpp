// LMDB, with integer keys: its default, durable settings, or MDB_NOSYNC. It has one writer at a time, whose commit waits
// for the device.
#include "store.hpp"

#include <lmdb.h>

#include <stdexcept>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("LMDB, ") + what + ": " + mdb_strerror(status));
}

constexpr std::size_t k_map_bytes = std::size_t{8} << 30;

MDB_val thing(std::uint64_t& number) { return {sizeof number, &number}; }

class lmdb_store final : public store {
public:
    explicit lmdb_store(const settings& chosen) : chosen_(chosen) {
        check(mdb_env_create(&environment_), "env_create");
        check(mdb_env_set_mapsize(environment_, k_map_bytes), "env_set_mapsize");
        const unsigned flags = chosen.durability == level::lazy ? MDB_NOSYNC : 0U;
        check(mdb_env_open(environment_, chosen.directory.c_str(), flags, 0666), "env_open");
        write([&](MDB_txn* transaction) {
            check(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &numbers_), "dbi_open");
        });
    }
    ~lmdb_store() override {
        if (environment_ != nullptr)
            mdb_env_close(environment_);
    }

    void fill() override {
        write([&](MDB_txn* transaction) {
            for (std::uint64_t n = 0; n < chosen_.entries; ++n)
                put(transaction, chosen_.key(n), k_initial);
        });
        check(mdb_env_sync(environment_, 1), "env_sync");
    }
    void update(unsigned /*thread*/, const keys& which) override {
        write([&](MDB_txn* transaction) {
            for (const std::uint64_t n : which) {
                std::uint64_t key = chosen_.key(n);
                MDB_val name = thing(key);
                MDB_val value{};
                check(mdb_get(transaction, numbers_, &name, &value), "get");
                put(transaction, key, *static_cast<std::uint64_t*>(value.mv_data) + 1);
            }
        });
    }
    std::uint64_t sum() override {
        std::uint64_t all = 0;
        MDB_txn* transaction = nullptr;
        check(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction), "txn_begin");
        MDB_cursor* cursor = nullptr;
        check(mdb_cursor_open(transaction, numbers_, &cursor), "cursor_open");
        MDB_val key{};
        MDB_val value{};
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
            all += *static_cast<std::uint64_t*>(value.mv_data);
        mdb_cursor_close(cursor);
        mdb_txn_abort(transaction);
        return all;
    }
    void close() override {
        mdb_env_close(environment_);
        environment_ = nullptr;
    }

private:
    template <class F>
    void write(F&& change) {
        MDB_txn* transaction = nullptr;
        check(mdb_txn_begin(environment_, nullptr, 0, &transaction), "txn_begin");
        change(transaction);
        check(mdb_txn_commit(transaction), "txn_commit");
    }
    void put(MDB_txn* transaction, std::uint64_t key, std::uint64_t number) {
        MDB_val name = thing(key);
        MDB_val value = thing(number);
        check(mdb_put(transaction, numbers_, &name, &value, 0), "put");
    }

    settings chosen_;
    MDB_env* environment_ = nullptr;
    MDB_dbi numbers_ = 0;
};

} // namespace

system_kind lmdb_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<lmdb_store>(chosen); };
    return {.name = "LMDB", .open = open, .family = "LMDB"};
}
