// The block of a hash table (H1 in hash_table.hpp): where its slots lie, and how an iteration finds the used ones.
// Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/element_slot.hpp>
#include <remanence/containers/detail/hash_group.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace remanence::detail {

inline constexpr std::size_t k_hash_inline_bytes = 128;

/// The place of an element; the end of every table is {null, null}.
struct hash_place {
    unsigned char* control = nullptr;
    std::byte* slot = nullptr;

    friend bool operator==(const hash_place& a, const hash_place& b) noexcept { return a.control == b.control; }
};

/// The properties of a block that depend on the element type.
template <class Value>
struct hash_block {
    using slot = element_slot<Value, k_hash_inline_bytes>;
    static constexpr std::size_t k_slot_alignment = alignof(typename slot::slot_type);
    static constexpr std::size_t k_alignment = std::max(k_hash_group, k_slot_alignment);
    /// True if moving an element to another slot writes to its old slot, too.
    static constexpr bool k_moves_write = slot::k_is_inline && !slot_value<Value>::k_is_bytes;

    /// The unit in which blocks are allocated. No group straddles a cache line.
    struct alignas(k_alignment) unit {
        std::byte bytes[k_alignment];
    };
    /// Returns the number of slots of a block with `buckets` buckets.
    [[nodiscard]] static std::size_t slots(std::size_t buckets) noexcept {
        return buckets - buckets / k_hash_group - 1;
    }
    [[nodiscard]] static std::size_t slots_offset(std::size_t buckets) noexcept {
        const std::size_t bytes = ((buckets - 1) / k_hash_group + 1) * k_hash_group;
        if constexpr (k_slot_alignment <= k_hash_group)
            return bytes;
        else
            return (bytes + k_slot_alignment - 1) / k_slot_alignment * k_slot_alignment;
    }
    [[nodiscard]] static std::size_t units(std::size_t buckets) noexcept {
        return (slots_offset(buckets) + slots(buckets) * slot::k_slot_bytes + sizeof(unit) - 1) / sizeof(unit);
    }
    /// The largest number of buckets that fits into the address space, a power of two.
    static constexpr std::size_t k_buckets_max = std::bit_floor((std::size_t{1} << 62) / (slot::k_slot_bytes + 1));

    [[nodiscard]] static Value& value(const hash_place& at) noexcept { return *slot::at(at.slot); }
    /// Returns the place `count` slots further, in the same group.
    [[nodiscard]] static hash_place behind(const hash_place& at, std::size_t count) noexcept {
        return {at.control + count, at.slot + count * slot::k_slot_bytes};
    }
    [[nodiscard]] static unsigned char* group_of(const hash_place& at) noexcept {
        return at.control - reinterpret_cast<std::uintptr_t>(at.control) % k_hash_group; // a block is aligned
    }

    static constexpr std::size_t k_line_bytes = 64;
    /// Prefetches the slots of a group if they fit into four cache lines. If the processor expects to need a slot, it
    /// gets here by speculation, while it still waits for the group's control bytes.
    static void prefetch(const hash_place& group) noexcept {
        constexpr std::size_t k_bytes = k_hash_group_slots * slot::k_slot_bytes;
        if constexpr (k_bytes <= 4 * k_line_bytes) {
            for (std::size_t i = 0; i < k_bytes; i += k_line_bytes)
                __builtin_prefetch(group.slot + i);
        }
    }

    /// The place of an iterator. After an increment it also records which slots of a few groups (its window) had
    /// elements at that moment. So it reaches the end of a group, a branch that no processor predicts, only once per
    /// window.
    class cursor {
    public:
        cursor() = default; // the end
        explicit cursor(hash_place at, bool is_large = false) noexcept : window_(at), is_large_(is_large) {}
        /// Returns a cursor at the first element at or behind the slot `from` of `group`, or the end.
        [[nodiscard, gnu::always_inline]] static cursor first(hash_place group, std::size_t from,
                                                              bool is_large) noexcept {
            return is_large ? find<true>(group, from) : find<false>(group, from);
        }

        [[nodiscard]] hash_place place() const noexcept {
            const auto index = static_cast<std::size_t>(__builtin_ctzll(taken_)); // `taken_` is never 0
            return {window_.control + index, window_.slot + (index - index / k_hash_group) * slot::k_slot_bytes};
        }
        void next() noexcept {
            do {
                const std::uint64_t left = taken_ & (taken_ - 1);
                if (left == 0) {
                    *this = further(place(), is_large_);
                    return;
                }
                taken_ = left;
            } while (*place().control == k_slot_empty); // erased in the meantime
        }
        /// Returns a cursor at the first element behind this one, or the end. This one may be erased.
        [[nodiscard]] cursor following() const noexcept { return cursor(place_further(place()), is_large_); }

    private:
        static constexpr std::size_t k_group_bytes = k_hash_group_slots * slot::k_slot_bytes;

        cursor(hash_place window, std::uint64_t taken, bool is_large) noexcept
            : window_(window), taken_(taken), is_large_(is_large) {}

        [[nodiscard, gnu::noinline]] static cursor further(hash_place at, bool is_large) noexcept {
            const std::size_t index = index_of(at);
            return first({at.control - index, at.slot - index * slot::k_slot_bytes}, index + 1, is_large);
        }
        /// Pure, so that the compiler drops the call where the result is not used.
        [[nodiscard, gnu::pure, gnu::noinline]] static hash_place place_further(hash_place at) noexcept {
            return further(at, false).place();
        }
        [[nodiscard]] static std::size_t index_of(const hash_place& at) noexcept {
            return static_cast<std::size_t>(at.control - group_of(at));
        }

        template <bool IsLarge>
        [[nodiscard, gnu::always_inline]] static cursor find(hash_place group, std::size_t from) noexcept {
            // The groups of a window. Only two in large tables: a processor cannot wait for the cache lines of more
            // groups at once.
            constexpr std::size_t k_groups = IsLarge ? 2 : 4;
            std::uint64_t wanted = ~std::uint64_t{0} << from;
            bool ends = false;
            // An index and not two pointers, which g++ 12 would pack into a vector register, through memory.
            for (std::size_t passed = 0; !ends; passed += k_groups) {
                const hash_place window = {group.control + passed * k_hash_group, group.slot + passed * k_group_bytes};
                if constexpr (IsLarge) {
                    // The slots of the next window, and the control bytes that tell which slots to prefetch later.
                    __builtin_prefetch(window.control + 2 * k_groups * k_hash_group);
                    for (std::size_t i = k_groups * k_group_bytes; i < 2 * k_groups * k_group_bytes; i += k_line_bytes)
                        __builtin_prefetch(window.slot + i);
                }
                std::uint64_t taken = 0;
                for (std::size_t i = 0; i != k_groups && !ends; ++i) {
                    const unsigned char* const one = window.control + i * k_hash_group;
                    const std::uint32_t end = hash_group::end(one);
                    taken |= std::uint64_t{(hash_group::empty(one) | end) ^ k_hash_slots_mask} << (i * k_hash_group);
                    ends = end != 0;
                }
                if ((taken & wanted) != 0)
                    return {window, taken & wanted, IsLarge};
                wanted = ~std::uint64_t{0};
            }
            return {};
        }

        hash_place window_;       // the place that bit 0 of `taken_` stands for
        std::uint64_t taken_ = 1; // one bit for each control byte; the lowest that is set is the current element
        bool is_large_ = false;   // the table is larger than caches, so memory is prefetched
    };
};

} // namespace remanence::detail
