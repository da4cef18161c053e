// LMDB with its default, durable settings.
#include "byte_store.hpp"

#include <lmdb.h>

#include <stdexcept>
#include <utility>

namespace {

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("LMDB, ") + what + ": " + mdb_strerror(status));
}

MDB_val thing(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; } // it only reads
std::string_view view(const MDB_val& thing) { return {static_cast<const char*>(thing.mv_data), thing.mv_size}; }

class lmdb_bytes {
public:
    explicit lmdb_bytes(const std::filesystem::path& directory) {
        constexpr std::size_t k_map_bytes = std::size_t{1} << 30;
        check(mdb_env_create(&environment_), "env_create");
        check(mdb_env_set_mapsize(environment_, k_map_bytes), "env_set_mapsize");
        check(mdb_env_open(environment_, directory.c_str(), 0, 0666), "env_open");
        begin(true);
        end();
    }
    lmdb_bytes(const lmdb_bytes&) = delete;
    lmdb_bytes& operator=(const lmdb_bytes&) = delete;
    ~lmdb_bytes() { close(); }

    void begin(bool changes) {
        check(mdb_txn_begin(environment_, nullptr, changes ? 0 : MDB_RDONLY, &transaction_), "txn_begin");
        check(mdb_dbi_open(transaction_, nullptr, 0, &all_), "dbi_open");
        check(mdb_cursor_open(transaction_, all_, &cursor_), "cursor_open");
    }
    void end() {
        mdb_cursor_close(std::exchange(cursor_, nullptr));
        check(mdb_txn_commit(std::exchange(transaction_, nullptr)), "txn_commit");
    }
    bool seek(std::string_view key) {
        key_ = thing(key);
        return get(MDB_SET_RANGE);
    }
    bool seek_first() { return get(MDB_FIRST); }
    bool next() { return get(MDB_NEXT); }
    [[nodiscard]] std::string_view key() const { return view(key_); }
    [[nodiscard]] std::string_view value() const { return view(value_); }
    void put(std::string_view key, std::string_view value) {
        MDB_val k = thing(key);
        MDB_val v = thing(value);
        check(mdb_put(transaction_, all_, &k, &v, 0), "put");
    }
    bool erase(std::string_view key) {
        MDB_val k = thing(key);
        const int status = mdb_del(transaction_, all_, &k, nullptr);
        if (status != MDB_NOTFOUND)
            check(status, "del");
        return status == 0;
    }
    void close() {
        if (environment_ != nullptr)
            mdb_env_close(std::exchange(environment_, nullptr));
    }

private:
    bool get(MDB_cursor_op how) {
        const int status = mdb_cursor_get(cursor_, &key_, &value_, how);
        if (status != MDB_NOTFOUND)
            check(status, "cursor_get");
        return status == 0;
    }

    MDB_env* environment_ = nullptr;
    MDB_txn* transaction_ = nullptr;
    MDB_cursor* cursor_ = nullptr;
    MDB_dbi all_ = 0;
    MDB_val key_{};
    MDB_val value_{};
};

} // namespace

system_kind lmdb_system() { return byte_system<lmdb_bytes>("LMDB"); }
