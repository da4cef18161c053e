// Arenas: parts of a heap in which the blocks of one purpose lie together: the elements of one root, the objects of one class. So what
// is used together is on the same pages, may have advice on paging and a limit of memory of its own, and ends at once. Thin
// templates over compiled code; depends on heap.hpp.
//
//     rem::arena words = rem::arena::open(heap, "words");
//     auto& index = words.root<rem::map<rem::string, int>>("index"); // nodes and strings lie in the arena
//     rem::arena::destroy(heap, "words");                            // and are gone
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

/// How an arena is going to be used. Hints for the kernel, which the program cannot give itself: it does not know where an arena lies.
enum class paging {
    usual,
    sequential, ///< from one end to the other: read ahead a lot
    random,     ///< here and there: read no more than asked
    prefetch,   ///< soon, and all of it: read it now
    keep,       ///< what was read stays in memory, as far as the limit of locked memory allows (ulimit -l)
};

struct arena_options {
    /// Creation: how many bytes it may have, its own tables (3.5 %) included: a power of two, 1 MiB or more. Room takes addresses, and
    /// makes the heap's file longer; memory and space are taken by what is written only.
    std::uint64_t room_bytes = std::uint64_t{1} << 30U;
    /// Creation, for data that must not push the rest of the heap out of memory: when a write section ends and more of the arena is in
    /// memory, the kernel is told to take its pages out: they are read from the file again when they are used. Pages that the process has
    /// written may stay, if there is no swap: they are its own. The look costs O(pages of the arena), at the end of each section, once so
    /// much was used. 0: no limit.
    std::uint64_t resident_limit_bytes = 0;
};

/// One arena, at one moment.
struct arena_info {
    std::string name;
    std::uint64_t room_bytes;
    std::uint64_t allocated_bytes; ///< in live blocks
    std::uint64_t resident_bytes;  ///< in memory, in this process
    std::uint64_t resident_limit_bytes;
};

/// Names an arena of an open heap; copies name the same. Containers made in it have allocators of it, so all that they come to
/// hold lies in it: containers and strings at any depth, but for position-independent ones (string_pi, vector_pi), which allocate in
/// the heap around. Between arenas, and between an arena and its heap, elements are copied, as between heaps.
///
/// Arenas begin at multiples of 1 GiB; the heap uses what lies between them. A heap that ever had one is not opened by releases
/// before this one. Pages of an arena in which no block lies go back to the file system when it is destroyed, not before.
/// Members throw errc::closed when the heap is closed, and may be called by several threads.
class arena {
public:
    /// The arena of this name, made if there is none: then outside of a section it commits. errc::invalid_argument: the name is not one of
    /// 1 to 127 bytes, or the options are out of range. errc::read_only, std::bad_alloc, and what heap::write() throws.
    [[nodiscard]] static arena open(heap& in, std::string_view name, const arena_options& options = {});
    /// None, if there is no such arena.
    [[nodiscard]] static std::optional<arena> find(const heap& in, std::string_view name);
    /// Ends the arena of this name with all blocks in it, and removes the roots in it; runs no destructors. False when there is none.
    /// Outside of a section it commits. What leads there from elsewhere dangles. O(roots + log free runs).
    static bool destroy(heap& in, std::string_view name);
    /// All arenas of a heap. O(pages used in them).
    [[nodiscard]] static std::vector<arena_info> all(const heap& in);

    template <class T = std::byte>
    [[nodiscard]] allocator<T> get_allocator() const {
        return allocator<T>(checked_home());
    }
    /// As heap::make(). heap::destroy() takes it.
    template <class T, class... Args>
    [[nodiscard]] T* make(Args&&... args) const {
        detail::require_persistable<T>();
        (void)detail::header_for<T>(impl());
        return detail::make_by(allocator<T>(checked_home()), std::forward<Args>(args)...);
    }
    /// As heap::root(), but what it makes lies in the arena. One that is there already stays where it is. heap::find_root() finds it.
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

    /// Of the memory that the arena has now.
    void advise(paging how) const;

private:
    explicit arena(detail::heap_header* home) : home_(home) {}
    template <class T>
    [[nodiscard]] static T* find_root(detail::heap_impl* of, std::string_view name) {
        return static_cast<T*>(detail::find_root(of, name, detail::fingerprint_of<T>(), detail::functions_of_root<T>()));
    }
    [[nodiscard]] detail::heap_impl* impl() const;
    /// To allocate by: errc::read_only.
    [[nodiscard]] detail::heap_header* checked_home() const;

    detail::heap_header* home_; // an allocator's owner
};

} // namespace remanence
