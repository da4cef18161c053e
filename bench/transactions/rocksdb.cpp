// RocksDB: each transaction is a batch, its log synced or not. Threads that write at once share a sync.
#include "store.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cstring>
#include <stdexcept>

namespace {

void check(const rocksdb::Status& status) {
    if (!status.ok())
        throw std::runtime_error("RocksDB: " + status.ToString());
}

rocksdb::Slice thing(const std::uint64_t& number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }

std::uint64_t number_in(const rocksdb::Slice& bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

class rocksdb_store final : public store {
public:
    explicit rocksdb_store(const settings& chosen) : chosen_(chosen) {
        rocksdb::Options options;
        options.create_if_missing = true;
        options.IncreaseParallelism(2);
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, (chosen.directory / "numbers").string(), &opened));
        db_.reset(opened);
        write_.sync = chosen.durability == level::durable;
    }

    void fill() override {
        constexpr std::uint64_t k_batch = 10'000;
        for (std::uint64_t first = 0; first < chosen_.entries; first += k_batch) {
            rocksdb::WriteBatch batch;
            for (std::uint64_t n = first; n < std::min(first + k_batch, chosen_.entries); ++n) {
                const std::uint64_t key = chosen_.key(n);
                check(batch.Put(thing(key), thing(k_initial)));
            }
            check(db_->Write({}, &batch));
        }
        check(db_->Flush({}));
        check(db_->CompactRange({}, nullptr, nullptr));
    }
    void update(unsigned /*thread*/, const keys& which) override {
        rocksdb::WriteBatch batch;
        rocksdb::PinnableSlice value;
        for (const std::uint64_t n : which) {
            const std::uint64_t key = chosen_.key(n);
            check(db_->Get({}, db_->DefaultColumnFamily(), thing(key), &value));
            const std::uint64_t next = number_in(value) + 1;
            check(batch.Put(thing(key), thing(next)));
            value.Reset();
        }
        check(db_->Write(write_, &batch));
    }
    std::uint64_t sum() override {
        std::uint64_t all = 0;
        const std::unique_ptr<rocksdb::Iterator> each(db_->NewIterator({}));
        for (each->SeekToFirst(); each->Valid(); each->Next())
            all += number_in(each->value());
        check(each->status());
        return all;
    }
    void close() override {
        check(db_->Close());
        db_.reset();
    }

private:
    settings chosen_;
    std::unique_ptr<rocksdb::DB> db_;
    rocksdb::WriteOptions write_;
};

} // namespace

system_kind rocksdb_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<rocksdb_store>(chosen); };
    return {.name = "RocksDB", .open = open, .family = "RocksDB"};
}
