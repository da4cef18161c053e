#include "log_structured.hpp"

#include <rocksdb_library.hpp>

system_kind rocksdb_system() { return byte_system<log_structured_bytes<bench::rocksdb_library>>("RocksDB"); }
