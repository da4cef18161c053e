// Parts of the engine that a program may lack: each is an object behind an interface, made by a factory. Whoever names the option that
// needs one refers to its factory, so that the linker takes it; all others have a null pointer.
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

/// Memory, of an engine that is being opened, becomes what engine_options::version asks for. Returns its number. errc::no_step: there is no
/// such version. Throws std::bad_alloc.
using version_mapper = result<std::uint64_t> (*)(os::file_system& files, store::heap_file& store,
                                                 view::memory_view& view, const engine_options& options);

struct parts {
    thread_cache_maker thread_caches = nullptr; // threads borrow slabs
    version_mapper map_version = nullptr;
    const sharing_part* sharing = nullptr;
    const history_part* history = nullptr;
};

/// That of a program in which some place names sharing::processes, for heaps that others shared and that it opens for itself. Null before
/// the program's statics are initialized.
inline constinit const sharing_part* known_sharing_part = nullptr;

} // namespace remanence::txn
