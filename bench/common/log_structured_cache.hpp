// What LevelDB and RocksDB may keep in memory: all that these benchmarks put into them.
#pragma once

#include <cstddef>

namespace bench {

constexpr std::size_t k_log_structured_cache_bytes = std::size_t{64} << 20;

} // namespace bench
