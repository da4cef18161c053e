// Address space: reserves addresses, maps anonymous memory, drops pages.
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace remanence::os {

/// Addresses reserved for one heap, inaccessible until something is mapped there. The destructor unmaps them.
class reservation {
public:
    /// Reserves exactly [base, base+bytes). errc::base_taken, with the mapping that is in the way.
    static result<reservation> at(std::uint64_t base, std::uint64_t bytes);
    /// Reserves a random GiB-aligned range of addresses that neither the loader nor the sanitizers use.
    static result<reservation> at_random(std::uint64_t bytes);
    /// Reserves a GiB-aligned range that at_random() never uses, for a heap without a fixed base: there it is in no
    /// other heap's way. If several random ranges there are in use, calls at_random().
    static result<reservation> elsewhere(std::uint64_t bytes);
    /// As at(); if something else is mapped there, as elsewhere().
    static result<reservation> at_or_elsewhere(std::uint64_t base, std::uint64_t bytes);

    reservation(reservation&& other) noexcept;
    reservation& operator=(reservation&& other) noexcept;
    ~reservation();

    /// Extends the reservation to `bytes` if the addresses behind it are free.
    result<void> extend(std::uint64_t bytes);

    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    reservation(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}
    std::byte* base_;
    std::uint64_t bytes_;
};

/// Bases must be multiples of this, so that heaps never share a slot of the address table.
inline constexpr std::uint64_t k_base_alignment = GiB;
/// One past the highest address a heap may have.
inline constexpr std::uint64_t k_address_end = std::uint64_t{1} << 47;

/// Maps zero-filled private memory over a part of a reservation.
result<void> map_anonymous(std::byte* where, std::uint64_t bytes);
/// Drops the pages: private file mappings show the file again, anonymous memory reads as zeros.
result<void> drop_pages(std::byte* where, std::uint64_t bytes);
/// Makes private copies of those pages of writable memory that are still pages of a file. Their content stays the same.
result<void> make_private(std::byte* where, std::uint64_t bytes);
/// Makes memory read-only.
result<void> protect_read_only(std::byte* where, std::uint64_t bytes);
/// Makes memory readable and writable again.
result<void> protect_nothing(std::byte* where, std::uint64_t bytes);

/// A mapping at an address of its own, inaccessible at first, to be moved to another address later.
class moving_mapping {
public:
    static result<moving_mapping> create(std::uint64_t bytes);
    moving_mapping(moving_mapping&& other) noexcept;
    moving_mapping& operator=(moving_mapping&&) = delete;
    ~moving_mapping();

    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Moves the mapping over the one at `where`, in one step. All its pages must have the same access rights. Can be
    /// called once.
    result<void> move_to(std::byte* where);

private:
    moving_mapping(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}
    std::byte* base_;
    std::uint64_t bytes_;
};

/// Excludes the range from core files.
void exclude_from_core(std::byte* where, std::uint64_t bytes);
/// Gives this writable memory its pages now, in one system call instead of a fault for each page. A hint.
void populate(std::byte* where, std::uint64_t bytes);
/// Lets the kernel use huge pages here. A hint.
void prefer_huge_pages(std::byte* where, std::uint64_t bytes);
/// Makes the kernel read only the requested pages, without read-ahead. A hint.
void read_no_more_than_asked(std::byte* where, std::uint64_t bytes);
/// Undoes read_no_more_than_asked(), read_ahead_a_lot() and keep_what_is_read().
void read_as_usual(std::byte* where, std::uint64_t bytes);
/// Tells the kernel that the range is read from one end to the other. A hint.
void read_ahead_a_lot(std::byte* where, std::uint64_t bytes);
/// Locks pages in memory when they are read, as far as the process may lock memory. A hint. Linux 4.4.
void keep_what_is_read(std::byte* where, std::uint64_t bytes);
/// Begins to read the range, without waiting for it. A hint.
void begin_to_read(const std::byte* where, std::uint64_t bytes);
/// Reads the range into memory at once, since page by page it would take about ten times as long. A hint.
void will_read(std::byte* where, std::uint64_t bytes);

/// These return an address, a multiple of k_base_alignment, with `bytes` free bytes between `begin` and `end`; 0 if
/// there is none. O(mappings).
[[nodiscard]] std::uint64_t lowest_free_addresses(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes);
[[nodiscard]] std::uint64_t highest_free_addresses(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes);

/// Returns the line of /proc/self/maps for a mapping that overlaps [where, where+bytes); empty if there is none.
std::string mapping_at(std::uint64_t where, std::uint64_t bytes);

/// Memory whose contents end with the process: stacks, malloc's memory, other private writable memory without a file.
/// The kind `file` stands for mapped files, such as code, constants and most static objects.
struct process_memory {
    enum class kind { stack_of_this_thread, stack, malloc, other, file };
    std::uint64_t begin;
    std::uint64_t end;
    kind what; // a thread's stack is recognised by the guard page below it: an educated guess
};
/// Returns the process's memory by address, views of heaps included, from /proc/self/maps; empty if that cannot be
/// read. Includes files only if `with_files`. Excludes memory of 1 TiB and more, even if it is in several mappings:
/// that is the shadow memory of sanitizers. O(mappings).
std::vector<process_memory> memory_of_process(bool with_files = false);

/// Returns the word at an address of private memory that was mapped a moment ago; nothing if another thread has
/// unmapped it meanwhile.
std::optional<std::uint64_t> word_of_process(std::uint64_t address);

/// Fills `bytes` from the kernel's random source.
result<void> random_bytes(void* into, std::size_t bytes);

/// A marker that reads as false in a forked child, to which the parent's heaps do not belong. All markers of a process
/// share one page, which is never unmapped, so that thousands of heaps need only one mapping.
class fork_guard {
public:
    static result<fork_guard> create();
    [[nodiscard]] bool same_process() const { return *alive_; }

private:
    explicit fork_guard(const volatile bool* alive) : alive_(alive) {}
    const volatile bool* alive_; // on a page that is zeros in a forked child (MADV_WIPEONFORK)
};

} // namespace remanence::os
