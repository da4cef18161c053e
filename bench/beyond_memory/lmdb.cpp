// LMDB, with integer keys and its durable settings; built in one transaction.
#include "store.hpp"

#include <lmdb.h>

#include <cstring>
#include <stdexcept>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("LMDB, ") + what + ": " + mdb_strerror(status));
}

constexpr std::size_t k_map_bytes = std::size_t{16} << 30;

template <class T>
MDB_val thing(T& object) {
    return {sizeof object, &object};
}

value_words words_of(const MDB_val& value) {
    value_words words;
    std::memcpy(words.data(), value.mv_data, sizeof words);
    return words;
}

class lmdb_store final : public store {
public:
    explicit lmdb_store(const std::filesystem::path& directory) {
        check(mdb_env_create(&environment_), "env_create");
        check(mdb_env_set_mapsize(environment_, k_map_bytes), "env_set_mapsize");
        check(mdb_env_open(environment_, directory.c_str(), 0, 0666), "env_open");
        within(0, [&](MDB_txn* transaction) {
            check(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &entries_), "dbi_open");
        });
    }
    ~lmdb_store() override { close(); }

    void build(std::uint64_t entries) override {
        within(0, [&](MDB_txn* transaction) {
            for (std::uint64_t key = 0; key < entries; ++key)
                put(transaction, key, first_value(key), MDB_APPEND);
        });
    }
    value_words look_up(std::uint64_t key) override {
        value_words found{};
        within(MDB_RDONLY, [&](MDB_txn* transaction) { found = get(transaction, key); });
        return found;
    }
    void update(const std::vector<std::uint64_t>& keys) override {
        within(0, [&](MDB_txn* transaction) {
            for (const std::uint64_t key : keys) {
                value_words value = get(transaction, key);
                ++value[1];
                put(transaction, key, value, 0);
            }
        });
    }
    totals count() override {
        totals all;
        within(MDB_RDONLY, [&](MDB_txn* transaction) {
            MDB_cursor* cursor = nullptr;
            check(mdb_cursor_open(transaction, entries_, &cursor), "cursor_open");
            MDB_val key{};
            MDB_val value{};
            while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
                ++all.entries;
                all.updates += words_of(value)[1];
            }
            mdb_cursor_close(cursor);
        });
        return all;
    }
    void close() override {
        if (environment_ != nullptr)
            mdb_env_close(environment_);
        environment_ = nullptr;
    }

private:
    template <class F>
    void within(unsigned flags, F&& work) {
        MDB_txn* transaction = nullptr;
        check(mdb_txn_begin(environment_, nullptr, flags, &transaction), "txn_begin");
        work(transaction);
        check(mdb_txn_commit(transaction), "txn_commit");
    }
    value_words get(MDB_txn* transaction, std::uint64_t key) {
        MDB_val name = thing(key);
        MDB_val value{};
        check(mdb_get(transaction, entries_, &name, &value), "get");
        return words_of(value);
    }
    void put(MDB_txn* transaction, std::uint64_t key, value_words words, unsigned flags) {
        MDB_val name = thing(key);
        MDB_val value = thing(words);
        check(mdb_put(transaction, entries_, &name, &value, flags), "put");
    }

    MDB_env* environment_ = nullptr;
    MDB_dbi entries_ = 0;
};

} // namespace

system_kind lmdb_system() {
    return {"LMDB", [](const std::filesystem::path& directory) { return std::make_unique<lmdb_store>(directory); }};
}
