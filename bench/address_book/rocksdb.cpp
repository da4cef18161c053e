#include "log_structured.hpp"

#include <rocksdb_library.hpp>

system_kind rocksdb_system() {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) {
        return std::make_unique<log_structured_store<bench::rocksdb_library>>(directory, duplicates);
    };
    return {.name = "RocksDB", .open = open};
}
