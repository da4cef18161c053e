// LMDB, with integer keys and its default, durable settings. A reader keeps its transaction and renews it, as its manual advises.
#include "store.hpp"

#include <lmdb.h>

#include <stdexcept>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("LMDB, ") + what + ": " + mdb_strerror(status));
}

constexpr std::size_t k_map_bytes = std::size_t{8} << 30;
constexpr unsigned k_readers = 2'000;

MDB_val thing(std::uint64_t& number) { return {sizeof number, &number}; }

class lmdb_store final : public store {
public:
    explicit lmdb_store(const std::filesystem::path& directory) {
        check(mdb_env_create(&environment_), "env_create");
        check(mdb_env_set_mapsize(environment_, k_map_bytes), "env_set_mapsize");
        check(mdb_env_set_maxreaders(environment_, k_readers), "env_set_maxreaders");
        check(mdb_env_open(environment_, directory.c_str(), 0, 0666), "env_open");
        within([&](MDB_txn* transaction) {
            check(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &numbers_), "dbi_open");
        });
        check(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reading_), "txn_begin");
        mdb_txn_reset(reading_);
    }
    ~lmdb_store() override { close(); }

    void fill(std::uint64_t entries) override {
        within([&](MDB_txn* transaction) {
            for (std::uint64_t n = 0; n < entries; ++n)
                put(transaction, bench::scattered_key(n), 0);
        });
    }
    void update(std::span<const std::uint64_t> keys) override {
        within([&](MDB_txn* transaction) {
            for (const std::uint64_t key : keys)
                put(transaction, key, get(transaction, key) + 1);
        });
    }
    std::uint64_t look_up(std::uint64_t key) override {
        begin_reading();
        const std::uint64_t found = get(reading_, key);
        mdb_txn_reset(reading_);
        return found;
    }
    void look_at_nothing() override {
        begin_reading();
        mdb_txn_reset(reading_);
    }
    void begin_reading() override { check(mdb_txn_renew(reading_), "txn_renew"); }
    void close() override {
        if (environment_ == nullptr)
            return;
        mdb_txn_abort(reading_);
        mdb_env_close(environment_);
        environment_ = nullptr;
    }

private:
    template <class F>
    void within(F&& change) {
        MDB_txn* transaction = nullptr;
        check(mdb_txn_begin(environment_, nullptr, 0, &transaction), "txn_begin");
        change(transaction);
        check(mdb_txn_commit(transaction), "txn_commit");
    }
    std::uint64_t get(MDB_txn* transaction, std::uint64_t key) {
        MDB_val name = thing(key);
        MDB_val value{};
        check(mdb_get(transaction, numbers_, &name, &value), "get");
        return *static_cast<const std::uint64_t*>(value.mv_data);
    }
    void put(MDB_txn* transaction, std::uint64_t key, std::uint64_t number) {
        MDB_val name = thing(key);
        MDB_val value = thing(number);
        check(mdb_put(transaction, numbers_, &name, &value, 0), "put");
    }

    MDB_env* environment_ = nullptr;
    MDB_dbi numbers_ = 0;
    MDB_txn* reading_ = nullptr;
};

} // namespace

system_kind lmdb_system() {
    return {"LMDB", [](const std::filesystem::path& directory) { return std::make_unique<lmdb_store>(directory); }};
}
