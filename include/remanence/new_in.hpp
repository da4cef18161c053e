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

/// While it lives, what its thread takes by `new`, malloc(), calloc(), aligned_alloc(), strdup() and their kin comes from the heap.
/// free(), realloc() and `delete` find a block's heap by its address, at any time and in any thread, in programs that have this class.
/// A change to a heap with a file becomes durable with the next commit, as any other.
///
/// The process must have libremanence-malloc.so, linked or by LD_PRELOAD, and libstdc++ as a shared library.
///
/// Memory that the C and the C++ library take for themselves stays outside: buffers of streams, exceptions with their standard texts,
/// threads, locales. So does what their functions give, but for strdup(), strndup() and std::string: asprintf(), getline(), realpath(),
/// std::filesystem::path, std::ostringstream::str(). A std::string in a class of exceptions is the program's own; a rollback takes it
/// away, so catch such an exception before.
///
/// The heap does not know the types in such blocks. heap::check_pointers() and `rem verify --pointers` find pointers in them that lead
/// out of the heap. What a library keeps for itself (a cache, a static object) must have been made before: else it has memory of the
/// heap, which a rollback takes away, and which ends with the heap.
///
/// Other calls of Remanence would put the library's own memory there. They throw errc::invalid_argument, and the thread's scopes end at
/// once. Another scope may begin in this one. A heap's destructor ends the scopes, too.
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
