// RocksDB with its default cache and table in memory (64 MiB), which hold everything, and without compression.
#pragma once

#include "log_structured_cache.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

namespace bench {

class rocksdb_library {
public:
    static constexpr const char* k_name = "RocksDB";
    using slice = rocksdb::Slice;
    using batch = rocksdb::WriteBatch;
    using cursor = rocksdb::Iterator;
    using status = rocksdb::Status;
    using value = rocksdb::PinnableSlice; ///< what MultiGet() gives
    using write_options = rocksdb::WriteOptions;

    explicit rocksdb_library(const std::filesystem::path& directory) {
        rocksdb::Options options;
        options.create_if_missing = true;
        options.write_buffer_size = k_log_structured_cache_bytes;
        options.compression = rocksdb::kNoCompression;
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, directory.string(), &opened));
        db_.reset(opened);
    }
    [[nodiscard]] rocksdb::DB& db() { return *db_; }
    /// What was written without a sync is durable once this returns.
    void sync() { check(db_->SyncWAL()); }
    void close() {
        check(db_->Close());
        db_.reset();
    }

private:
    static void check(const status& done) {
        if (!done.ok())
            throw std::runtime_error("RocksDB: " + done.ToString());
    }

    std::unique_ptr<rocksdb::DB> db_;
};

} // namespace bench
