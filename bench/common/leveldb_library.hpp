// LevelDB: all of an insertion stays in the table in memory, as with the others' caches, and in the log.
#pragma once

#include "log_structured_cache.hpp"

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

namespace bench {

class leveldb_library {
public:
    static constexpr const char* k_name = "LevelDB";
    using slice = leveldb::Slice;
    using batch = leveldb::WriteBatch;
    using cursor = leveldb::Iterator;
    using status = leveldb::Status;
    using write_options = leveldb::WriteOptions;

    explicit leveldb_library(const std::filesystem::path& directory)
        : cache_(leveldb::NewLRUCache(k_log_structured_cache_bytes)) {
        leveldb::Options options;
        options.create_if_missing = true;
        options.write_buffer_size = k_log_structured_cache_bytes;
        options.block_cache = cache_.get();
        options.compression = leveldb::kNoCompression;
        leveldb::DB* opened = nullptr;
        const status done = leveldb::DB::Open(options, directory.string(), &opened);
        if (!done.ok())
            throw std::runtime_error("LevelDB: " + done.ToString());
        db_.reset(opened);
    }
    [[nodiscard]] leveldb::DB& db() { return *db_; }
    /// What was written without a sync is durable once this returns: it lies before this record in the log.
    void sync() {
        batch nothing;
        write_options options;
        options.sync = true;
        const status done = db_->Write(options, &nothing);
        if (!done.ok())
            throw std::runtime_error("LevelDB: " + done.ToString());
    }
    void close() { db_.reset(); }

private:
    std::unique_ptr<leveldb::Cache> cache_; // outlives the database
    std::unique_ptr<leveldb::DB> db_;
};

} // namespace bench
