// Address space: reserving, laying anonymous memory, giving pages back.
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace remanence::os {

/// Address space held for one heap: inaccessible until something is mapped over parts of it. Unmapped on destruction.
class reservation {
public:
    /// Takes exactly [base, base+bytes). errc::base_taken names the mapping that is in the way.
    static result<reservation> at(std::uint64_t base, std::uint64_t bytes);
    /// Takes a random GiB-aligned place in the range that neither the loader nor the sanitizers use.
    static result<reservation> at_random(std::uint64_t bytes);
    /// Takes a GiB-aligned place that at_random() never gives, for what needs not lie where it lay before: there it is in
    /// nobody's way. As at_random() when all of some places that were tried are taken.
    static result<reservation> elsewhere(std::uint64_t bytes);
    /// As at(), or as elsewhere() when something else is there.
    static result<reservation> at_or_elsewhere(std::uint64_t base, std::uint64_t bytes);

    reservation(reservation&& other) noexcept;
    reservation& operator=(reservation&& other) noexcept;
    ~reservation();

    /// Grows to `bytes` when the addresses behind it are free.
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

/// Lays zero-filled private memory over a part of a reservation.
result<void> map_anonymous(std::byte* where, std::uint64_t bytes);
/// Drops the pages: private file mappings show the file again, anonymous memory reads as zeros.
result<void> drop_pages(std::byte* where, std::uint64_t bytes);
/// The pages of writable memory that are still the file's become the process's own, with the content that they have.
result<void> make_private(std::byte* where, std::uint64_t bytes);
/// Makes memory read-only.
result<void> protect_read_only(std::byte* where, std::uint64_t bytes);
/// Makes memory readable and writable.
result<void> protect_nothing(std::byte* where, std::uint64_t bytes);

/// Address space of its own, inaccessible until something is mapped over it, on its way to another place.
class moving_mapping {
public:
    static result<moving_mapping> create(std::uint64_t bytes);
    moving_mapping(moving_mapping&& other) noexcept;
    moving_mapping& operator=(moving_mapping&&) = delete;
    ~moving_mapping();

    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// What is mapped here, with one kind of rights, takes the place of what is mapped there, in one step. Once.
    result<void> move_to(std::byte* where);

private:
    moving_mapping(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}
    std::byte* base_;
    std::uint64_t bytes_;
};

/// Leaves the range out of core files.
void exclude_from_core(std::byte* where, std::uint64_t bytes);
/// Lets the kernel use huge pages here. A hint.
void prefer_huge_pages(std::byte* where, std::uint64_t bytes);
/// A page that is read brings no others with it. A hint.
void read_no_more_than_asked(std::byte* where, std::uint64_t bytes);
/// Undoes that, and the next one.
void read_as_usual(std::byte* where, std::uint64_t bytes);
/// It is read from one end to the other. A hint.
void read_ahead_a_lot(std::byte* where, std::uint64_t bytes);
/// Pages that are read stay in memory, as far as the process may lock memory. A hint. Linux 4.4.
void keep_what_is_read(std::byte* where, std::uint64_t bytes);
/// Takes pages out of memory that can be read again, or go to swap. A hint. Linux 5.4.
void page_out(std::byte* where, std::uint64_t bytes);
/// How much of the range is in memory and mapped here. 0 when that cannot be told.
[[nodiscard]] std::uint64_t mapped_bytes(const std::byte* where, std::uint64_t bytes);
/// Begins to read the range, and does not wait. A hint.
void begin_to_read(const std::byte* where, std::uint64_t bytes);
/// Brings the range into memory, to be read soon, at one go: a page at a time costs some ten times as much. A hint.
void will_read(std::byte* where, std::uint64_t bytes);

/// Where `bytes` between `begin` and `end` are free in this process, at a multiple of k_base_alignment; 0: nowhere. O(mappings).
[[nodiscard]] std::uint64_t lowest_free_addresses(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes);
[[nodiscard]] std::uint64_t highest_free_addresses(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes);

/// The line of /proc/self/maps that covers an address of [where, where+bytes); empty when none does.
std::string mapping_at(std::uint64_t where, std::uint64_t bytes);

/// Memory that ends with the process: its stacks, malloc's, what else is private, writable and of no file; and `file`: what
/// is mapped of files, as code, constants and most static objects are.
struct process_memory {
    enum class kind { stack_of_this_thread, stack, malloc, other, file };
    std::uint64_t begin;
    std::uint64_t end;
    kind what; // a thread's stack is known by the guard page below it: an educated guess
};
/// All of it by address, views of heaps included, as /proc/self/maps tells; empty when that cannot be read. Files only if
/// `with_files`. Mappings of 1 TiB and more are left out, be they in pieces: those are the shadow memory of sanitizers.
/// O(mappings).
std::vector<process_memory> memory_of_process(bool with_files = false);

/// The word at an address of private memory that was there a moment ago; nothing when another thread unmapped it since.
std::optional<std::uint64_t> word_of_process(std::uint64_t address);

/// Fills `bytes` from the kernel's random source.
result<void> random_bytes(void* into, std::size_t bytes);

/// A marker that reads false in a forked child: the parent's heaps are not the child's. All of a process are the same, on
/// one page, which lives as long as the process: thousands of heaps need no page and no mapping each.
class fork_guard {
public:
    static result<fork_guard> create();
    [[nodiscard]] bool same_process() const { return *alive_; }

private:
    explicit fork_guard(const volatile bool* alive) : alive_(alive) {}
    const volatile bool* alive_; // on a page of its own, wiped by the kernel in the child (MADV_WIPEONFORK)
};

} // namespace remanence::os
