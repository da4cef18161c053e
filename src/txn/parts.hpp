// Parts of the engine that a program may lack. Each is an object behind an interface, made by a factory. Code that
// names the option which needs a part refers to its factory, so the linker takes the part. Other programs have a null
// pointer.
#pragma once

#include "base/result.hpp"
#include "txn/thread_caches.hpp"

#include <cstdint>

namespace remanence::os {
class file_system;
}
namespace remanence::store {
class heap_file;
}
namespace remanence::view {
class memory_view;
}

namespace remanence::txn {

struct engine_options;
struct history_part; // undo_manager.hpp
struct sharing_part; // sharing.hpp

/// Brings the memory of an engine that is being opened to engine_options::version. Returns the number of the version.
/// errc::no_step if there is no such version. Throws std::bad_alloc.
using version_mapper = result<std::uint64_t> (*)(os::file_system& files, store::heap_file& store,
                                                 view::memory_view& view, const engine_options& options);

struct parts {
    thread_cache_maker thread_caches = nullptr; // threads borrow slabs
    version_mapper map_version = nullptr;
    const sharing_part* sharing = nullptr;
    const history_part* history = nullptr;
};

/// The sharing part of a program that names sharing::processes somewhere. For heaps that others shared and that the
/// program opens for itself. Null before the program's statics are initialized.
inline constinit const sharing_part* known_sharing_part = nullptr;

} // namespace remanence::txn
