/// \file
/// An arena is a named part of a heap whose blocks lie together: the elements of one root, or the objects of one class.
/// Objects that are used together are then on the same pages. An arena can have its own hints on paging and its own
/// memory limit, and all of it can be freed at once. Thin templates over compiled code; depends on heap.hpp.
///
///     rem::arena words = rem::arena::open(heap, "words");
///     auto& index = words.root<rem::map<rem::string, int>>("index"); // nodes and strings are in the arena
///     rem::arena::destroy(heap, "words");                            // frees all of it
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence {

/// How an arena is going to be used: hints for the kernel. A program cannot give such hints by madvise(), since it does
/// not know where an arena lies.
enum class paging {
    usual,      ///< no particular use
    sequential, ///< read from one end to the other: the kernel reads far ahead
    random,     ///< scattered reads: the kernel reads no more than asked
    prefetch,   ///< all of the arena is needed soon: the kernel reads it now
    keep,       ///< pages that were read stay in memory, within the limit of locked memory (ulimit -l)
};

/// The options of a new arena. Both members are fixed at creation, and ignored for an existing arena.
struct arena_options {
    /// How large the arena may become, in bytes, its own tables (3.5 %) included: a power of two, at least 1 MiB.
    /// Default 1 GiB. The whole room is reserved: it takes addresses, and makes the heap's file longer. Only pages that
    /// are written take memory and disk space.
    std::uint64_t room_bytes = std::uint64_t{1} << 30U;
    /// How many bytes of the arena may be resident in this process when a section ends; 0 (the default): no limit. The
    /// limit protects the rest of the heap from being evicted. It works as memory_options::resident_limit_bytes, which
    /// says what is evicted and what stays. A process keeps it from its first open(), find() or all() of the heap on.
    std::uint64_t resident_limit_bytes = 0;
};

/// One arena, at one moment.
struct arena_info {
    std::string name;                   ///< its name
    std::uint64_t room_bytes;           ///< arena_options::room_bytes
    std::uint64_t allocated_bytes;      ///< bytes in live blocks
    std::uint64_t resident_bytes;       ///< bytes resident in this process
    std::uint64_t resident_limit_bytes; ///< arena_options::resident_limit_bytes
    std::uint64_t dirty_bytes;          ///< part of resident_bytes, as heap_stats::dirty_bytes
    /// Bytes evicted since the heap was opened, because of the arena's limit.
    std::uint64_t evicted_bytes;
};

/// Names an arena of an open heap; copies name the same arena. Containers made in an arena have its allocator, so all
/// their contents lie in the arena: containers and strings at any depth, except position-independent ones (string_pi,
/// vector_pi), which allocate in the surrounding heap. A move or assignment between arenas, or between an arena and its
/// heap, copies elements, as between heaps.
///
/// Arenas begin at multiples of 1 GiB; the heap uses the space between them. Earlier releases cannot open a heap that
/// ever had an arena. Free pages of an arena are given back to the file system when the arena is destroyed, not before.
/// Several threads may call members at once. Errors of all members: errc::closed when the heap is closed.
class arena {
public:
    /// Returns the arena `name`, and makes it if there is none. Outside of a section, making an arena commits. Errors:
    /// errc::invalid_argument when the name is not 1 to 127 bytes long or an option is out of range; errc::read_only;
    /// std::bad_alloc; what heap::write() throws.
    [[nodiscard]] static arena open(heap& in, std::string_view name, const arena_options& options = {});
    /// Returns the arena `name`, or nothing if there is none.
    [[nodiscard]] static std::optional<arena> find(const heap& in, std::string_view name);
    /// Frees the arena `name` with all its blocks, and removes the roots in it. Runs no destructors. Returns false when
    /// there is no such arena. Outside of a section, the call commits. Pointers into the arena from elsewhere dangle.
    /// O(roots + log free runs).
    static bool destroy(heap& in, std::string_view name);
    /// Returns all arenas of a heap. O(pages used in them).
    [[nodiscard]] static std::vector<arena_info> all(const heap& in);

    /// Returns an allocator of this arena. Errors: errc::read_only.
    template <class T = std::byte>
    [[nodiscard]] allocator<T> get_allocator() const {
        return allocator<T>(checked_home());
    }
    /// Makes an object in the arena, as heap::make() does. heap::destroy() destroys it.
    template <class T, class... Args>
    [[nodiscard]] T* make(Args&&... args) const {
        detail::require_persistable<T>();
        (void)detail::header_for<T>(impl());
        return detail::make_by(allocator<T>(checked_home()), std::forward<Args>(args)...);
    }
    /// Returns a root as heap::root() does, but makes it in the arena. An existing root stays where it is.
    /// heap::find_root() finds it.
    template <class T, class... Args>
    T& root(std::string_view name, Args&&... args) const {
        detail::heap_impl* const of = impl();
        {
            const detail::read_section section(of);
            if (T* found = find_root<T>(of, name))
                return *found;
        }
        detail::write_section section(of, detail::section_kind::joining, {});
        T* object = find_root<T>(of, name);
        if (object == nullptr) {
            const bool is_alone = sizeof...(Args) == 0 && detail::is_about_to_make_one(of);
            object = make<T>(std::forward<Args>(args)...);
            detail::add_root(of, name, detail::fingerprint_of<T>(), object, detail::functions_of_root<T>(), is_alone);
        }
        section.commit();
        return *object;
    }

    /// Gives the kernel a hint about the memory that the arena has at this moment, not about later memory.
    void advise(paging how) const;

private:
    explicit arena(detail::heap_header* home) : home_(home) {}
    template <class T>
    [[nodiscard]] static T* find_root(detail::heap_impl* of, std::string_view name) {
        return static_cast<T*>(
            detail::find_root(of, name, detail::fingerprint_of<T>(), detail::functions_of_root<T>()));
    }
    [[nodiscard]] detail::heap_impl* impl() const;
    /// Returns the owner for allocators of this arena. Errors: errc::read_only.
    [[nodiscard]] detail::heap_header* checked_home() const;

    detail::heap_header* home_; // an allocator's owner
};

} // namespace remanence
