// RocksDB, with its default settings but without compression, as the others have none. A batch lies in memory: so it is built in
// batches of 10,000, the last of which is synced.
#include "store.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace {

void check(const rocksdb::Status& status) {
    if (!status.ok())
        throw std::runtime_error("RocksDB: " + status.ToString());
}

/// Big-endian, so that they are in the order of their numbers.
std::array<char, 8> name_of(std::uint64_t key) {
    std::array<char, 8> name{};
    for (std::size_t i = 0; i < name.size(); ++i)
        name[i] = static_cast<char>(key >> (56 - 8 * i));
    return name;
}

rocksdb::Slice bytes_of(const value_words& words) {
    return {reinterpret_cast<const char*>(words.data()), sizeof words};
}

value_words words_of(const rocksdb::Slice& bytes) {
    value_words words{};
    std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
    return words;
}

class rocksdb_store final : public store {
public:
    explicit rocksdb_store(const std::filesystem::path& directory) {
        rocksdb::Options options;
        options.create_if_missing = true;
        options.compression = rocksdb::kNoCompression;
        options.IncreaseParallelism(2);
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, (directory / "entries").string(), &opened));
        db_.reset(opened);
    }

    void build(std::uint64_t entries) override {
        constexpr std::uint64_t k_batch = 10'000;
        for (std::uint64_t first = 0; first < entries; first += k_batch) {
            rocksdb::WriteBatch batch;
            const std::uint64_t end = std::min(entries, first + k_batch);
            for (std::uint64_t key = first; key < end; ++key) {
                const auto name = name_of(key);
                const value_words value = first_value(key);
                check(batch.Put({name.data(), name.size()}, bytes_of(value)));
            }
            rocksdb::WriteOptions how;
            how.sync = end == entries;
            check(db_->Write(how, &batch));
        }
    }
    value_words look_up(std::uint64_t key) override {
        const auto name = name_of(key);
        rocksdb::PinnableSlice value;
        check(db_->Get({}, db_->DefaultColumnFamily(), {name.data(), name.size()}, &value));
        return words_of(value);
    }
    void update(const std::vector<std::uint64_t>& keys) override {
        std::vector<std::pair<std::uint64_t, value_words>> changed;
        for (const std::uint64_t key : keys)
            changed.emplace_back(key, look_up(key));
        std::ranges::sort(changed); // a key that comes twice counts twice
        rocksdb::WriteBatch batch;
        for (std::size_t i = 0; i < changed.size(); ++i) {
            changed[i].second[1] += 1;
            if (i + 1 < changed.size() && changed[i + 1].first == changed[i].first) {
                changed[i + 1].second = changed[i].second;
                continue;
            }
            const auto name = name_of(changed[i].first);
            check(batch.Put({name.data(), name.size()}, bytes_of(changed[i].second)));
        }
        rocksdb::WriteOptions how;
        how.sync = true;
        check(db_->Write(how, &batch));
    }
    totals count() override {
        totals all;
        const std::unique_ptr<rocksdb::Iterator> each(db_->NewIterator({}));
        for (each->SeekToFirst(); each->Valid(); each->Next()) {
            ++all.entries;
            all.updates += words_of(each->value())[1];
        }
        check(each->status());
        return all;
    }
    void close() override {
        check(db_->Close());
        db_.reset();
    }

private:
    std::unique_ptr<rocksdb::DB> db_;
};

} // namespace

system_kind rocksdb_system() {
    return {"RocksDB",
            [](const std::filesystem::path& directory) { return std::make_unique<rocksdb_store>(directory); }};
}
