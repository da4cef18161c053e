// Memory of a heap for code that cannot name an allocator: a library in C, classes that call new, programs that nobody wants to change.
// Depends on heap.hpp and volatile_heap.hpp.
//
//     rem::heap store = rem::heap::open("index.rem");
//     auto& index = store.root<old_library_index>("index");
//     store.write([&] {
//         const rem::new_in scope(store);
//         old_library_insert(&index, "key", 5); // calls malloc(), or new
//     });
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/detail/malloc_target.hpp>
#include <remanence/heap.hpp>
#include <remanence/volatile_heap.hpp>

namespace remanence {

/// While it lives, what its thread takes by `new`, malloc(), calloc(), aligned_alloc(), strdup() and their kin comes from the heap. free(),
/// realloc() and `delete` find a block's heap by its address, at any time and in any thread, in programs that have this class; a change to a
/// heap with a file becomes durable with the next commit, as any other.
///
/// The process must have libremanence-malloc.so, linked or by LD_PRELOAD, and libstdc++ as a shared library.
///
/// Memory that the C and the C++ library take for themselves (buffers of streams, exceptions with their standard texts, threads, locales) stays
/// outside, and so does what their functions give but strdup() and std::string (asprintf(), getline(), realpath(), std::filesystem::path,
/// std::ostringstream::str()). The program's own memory in an exception, as a std::string in its class, is the heap's, and a rollback takes it away:
/// catch such an exception before.
///
/// A heap knows nothing of the types in such blocks: pointers in them that lead out of the heap are found by heap::check_pointers() and `rem verify
/// --pointers`. A library that keeps something for itself (a cache, a static object) must have made it before: else it has memory of the
/// heap, which a rollback takes away, and which is gone with the heap.
///
/// Other calls of Remanence would put the library's own memory there. They throw errc::invalid_argument, and the thread's scopes end at once; but
/// for another scope in this one. A destructor of a heap ends them likewise.
///
/// To be destroyed by the thread that made it, in reverse order, before the heap.
class new_in {
public:
    /// Throws `error`: errc::not_supported without libremanence-malloc.so, errc::read_only, errc::closed. Scopes around it have ended then.
    explicit new_in(heap& where);
    explicit new_in(volatile_heap& where);
    new_in(const new_in&) = delete;
    new_in& operator=(const new_in&) = delete;
    ~new_in();

private:
    detail::malloc_target target_;
    const detail::malloc_target* outer_;
};

} // namespace remanence
