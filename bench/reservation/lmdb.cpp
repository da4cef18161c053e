// LMDB with its default, durable settings.
#include "byte_store.hpp"

#include <lmdb_library.hpp>

#include <utility>

namespace {

using bench::check_lmdb;
using bench::thing;
using bench::view;

class lmdb_bytes {
public:
    explicit lmdb_bytes(const std::filesystem::path& directory) : environment_(directory) {
        begin(true);
        end();
    }

    void begin(bool changes) {
        check_lmdb(mdb_txn_begin(environment_.get(), nullptr, changes ? 0 : MDB_RDONLY, &transaction_), "txn_begin");
        check_lmdb(mdb_dbi_open(transaction_, nullptr, 0, &all_), "dbi_open");
        check_lmdb(mdb_cursor_open(transaction_, all_, &cursor_), "cursor_open");
    }
    void end() {
        mdb_cursor_close(std::exchange(cursor_, nullptr));
        check_lmdb(mdb_txn_commit(std::exchange(transaction_, nullptr)), "txn_commit");
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
        check_lmdb(mdb_put(transaction_, all_, &k, &v, 0), "put");
    }
    bool erase(std::string_view key) {
        MDB_val k = thing(key);
        const int status = mdb_del(transaction_, all_, &k, nullptr);
        if (status != MDB_NOTFOUND)
            check_lmdb(status, "del");
        return status == 0;
    }
    void close() { environment_.close(); }

private:
    bool get(MDB_cursor_op how) {
        const int status = mdb_cursor_get(cursor_, &key_, &value_, how);
        if (status != MDB_NOTFOUND)
            check_lmdb(status, "cursor_get");
        return status == 0;
    }

    bench::lmdb_environment environment_;
    MDB_txn* transaction_ = nullptr;
    MDB_cursor* cursor_ = nullptr;
    MDB_dbi all_ = 0;
    MDB_val key_{};
    MDB_val value_{};
};

} // namespace

system_kind lmdb_system() { return byte_system<lmdb_bytes>("LMDB"); }
