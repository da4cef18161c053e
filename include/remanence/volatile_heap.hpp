// Volatile heaps: memory for the time that the program runs, apart from malloc's, for threads that allocate a lot, and for objects
// that end all at once. Depends on error.hpp.
//
//     rem::volatile_heap scratch;
//     std::pmr::vector<int> numbers(&scratch);
//     std::map<int, int, std::less<>, rem::volatile_allocator<std::pair<const int, int>>> squares(scratch.get_allocator());
//
// A block of up to a cache line (64 bytes) never straddles one; from a cache line on it starts on one, and from a page (4 KiB) on it
// starts on a page. So a block of 65 bytes takes 128, and one of 5,000 takes 8,192.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/error.hpp>

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

/// Blocks of one size. Blocks of more than 64 KiB count as of the next power of two.
struct volatile_size_class {
    std::uint64_t block_bytes;
    std::uint64_t blocks;
};

/// How a volatile heap uses its memory, at one moment; where other threads allocate meanwhile, nearly so.
struct volatile_heap_stats {
    /// What the program asked for, of the blocks that it has. Known with red zones or leak_frames only, since only then blocks say it.
    std::optional<std::uint64_t> requested_bytes;
    std::uint64_t usable_bytes = 0;   ///< of the blocks that the program has, as usable_size() counts without red zones
    std::uint64_t resident_bytes = 0; ///< memory that the system has given, the heap's own tables included
    std::uint64_t reserved_bytes = 0; ///< address space for blocks, held or not
    std::uint64_t peak_bytes = 0; ///< the most that large blocks, and the slabs that small ones lie in, had at a time
    std::uint64_t blocks = 0;
    std::vector<volatile_size_class> classes; ///< those with blocks, by size
    /// How well the heap can serve requests from memory that it has, as a share of how well it could if all free pieces were one. With
    /// free pieces f1, f2, … of F bytes in all, and r = 16, 32, 64, … up to F: the mean, over all r, of
    /// (⌊f1/r⌋ + ⌊f2/r⌋ + …) / ⌊F/r⌋. 1 when nothing is free.
    double availability = 1;
    /// usable_bytes as a share of resident_bytes; 1 when both are 0.
    double page_efficiency = 1;
};

/// The blocks that a volatile heap still had when it was destroyed.
struct volatile_leak_report {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0; ///< usable ones, red zones included
    std::vector<volatile_size_class> classes;
    // With red zones or leak_frames: what they were for, and where they were allocated. Both sorted, the most bytes asked for first.
    struct type {
        std::string name; ///< of the objects that a volatile_allocator made room for; empty: all other blocks
        std::uint64_t blocks = 0;
        std::uint64_t requested_bytes = 0;
    };
    std::vector<type> types;
    struct place {
        std::vector<std::string> calls; ///< that led there, the innermost first, as the C library writes them
        std::uint64_t blocks = 0;
        std::uint64_t requested_bytes = 0;
    };
    std::vector<place> places; ///< with leak_frames
};

/// What volatile_heap::verify() found.
struct volatile_verify_report {
    struct problem {
        std::string what;              ///< one sentence
        const void* address = nullptr; ///< the block, or where the heap's own data belong to
    };
    std::uint64_t blocks_checked = 0;
    std::vector<problem> problems;
    [[nodiscard]] bool clean() const noexcept { return problems.empty(); }
};

struct volatile_heap_options {
    /// Address space for blocks, up to 16 TiB, rounded up to whole GiB. It takes no memory. Where a limit (ulimit -v) does not let a heap hold
    /// so much, it takes addresses as it grows, up to the limit.
    std::uint64_t reserve_bytes = std::uint64_t{64} << 30U;
    /// All memory of the heap is of this NUMA node, near the threads that use it. Where that cannot be, the constructor throws.
    std::optional<unsigned> numa_node{};
    /// So many bytes behind each block have a pattern, which free() and verify() look at. Up to 4,096. For debugging: blocks then
    /// also say what was asked for.
    std::size_t red_zone_bytes = 0;
    /// Each block notes so many of the calls that led to its allocation, up to 32, for the leak report. For debugging: an allocation
    /// then takes microseconds. Blocks have red zones of at least 8 bytes then.
    unsigned leak_frames = 0;
    /// Called by the destructor when there are blocks left. Must not throw, or use the heap.
    std::function<void(const volatile_leak_report&)> on_leaks{};
};

class volatile_heap;
template <class T>
class volatile_allocator;

namespace detail {
class volatile_heap_impl;
/// For the C interface: whether a block of the heap begins there. Another thread may free it meanwhile.
[[nodiscard]] bool begins_block(const volatile_heap& of, const void* address) noexcept;
} // namespace detail

/// All members but constructor and destructor may be called by any threads at the same time, and blocks freed by any. A thread that
/// ends leaves what it has of the heap to others. A forked child may go on with the heap's copy that it has.
class volatile_heap : public std::pmr::memory_resource {
public:
    /// Throws `error`: errc::exhausted when there are no addresses, errc::not_supported and errc::invalid_argument when the NUMA node
    /// cannot be had.
    explicit volatile_heap(const volatile_heap_options& options = {});
    volatile_heap(const volatile_heap&) = delete;
    volatile_heap& operator=(const volatile_heap&) = delete;
    /// Gives back all memory at once, with the blocks in it; runs no destructors of objects. O(1), and what the system takes to
    /// free the pages.
    ~volatile_heap() override;

    // allocate(bytes, alignment) and deallocate(address, bytes, alignment) are those of std::pmr::memory_resource: alignments are
    // powers of two up to 1 GiB. Throws std::bad_alloc when there is no memory, or the alignment is another.

    /// Null instead of std::bad_alloc. `type` is for the leak report, which names what is in the block; null: no type.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t),
                                     const std::type_info* type = nullptr) noexcept;
    /// The same; all bytes are zero. Memory that is fresh from the system is not written.
    [[nodiscard]] void* try_allocate_zeros(std::size_t bytes) noexcept;
    /// Frees a block; null is none. Needs no size. When no block of this heap begins there, or the block was freed already, or its red zone
    /// bytes were written over, the process ends with a message that names the address.
    void free(void* address) noexcept;
    /// The block with another size, with its contents as far as both sizes go: where it was, or elsewhere, at a multiple of 16. Null, and
    /// the block is as it was, when there is no memory. Of null, a new block. Ends the process as free() does.
    ///
    /// Grows in place where it can. A block of 256 KiB or more that moves is moved by its page tables, not copied, while the heap has
    /// fewer than 16,384 such blocks: each may take two of the process's mappings. A block that shrinks gives back the pages behind it. If less
    /// than half of it is left, and that is 256 KiB or more, it moves into a hole at a lower address that it fits in, if there is one.
    [[nodiscard]] void* reallocate(void* address, std::size_t bytes) noexcept;
    /// A block that reallocate() lets grow up to `room_bytes` where it is, and become smaller again. The room costs addresses, and
    /// memory only when it is used; with red zones, at once. A room of up to 64 KiB is a block of that size, which the first
    /// size of less than half of it gives back. usable_size() counts the room. Null when there is none.
    [[nodiscard]] void* allocate_dynamic(std::size_t bytes, std::size_t room_bytes) noexcept;
    /// How many bytes of the block the program may use, at least what it asked for. Ends the process as free() does.
    [[nodiscard]] std::size_t usable_size(const void* address) const noexcept;

    /// For containers with the standard's interface of allocators.
    template <class T = std::byte>
    [[nodiscard]] volatile_allocator<T> get_allocator() noexcept {
        return volatile_allocator<T>(*this);
    }

    /// The volatile heap whose addresses `pointer` lies in, or null. O(1).
    [[nodiscard]] static volatile_heap* of(const void* pointer) noexcept;
    /// One for the whole process, made when it is first asked for; it is never destroyed. Throws as the constructor does.
    [[nodiscard]] static volatile_heap& process_default();

    /// O(pages in use).
    [[nodiscard]] volatile_heap_stats stats() const;
    /// Looks at all of the heap's own data, and at red zones. No other thread may use the heap meanwhile. O(pages in use).
    [[nodiscard]] volatile_verify_report verify() const;
    /// Gives the system all whole pages in which no block lies, but for the first one of each slab. Some of it comes back by itself when much was freed.
    void trim() noexcept;

private:
    friend bool detail::begins_block(const volatile_heap& of, const void* address) noexcept;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::unique_ptr<detail::volatile_heap_impl> impl_;
};

/// For containers of the standard library and others: allocates from a volatile heap, which must outlive what has memory of it. As
/// std::pmr::polymorphic_allocator it does not propagate by assignment and swap.
template <class T>
class volatile_allocator {
public:
    using value_type = T;

    explicit volatile_allocator(volatile_heap& of) noexcept : heap_(&of) {}
    template <class U>
    volatile_allocator(const volatile_allocator<U>& other) noexcept // NOLINT(google-explicit-constructor)
        : heap_(&other.home()) {}

    /// Throws std::bad_array_new_length when so many objects exceed the address space, std::bad_alloc when there is no memory.
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw std::bad_array_new_length();
        void* const got = heap_->try_allocate(count * sizeof(T), alignof(T), &typeid(T));
        if (got == nullptr)
            throw std::bad_alloc();
        return static_cast<T*>(got);
    }
    void deallocate(T* objects, std::size_t /*count*/) noexcept { heap_->free(objects); }

    [[nodiscard]] volatile_heap& home() const noexcept { return *heap_; }

    template <class U>
    friend bool operator==(const volatile_allocator& a, const volatile_allocator<U>& b) noexcept {
        return &a.home() == &b.home();
    }

private:
    volatile_heap* heap_;
};

} // namespace remanence
