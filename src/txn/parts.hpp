// Parts of the engine that a program may lack. Each part is an object behind an interface, made by a factory. If a
// program uses an option that needs the part, its code refers to the factory, so the part is linked. In other programs
// the pointer to the factory is null.
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

class block_notes;
struct engine_options;
struct history_part;        // undo_manager.hpp
struct memory_limiter_part; // memory_limiter.hpp
struct sharing_part;        // sharing.hpp

/// While a heap is opened: brings its memory to engine_options::version. Returns that version's number. errc::no_step
/// if there is no such version. Throws std::bad_alloc.
using version_mapper = result<std::uint64_t> (*)(os::file_system& files, store::heap_file& store,
                                                 view::memory_view& view, const engine_options& options);

/// Makes notes with so many calls for each block. Throws std::bad_alloc.
using block_notes_maker = block_notes* (*)(unsigned frames);

struct parts {
    thread_cache_maker thread_caches = nullptr; // null: threads borrow no slabs
    version_mapper map_version = nullptr;
    const sharing_part* sharing = nullptr;
    const history_part* history = nullptr;
    const memory_limiter_part* memory_limiter = nullptr;
    block_notes_maker block_notes = nullptr; // null: the places of allocations are not noted
};

/// The sharing part, if the program uses sharing::processes anywhere; else null. The program needs it, too, to open
/// alone a heap that processes shared before. Null before the program's statics are initialized.
inline constinit const sharing_part* known_sharing_part = nullptr;

} // namespace remanence::txn
