// LMDB with its default, durable settings, unless told otherwise.
#pragma once

#include <lmdb.h>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace bench {

inline void check_lmdb(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("LMDB, ") + what + ": " + mdb_strerror(status));
}

inline MDB_val thing(std::string_view bytes) {
    return {bytes.size(), const_cast<char*>(bytes.data())};
} // it only reads
inline std::string_view view(const MDB_val& thing) { return {static_cast<const char*>(thing.mv_data), thing.mv_size}; }

class lmdb_environment {
public:
    explicit lmdb_environment(const std::filesystem::path& directory, unsigned flags = 0,
                              std::size_t map_bytes = std::size_t{1} << 30, unsigned named_tables = 0) {
        check_lmdb(mdb_env_create(&handle_), "env_create");
        check_lmdb(mdb_env_set_mapsize(handle_, map_bytes), "env_set_mapsize");
        check_lmdb(mdb_env_set_maxdbs(handle_, named_tables), "env_set_maxdbs");
        check_lmdb(mdb_env_open(handle_, directory.c_str(), flags, 0666), "env_open");
    }
    lmdb_environment(const lmdb_environment&) = delete;
    lmdb_environment& operator=(const lmdb_environment&) = delete;
    ~lmdb_environment() { close(); }
    void close() {
        if (handle_ != nullptr)
            mdb_env_close(std::exchange(handle_, nullptr));
    }
    [[nodiscard]] MDB_env* get() const { return handle_; }

private:
    MDB_env* handle_ = nullptr;
};

} // namespace bench
