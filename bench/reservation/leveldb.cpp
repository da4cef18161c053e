#include "log_structured.hpp"

#include <leveldb_library.hpp>

system_kind leveldb_system() { return byte_system<log_structured_bytes<bench::leveldb_library>>("LevelDB"); }
