// LevelDB with a table in memory, and a cache, that hold everything.
#include "log_structured.hpp"

#include <leveldb/cache.h>
#include <leveldb/db.h>

namespace {

class leveldb_library {
public:
    static constexpr const char* k_name = "LevelDB";
    using slice = leveldb::Slice;
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
    void close() { db_.reset(); }

private:
    std::unique_ptr<leveldb::Cache> cache_; // outlives the database
    std::unique_ptr<leveldb::DB> db_;
};

} // namespace

system_kind leveldb_system() { return byte_system<log_structured_bytes<leveldb_library>>("LevelDB"); }
