// Berkeley DB with a cache that holds everything.
#pragma once

#include <db.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

inline constexpr u_int32_t k_berkeley_db_cache_bytes = 64U << 20;

inline void check_berkeley_db(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("Berkeley DB, ") + what + ": " + db_strerror(status));
}

inline DBT thing(std::string_view bytes) {
    DBT result{};
    result.data = const_cast<char*>(bytes.data()); // it only reads
    result.size = static_cast<u_int32_t>(bytes.size());
    return result;
}
inline std::string_view view(const DBT& thing) { return {static_cast<const char*>(thing.data), thing.size}; }

/// With transactions, for one process and one thread.
inline void open_berkeley_db_environment(DB_ENV*& environment, const std::filesystem::path& directory) {
    check_berkeley_db(db_env_create(&environment, 0), "db_env_create");
    check_berkeley_db(environment->set_cachesize(environment, 0, k_berkeley_db_cache_bytes, 1), "set_cachesize");
    check_berkeley_db(environment->set_lg_bsize(environment, 4U << 20), "set_lg_bsize");
    check_berkeley_db(environment->set_lg_max(environment, 256U << 20), "set_lg_max");
    const u_int32_t flags = DB_CREATE | DB_PRIVATE | DB_INIT_MPOOL | DB_INIT_LOG | DB_INIT_TXN;
    check_berkeley_db(environment->open(environment, directory.c_str(), flags, 0666), "open");
}

/// Both closed, and what was written by transactions is in the file.
inline void close_berkeley_db(DB* db, DB_ENV* environment) {
    check_berkeley_db(db->close(db, 0), "close");
    if (environment == nullptr)
        return;
    check_berkeley_db(environment->txn_checkpoint(environment, 0, 0, 0), "txn_checkpoint");
    check_berkeley_db(environment->close(environment, 0), "close");
}

} // namespace bench
