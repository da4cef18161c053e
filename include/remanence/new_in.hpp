/// \file
/// Memory of a heap for code that cannot name an allocator: C libraries, classes that call new, programs that should
/// stay unchanged. Depends on heap.hpp and volatile_heap.hpp.
///
///     rem::heap store = rem::heap::open("index.rem");
///     auto& index = store.root<old_library_index>("index");
///     store.write([&] {
///         const rem::new_in scope(store);
///         old_library_insert(&index, "key", 5); // calls malloc(), or new
///     });
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/detail/malloc_target.hpp>
#include <remanence/heap.hpp>
#include <remanence/volatile_heap.hpp>

namespace remanence {

/// A scope in which this thread's `new`, malloc(), calloc(), aligned_alloc(), strdup() and the like allocate in a heap.
/// In programs that use this class, free(), realloc() and `delete` find a block's heap by its address, at any time and
/// in any thread. In a heap with a file, changes to these blocks become durable with the next commit, as all others do.
///
/// The program must be linked with libremanence-malloc.so, or preload it (LD_PRELOAD), and use libstdc++ as a shared
/// library.
///
/// Memory that the C and C++ libraries allocate for themselves stays outside of the heap: buffers of streams,
/// exceptions with their standard texts, threads, locales. So does memory that their functions return, except strdup(),
/// strndup() and std::string: asprintf(), getline(), realpath(), std::filesystem::path, std::ostringstream::str(). A
/// std::string in an exception class of the program is in the heap. A rollback frees the string, so catch such an
/// exception before the section ends.
///
/// The heap does not know the types in these blocks. heap::check_pointers() and `rem verify --pointers` find pointers
/// in them that leave the heap. Objects that a library keeps for itself (a cache, a static object) must be made before
/// the scope begins: otherwise they are in the heap, and are lost in a rollback or when the heap is closed.
///
/// Other calls of Remanence within the scope would put the library's own memory into the heap. They throw
/// errc::invalid_argument, and the thread's scopes end at once. Scopes may be nested. A heap's destructor ends them,
/// too. Scopes must be destroyed by the thread that made them, in reverse order, before the heap is destroyed.
class new_in {
public:
    /// Begins the scope. Errors: errc::not_supported without libremanence-malloc.so; errc::read_only; errc::closed.
    /// After an error, surrounding scopes have ended.
    explicit new_in(heap& where);
    explicit new_in(volatile_heap& where); ///< Begins a scope for a volatile heap.
    new_in(const new_in&) = delete;
    new_in& operator=(const new_in&) = delete;
    ~new_in();

private:
    detail::malloc_target target_;
    const detail::malloc_target* outer_;
};

} // namespace remanence
