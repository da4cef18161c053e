/// \file
/// Volatile heaps: memory without a file, separate from malloc's, for threads that allocate a lot, and for objects that
/// are all freed at once. Depends on error.hpp and heap_reports.hpp.
///
///     rem::volatile_heap scratch;
///     std::pmr::vector<int> numbers(&scratch);
///     using squares = std::map<int, int, std::less<>, rem::volatile_allocator<std::pair<const int, int>>>;
///     squares of(scratch.get_allocator());
///
/// A block of up to 64 bytes lies in one cache line; a longer one begins on a cache line, one of 4 KiB or more on a
/// page. So a block of 65 bytes takes 128, and one of 5,000 takes 8,192. volatile_files.hpp makes a heap file of a
/// volatile heap, and a volatile heap of a file.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/error.hpp>
#include <remanence/heap_reports.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

namespace remanence {

/// How a volatile heap uses its memory, at one moment; approximate while other threads allocate.
struct volatile_heap_stats {
    /// Bytes that the program asked for in its live blocks. Known only with red zones or leak_frames, since blocks
    /// record the requested size only then.
    std::optional<std::uint64_t> requested_bytes;
    std::uint64_t usable_bytes = 0;   ///< bytes in live blocks, as usable_size() counts them without red zones
    std::uint64_t resident_bytes = 0; ///< memory from the system, the heap's own tables included
    std::uint64_t reserved_bytes = 0; ///< address space for blocks, in use or not
    /// The most bytes in use at any time: large blocks, and slabs of small ones.
    std::uint64_t peak_bytes = 0;
    std::uint64_t blocks = 0;        ///< live blocks
    std::vector<size_class> classes; ///< those with blocks, by size
    /// How well the heap can serve requests from memory that it has, as a share of how well it could if all free memory
    /// were one piece. With free pieces f1, f2, … of F bytes in all, and r = 16, 32, 64, … up to F, it is the mean,
    /// over all r, of (⌊f1/r⌋ + ⌊f2/r⌋ + …) / ⌊F/r⌋. 1 when nothing is free.
    double availability = 1;
    /// usable_bytes as a share of resident_bytes; 1 when both are 0.
    double page_efficiency = 1;
};

/// What volatile_heap::verify() found.
struct volatile_verify_report {
    /// Something that is wrong.
    struct problem {
        std::string what; ///< one sentence
        /// The block that the problem is about, or the block to which the damaged data of the heap belong.
        const void* address = nullptr;
    };
    std::uint64_t blocks_checked = 0; ///< blocks looked at
    std::vector<problem> problems;    ///< empty when nothing is wrong
    /// Returns true if there are no problems.
    [[nodiscard]] bool clean() const noexcept { return problems.empty(); }
};

/// How a volatile heap is made.
struct volatile_heap_options {
    /// Address space for blocks, in bytes, rounded up to whole GiB; default 64 GiB, at most 16 TiB. It takes no memory.
    /// If a limit (ulimit -v) forbids so much, the heap reserves addresses as it grows, up to the limit.
    std::uint64_t reserve_bytes = std::uint64_t{64} << 30U;
    /// The NUMA node of all memory of the heap, near the threads that use it. Default: none in particular. The
    /// constructor throws if the node cannot be used.
    std::optional<unsigned> numa_node{};
    /// For debugging: bytes of a pattern behind each block, which free() and verify() check. Blocks then record their
    /// requested size. Default 0 (none), at most 4,096.
    std::size_t red_zone_bytes = 0;
    /// For debugging: how many of the calls that led to an allocation each block records for the leak report. An
    /// allocation then takes microseconds, and blocks have red zones of at least 8 bytes. Default 0 (none), at most 32.
    unsigned leak_frames = 0;
    /// Called by the destructor when there are blocks left. Must not throw, or use the heap.
    std::function<void(const leak_report&)> on_leaks{};
};

class volatile_heap;
template <class T>
class volatile_allocator;

namespace detail {
class volatile_heap_impl;
/// Returns true if a block of the heap begins at the address, for the C interface. Another thread may free the block
/// meanwhile.
[[nodiscard]] bool begins_block(const volatile_heap& of, const void* address) noexcept;
[[nodiscard]] volatile_heap_impl& impl_of(const volatile_heap& of) noexcept;
} // namespace detail

/// A heap without a file. Threads may call members at the same time, except constructor, destructor and verify(), and
/// may free each other's blocks. When a thread ends, others can use its cached memory. A forked child may go on using
/// its copy of the heap.
class volatile_heap : public std::pmr::memory_resource {
public:
    /// Makes the heap. Errors: errc::exhausted when there is no address space; errc::not_supported and
    /// errc::invalid_argument when the NUMA node cannot be used.
    explicit volatile_heap(const volatile_heap_options& options = {});
    volatile_heap(const volatile_heap&) = delete;
    volatile_heap& operator=(const volatile_heap&) = delete;
    /// Frees all memory at once, with the blocks in it. Runs no destructors of objects. O(1), plus the system's time to
    /// free the pages.
    ~volatile_heap() override;

    // allocate(bytes, alignment) and deallocate(address, bytes, alignment) are those of std::pmr::memory_resource.
    // Alignments are powers of two up to 1 GiB. Errors: std::bad_alloc when there is no memory, and for any other
    // alignment.

    /// Allocates as allocate() does, but returns null instead of throwing. The leak report names `type`, which may be
    /// null, as the type of the block's objects.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t),
                                     const std::type_info* type = nullptr) noexcept;
    /// Allocates a block of zeros, or returns null. It does not write to memory that is fresh from the system.
    [[nodiscard]] void* try_allocate_zeros(std::size_t bytes) noexcept;
    /// Frees a block; null is allowed. Needs no size. Ends the process, with a message that names the address, when no
    /// block of this heap begins there, the block was freed already, or its red zone was overwritten.
    void free(void* address) noexcept;
    /// Changes the size of a block and returns its address, a multiple of 16. Keeps the contents up to the smaller
    /// size. If `address` is null, allocates a new block. Returns null when there is no memory; the block is then
    /// unchanged. Ends the process as free() does.
    ///
    /// The block grows in place if possible. A block of 256 KiB or more that must move is remapped, not copied, while
    /// the heap has fewer than 16,384 such blocks (each may take two of the process's mappings). A block that shrinks
    /// gives back the pages behind it. If less than half of the block is left, but 256 KiB or more, it moves into a
    /// hole at a lower address, if one fits.
    [[nodiscard]] void* reallocate(void* address, std::size_t bytes) noexcept;
    /// Allocates a block that reallocate() can grow in place up to `room_bytes`, and shrink again. The room takes
    /// addresses at once. It takes memory where it is written; but with red zones, all of its memory at once. A room of
    /// up to 64 KiB is a block of that size; the first reallocate() to less than half of it gives the room back.
    /// usable_size() counts the room. Returns null when there is no memory.
    [[nodiscard]] void* allocate_dynamic(std::size_t bytes, std::size_t room_bytes) noexcept;
    /// Returns how many bytes of the block the program may use, at least what it asked for. Ends the process as free()
    /// does.
    [[nodiscard]] std::size_t usable_size(const void* address) const noexcept;

    /// Returns an allocator of this heap for containers.
    template <class T = std::byte>
    [[nodiscard]] volatile_allocator<T> get_allocator() noexcept {
        return volatile_allocator<T>(*this);
    }

    /// Returns the volatile heap whose addresses `pointer` lies in, or null. O(1).
    [[nodiscard]] static volatile_heap* of(const void* pointer) noexcept;
    /// Returns a heap for the whole process. The first call makes it; it is never destroyed. Throws as the constructor
    /// does.
    [[nodiscard]] static volatile_heap& process_default();

    /// Returns how memory is used. O(pages in use).
    [[nodiscard]] volatile_heap_stats stats() const;
    /// Checks all of the heap's own data, and red zones. No other thread may use the heap meanwhile. O(pages in use).
    [[nodiscard]] volatile_verify_report verify() const;
    /// Returns to the system all whole pages without a block, except the first page of each slab. The heap also returns
    /// pages by itself when much was freed.
    void trim() noexcept;

protected:
    /// For load_volatile(): takes over a heap that is made, unless `loaded` is null.
    volatile_heap(const volatile_heap_options& options, std::unique_ptr<detail::volatile_heap_impl> loaded);

private:
    friend bool detail::begins_block(const volatile_heap& of, const void* address) noexcept;
    friend detail::volatile_heap_impl& detail::impl_of(const volatile_heap& of) noexcept;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::unique_ptr<detail::volatile_heap_impl> impl_;
};

/// Allocates from a volatile heap, for containers of the standard library and others. The heap must outlive all that is
/// allocated from it. As with std::pmr::polymorphic_allocator, assignment and swap of containers do not propagate the
/// allocator.
template <class T>
class volatile_allocator {
public:
    using value_type = T; ///< the type of the objects

    /// An allocator of this heap.
    explicit volatile_allocator(volatile_heap& of) noexcept : heap_(&of) {}
    /// An allocator of the same heap as `other`.
    template <class U>
    volatile_allocator(const volatile_allocator<U>& other) noexcept // NOLINT(google-explicit-constructor)
        : heap_(&other.home()) {}

    /// Allocates memory for `count` objects. Errors: std::bad_array_new_length when so many objects exceed the address
    /// space; std::bad_alloc when there is no memory.
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw std::bad_array_new_length();
        void* const got = heap_->try_allocate(count * sizeof(T), alignof(T), &typeid(T));
        if (got == nullptr)
            throw std::bad_alloc();
        return static_cast<T*>(got);
    }
    /// Frees what allocate() returned.
    void deallocate(T* objects, std::size_t /*count*/) noexcept { heap_->free(objects); }

    /// Returns the heap.
    [[nodiscard]] volatile_heap& home() const noexcept { return *heap_; }

    /// Returns true if both allocate from the same heap.
    template <class U>
    friend bool operator==(const volatile_allocator& a, const volatile_allocator<U>& b) noexcept {
        return &a.home() == &b.home();
    }

private:
    volatile_heap* heap_;
};

} // namespace remanence
