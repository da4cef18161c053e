#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "txn/engine_options.hpp"
#include "view/memory_view.hpp"

#include <cstdint>

namespace remanence::txn {

/// A version_mapper (parts.hpp).
result<std::uint64_t> map_version(os::file_system& files, store::heap_file& store, view::memory_view& view,
                                  const engine_options& options);

} // namespace remanence::txn
