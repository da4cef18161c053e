// LMDB with its default, durable settings: one transaction per phase. Duplicates are sorted by value, the only way it
// has, so that the first of a name is the one with the smallest value.
#include "store.hpp"

#include <lmdb_library.hpp>

#include <utility>

namespace {

using bench::check_lmdb;
using bench::thing;
using bench::view;

class transaction {
public:
    transaction(MDB_env* environment, unsigned flags) {
        check_lmdb(mdb_txn_begin(environment, nullptr, flags, &handle_), "txn_begin");
    }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction() {
        if (handle_ != nullptr)
            mdb_txn_abort(handle_);
    }
    void commit() { check_lmdb(mdb_txn_commit(std::exchange(handle_, nullptr)), "txn_commit"); }
    [[nodiscard]] MDB_txn* get() const { return handle_; }

private:
    MDB_txn* handle_ = nullptr;
};

class lmdb_store final : public store {
public:
    lmdb_store(const std::filesystem::path& directory, bool duplicates)
        : environment_(directory), duplicates_(duplicates) {
        transaction creation(environment_.get(), 0);
        check_lmdb(mdb_dbi_open(creation.get(), nullptr, duplicates ? MDB_DUPSORT : 0, &people_), "dbi_open");
        creation.commit();
    }
    void insert(const records& entries) override {
        transaction phase(environment_.get(), 0);
        for (const record& entry : entries) {
            MDB_val key = thing(entry.name);
            MDB_val value = thing(entry.value);
            check_lmdb(mdb_put(phase.get(), people_, &key, &value, 0), "put");
        }
        phase.commit();
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        const transaction phase(environment_.get(), MDB_RDONLY);
        MDB_cursor* cursor = nullptr;
        check_lmdb(mdb_cursor_open(phase.get(), people_, &cursor), "cursor_open");
        MDB_val key{};
        MDB_val value{};
        int status = 0;
        while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
            checksum += entry_checksum(view(key), view(value));
        mdb_cursor_close(cursor);
        if (status != MDB_NOTFOUND)
            check_lmdb(status, "cursor_get");
        return checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        std::uint64_t checksum = 0;
        const transaction phase(environment_.get(), MDB_RDONLY);
        MDB_cursor* cursor = nullptr;
        check_lmdb(mdb_cursor_open(phase.get(), people_, &cursor), "cursor_open");
        for (const record& entry : entries) {
            MDB_val key = thing(entry.name);
            MDB_val value{};
            check_lmdb(mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY), "cursor_get"); // gives the stored key back
            checksum += entry_checksum(view(key), view(value));
        }
        mdb_cursor_close(cursor);
        return checksum;
    }

    std::uint64_t remove(const records& entries) override {
        std::uint64_t removed = 0;
        transaction phase(environment_.get(), 0);
        for (const record& entry : entries) {
            MDB_val key = thing(entry.name);
            MDB_val value = thing(entry.value);
            const int status = mdb_del(phase.get(), people_, &key, duplicates_ ? &value : nullptr);
            if (status == MDB_NOTFOUND)
                continue;
            check_lmdb(status, "del");
            ++removed;
        }
        phase.commit();
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries) override {
        std::uint64_t removed = 0;
        transaction phase(environment_.get(), 0);
        MDB_cursor* cursor = nullptr;
        check_lmdb(mdb_cursor_open(phase.get(), people_, &cursor), "cursor_open");
        for (const record& entry : entries) {
            MDB_val key = thing(entry.name);
            MDB_val value{};
            const int status = mdb_cursor_get(cursor, &key, &value, MDB_SET);
            if (status == MDB_NOTFOUND)
                continue;
            check_lmdb(status, "cursor_get");
            check_lmdb(mdb_cursor_del(cursor, 0), "cursor_del");
            ++removed;
        }
        mdb_cursor_close(cursor);
        phase.commit();
        return removed;
    }

    std::uint64_t size() override {
        const transaction phase(environment_.get(), MDB_RDONLY);
        MDB_stat facts{};
        check_lmdb(mdb_stat(phase.get(), people_, &facts), "stat");
        return facts.ms_entries;
    }

    void close() override { environment_.close(); }

private:
    bench::lmdb_environment environment_;
    MDB_dbi people_ = 0;
    bool duplicates_;
};

} // namespace

system_kind lmdb_system() {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) {
        return std::make_unique<lmdb_store>(directory, duplicates);
    };
    return {.name = "LMDB", .open = open, .finds = first_found::smallest_value};
}
