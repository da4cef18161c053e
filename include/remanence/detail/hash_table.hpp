// The table behind hash_map and hash_set: open addressing, its slots in groups of 16, each with a control byte that
// lies apart. After SwissTable (M. Kulukundis and others, abseil.io/about/design/swisstables). Part of the layout of
// what programs store. Depends on the standard library only.
//
//  H1  There are no slots, and no block, or a power of two of them, at least 4. A block is a control byte for each
//      slot, 16 more that say "end", then the slots. Nothing in it depends on the address it lies at: slots are those
//      of element_slot.hpp, the container knows the block by a distance.
//  H2  The hash of an element, with the seed that the container stores, chooses its group by all but the last 7 bits;
//      those are its control byte. An element lies in the first group, of the sequence that begins there (1, then 2,
//      then 3 … groups further), that was not full when it came. So a look-up ends at a group with an empty slot.
//  H3  An erased slot becomes empty if no look-up for another element can have passed its group: the group has an empty
//      slot, or is the only one. Elements, erased slots and `room` make seven eighths of all slots.
//  H4  Whatever throws (hash, equality, constructor, allocator) does so before elements move.
//  H5  Each write to memory that was there before is announced (announcer.hpp), but for those of users through
//      references.
#pragma once

#include <remanence/detail/announcer.hpp>
#include <remanence/detail/element_slot.hpp>
#include <remanence/detail/hash_bytes.hpp>
#include <remanence/detail/hash_group.hpp>
#include <remanence/detail/kept_allocator.hpp>
#include <remanence/detail/link.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::detail {

/// The number of this layout and of the hashes; in the fingerprint of each type that has such a container.
inline constexpr unsigned k_hash_layout = 1;

inline constexpr std::size_t k_hash_inline_bytes = 128;
inline constexpr std::size_t k_hash_slots_least = 4;

/// Look into tables: heap::verify(), and tests, which define the second.
template <class Container>
struct hash_structure;
struct hash_inspector;

/// A number that no program can know before. Any thread.
[[nodiscard]] std::uint64_t random_seed() noexcept;

/// Where an element is. The end of a table is at its byte that says so; {null, null} without slots.
struct hash_place {
    signed char* control = nullptr;
    std::byte* slot = nullptr;

    friend bool operator==(const hash_place& a, const hash_place& b) noexcept { return a.control == b.control; }
};

/// Everything about a block that depends on the element.
template <class Value>
struct hash_block {
    using slots = element_slot<Value, k_hash_inline_bytes>;
    static constexpr std::size_t k_slot_alignment = alignof(typename slots::slot_type);
    static constexpr std::size_t k_alignment = std::max(k_hash_group, k_slot_alignment);
    /// Moving an element to another slot writes to the first, too.
    static constexpr bool k_moves_write = slots::k_is_inline && !slot_value<Value>::k_is_bytes;

    /// What blocks are allocated in. No group straddles a cache line.
    struct alignas(k_alignment) unit {
        std::byte bytes[k_alignment];
    };
    [[nodiscard]] static std::size_t slots_offset(std::size_t count) noexcept {
        return (count + k_hash_group + k_slot_alignment - 1) / k_slot_alignment * k_slot_alignment;
    }
    [[nodiscard]] static std::size_t units(std::size_t count) noexcept {
        return (slots_offset(count) + count * slots::k_slot_bytes + sizeof(unit) - 1) / sizeof(unit);
    }
    /// Slots in the address space, a power of two.
    static constexpr std::size_t k_count_max = std::bit_floor((std::size_t{1} << 62) / (slots::k_slot_bytes + 1));

    [[nodiscard]] static Value& value(const hash_place& at) noexcept { return *slots::at(at.slot); }
    /// The first element from here on, or the end.
    [[nodiscard]] static hash_place settled(hash_place at) noexcept {
        std::uint32_t taken = hash_group::taken_or_end(at.control);
        while (taken == 0) {
            at = behind(at, k_hash_group);
            taken = hash_group::taken_or_end(at.control);
        }
        return behind(at, static_cast<std::size_t>(std::countr_zero(taken)));
    }
    [[nodiscard]] static hash_place behind(const hash_place& at, std::size_t count) noexcept {
        return {at.control + count, at.slot + count * slots::k_slot_bytes};
    }
};

/// Forward. Two native pointers wide: not to be stored in a heap that may move.
template <class Value, bool IsConst>
class hash_iterator {
    using block = hash_block<Value>;

public:
    using iterator_category = std::forward_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<IsConst, const Value&, Value&>;
    using pointer = std::conditional_t<IsConst, const Value*, Value*>;

    hash_iterator() = default;
    explicit hash_iterator(hash_place at) noexcept : at_(at) {}
    template <bool IsOtherConst>
        requires(IsConst && !IsOtherConst)
    hash_iterator(const hash_iterator<Value, IsOtherConst>& other) noexcept // NOLINT(google-explicit-constructor)
        : at_(other.place()) {}

    [[nodiscard]] reference operator*() const noexcept { return block::value(at_); }
    [[nodiscard]] pointer operator->() const noexcept { return std::addressof(**this); }
    hash_iterator& operator++() noexcept {
        at_ = block::settled(block::behind(at_, 1));
        return *this;
    }
    hash_iterator operator++(int) noexcept {
        const hash_iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const hash_iterator& a, const hash_iterator& b) noexcept { return a.at_ == b.at_; }

    /// For the container.
    [[nodiscard]] hash_place place() const noexcept { return at_; }

private:
    hash_place at_;
};

template <class Key, class Value, class Hash, class Equal, class Alloc>
class hash_table {
public:
    using block = hash_block<Value>;
    using place = hash_place;
    using announce_to = announcer<Alloc>;
    using detached = detached_element<Key, Value, Alloc, element_slot<Value, k_hash_inline_bytes>>;

    hash_table(const Hash& hash, const Equal& equal, const Alloc& alloc) : hash_(hash), equal_(equal), alloc_(alloc) {}
    hash_table(const hash_table&) = delete;
    hash_table& operator=(const hash_table&) = delete;
    ~hash_table() { destroy_all(); }

    [[nodiscard]] static const Key& key_of(const Value& value) noexcept { return key_of_element<Key>(value); }

    [[nodiscard]] const Hash& hash() const noexcept { return hash_; }
    [[nodiscard]] const Equal& equal() const noexcept { return equal_; }
    [[nodiscard]] Alloc alloc() const noexcept { return alloc_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }
    [[nodiscard]] std::size_t slots() const noexcept { return static_cast<std::size_t>(slots_); }
    [[nodiscard]] place first() const noexcept { return size_ == 0 ? end() : block::settled(at(0)); }
    [[nodiscard]] place end() const noexcept { return at(slots()); }
    /// How many elements so many slots take.
    [[nodiscard]] static std::size_t elements_max(std::size_t slots) noexcept {
        return slots / 8 * 7 + slots % 8 * 7 / 8;
    }
    /// The least number of slots for so many elements. Throws std::length_error.
    [[nodiscard]] static std::size_t slots_for(std::size_t elements) {
        if (elements > elements_max(block::k_count_max))
            throw std::length_error("too many elements for a hash table");
        const std::size_t slots = std::max(std::bit_ceil(elements), k_hash_slots_least);
        return elements_max(slots) >= elements ? slots : 2 * slots;
    }

    template <class K>
    [[nodiscard]] std::uint64_t hash_of(const K& key) const noexcept(is_nothrow_hash_v<K>) {
        if constexpr (std::invocable<const Hash&, const K&, std::uint64_t>)
            return hash_(key, seed_);
        else
            return hash_number(hash_(key), seed_);
    }
    template <class K>
    [[nodiscard]] place find(const K& key) const {
        return size_ == 0 ? end() : find(key, hash_of(key));
    }
    template <class K>
    [[nodiscard]] place find(const K& key, std::uint64_t hash) const {
        if (size_ == 0)
            return end();
        for (probe each(*this, hash);; each.next()) {
            const place group = at(each.first());
            for (std::uint32_t alike = hash_group::equal(group.control, control_of(hash)); alike != 0;
                 alike &= alike - 1) {
                const place one = block::behind(group, static_cast<std::size_t>(std::countr_zero(alike)));
                if (equal_(key_of(block::value(one)), key)) [[likely]]
                    return one;
            }
            if (hash_group::equal(group.control, k_slot_empty) != 0 || each.is_last()) [[likely]]
                return end();
        }
    }

    /// Inserts an element that is not there. Returns where it is. When it throws, nothing happened.
    place put(std::uint64_t hash, detached& element) {
        return put_slot(hash, [&] { return element.release(); });
    }
    /// The same with a slot that stays the caller's when it throws, and is raw afterwards.
    template <class Release>
    place put_slot(std::uint64_t hash, Release&& release) {
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        place to = slots_ == 0 ? place() : free_place(hash);
        if (slots_ == 0 || (room_ == 0 && *to.control == k_slot_empty)) {
            grow();
            to = free_place(hash);
        }
        announce(to.control, 1);
        announce(to.slot, block::slots::k_slot_bytes);
        block::slots::move(release(), to.slot);
        room_ -= *to.control == k_slot_empty ? 1 : 0;
        *to.control = control_of(hash);
        ++size_;
        return to;
    }

    /// Destroys an element.
    void erase(place at) noexcept {
        const announce_to announce(alloc());
        if constexpr (block::slots::k_is_destroyed) {
            announce(at.slot, block::slots::k_slot_bytes);
            Alloc where = alloc();
            block::slots::destroy(where, at.slot);
        }
        leave(at, announce);
    }
    /// Moves an element into a raw slot.
    void take(place at, void* into) noexcept {
        const announce_to announce(alloc());
        if constexpr (block::k_moves_write)
            announce(at.slot, block::slots::k_slot_bytes);
        block::slots::move(at.slot, into);
        leave(at, announce);
    }
    void clear() noexcept {
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        destroy_all();
        forget();
    }

    /// Room for so many elements in all: unless any are erased, no insertion moves elements before there are more. When
    /// it throws, nothing happened.
    void reserve(std::size_t elements) {
        if (elements > size() && elements - size() > room_)
            rehash_for(std::max(elements, elements_max(slots())));
    }
    /// The least number of slots for so many elements, and for those that are there, and none of them erased. When it
    /// throws, nothing happened.
    void rehash_for(std::size_t elements) {
        const std::size_t slots = elements == 0 && size_ == 0 ? 0 : slots_for(std::max(elements, size()));
        if (slots == slots_ && size() + room_ == elements_max(slots))
            return;
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        if (slots == 0)
            clear();
        else
            move_to(slots);
    }

    /// Takes everything from a table whose allocator is equal, and leaves that empty. This one must be empty.
    void steal(hash_table& other) noexcept {
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        announce(&other, sizeof other);
        block_.set(other.block_.get());
        slots_ = other.slots_;
        size_ = other.size_;
        room_ = other.room_;
        seed_ = other.seed_;
        other.forget();
        other.seed_ = random_seed();
    }
    /// All but hashes, equalities and allocators, which are equal.
    void swap_elements(hash_table& other) noexcept {
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        announce(&other, sizeof other);
        std::byte* const kept = block_.get();
        block_.set(other.block_.get());
        other.block_.set(kept);
        std::swap(slots_, other.slots_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
        std::swap(seed_, other.seed_);
    }
    void set_functions(const Hash& hash, const Equal& equal) {
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        hash_ = hash;
        equal_ = equal;
    }
    void swap_functions(hash_table& other) {
        const announce_to announce(alloc());
        announce(this, sizeof *this);
        announce(&other, sizeof other);
        using std::swap;
        swap(hash_, other.hash_);
        swap(equal_, other.equal_);
    }
    /// With an empty table only.
    void set_alloc(const Alloc& alloc) noexcept { alloc_.set(alloc); }
    void swap_alloc(hash_table& other) noexcept {
        const Alloc kept = alloc();
        alloc_.set(other.alloc());
        other.alloc_.set(kept);
    }

private:
    template <class Container>
    friend struct hash_structure;
    friend hash_inspector;
    template <class Block> // a template, since Value may still be incomplete here
    using block_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<typename Block::unit>;

    template <class K>
    static constexpr bool is_nothrow_hash_v = std::invocable<const Hash&, const K&, std::uint64_t>
                                                  ? std::is_nothrow_invocable_v<const Hash&, const K&, std::uint64_t>
                                                  : std::is_nothrow_invocable_v<const Hash&, const K&>;

    /// The groups in the order of H2, each once.
    class probe {
    public:
        probe(const hash_table& table, std::uint64_t hash) noexcept
            : mask_((std::max<std::uint64_t>(table.slots_, k_hash_group) / k_hash_group) - 1),
              group_((hash >> 7) & mask_) {}
        [[nodiscard]] std::size_t first() const noexcept { return static_cast<std::size_t>(group_) * k_hash_group; }
        [[nodiscard]] bool is_last() const noexcept { return step_ == mask_; }
        void next() noexcept { group_ = (group_ + ++step_) & mask_; }

    private:
        std::uint64_t mask_;
        std::uint64_t group_;
        std::uint64_t step_ = 0;
    };

    [[nodiscard]] static signed char control_of(std::uint64_t hash) noexcept {
        return static_cast<signed char>(hash & 0x7f);
    }
    [[nodiscard]] place at(std::size_t index) const noexcept {
        std::byte* const begin = block_.get();
        if (begin == nullptr)
            return {};
        return block::behind({reinterpret_cast<signed char*>(begin), begin + block::slots_offset(slots())}, index);
    }
    [[nodiscard]] place free_place(std::uint64_t hash) const noexcept {
        for (probe each(*this, hash);; each.next()) {
            const place group = at(each.first());
            if (const std::uint32_t found = hash_group::free(group.control))
                return block::behind(group, static_cast<std::size_t>(std::countr_zero(found)));
        }
    }
    /// A slot has become raw.
    void leave(const place& from, const announce_to& announce) noexcept {
        announce(this, sizeof *this);
        announce(from.control, 1);
        const std::size_t index = static_cast<std::size_t>(from.control - at(0).control);
        const place group = at(index / k_hash_group * k_hash_group);
        if (slots_ <= k_hash_group || hash_group::equal(group.control, k_slot_empty) != 0) { // H3
            *from.control = k_slot_empty;
            ++room_;
        } else {
            *from.control = k_slot_erased;
        }
        --size_;
    }
    void forget() noexcept {
        block_.set(nullptr);
        slots_ = 0;
        size_ = 0;
        room_ = 0;
    }

    /// Announced by the caller. Many erased slots give way to as many elements; else there are twice as many slots.
    void grow() {
        const bool is_full = size() >= elements_max(slots()) / 4 * 3;
        move_to(slots_ == 0 ? k_hash_slots_least : is_full ? slots_for(elements_max(slots()) + 1) : slots());
    }
    void move_to(std::size_t count) {
        block_alloc<block> where(alloc());
        std::vector<std::uint64_t> hashes; // not in the heap
        if constexpr (!is_nothrow_hash_v<Key>) {
            hashes.reserve(size());
            for_each([&](const place& each) { hashes.push_back(hash_of(key_of(block::value(each)))); });
        }
        auto* const begin = reinterpret_cast<std::byte*>(where.allocate(block::units(count)));
        std::memset(begin, static_cast<unsigned char>(k_slot_empty), count);
        std::memset(begin + count, static_cast<unsigned char>(k_slot_end), k_hash_group);

        // Nothing throws any more. H4
        const announce_to announce(alloc());
        if constexpr (block::k_moves_write) {
            if (slots_ != 0)
                announce(block_.get(), block::units(slots()) * sizeof(typename block::unit));
        }
        std::byte* const old_begin = block_.get();
        const std::size_t old_count = slots();
        const place old = at(0);
        block_.set(begin);
        slots_ = count;
        room_ = elements_max(count) - size();
        std::size_t index = 0;
        for_each_in(old, size(), [&](const place& each) {
            std::uint64_t hash = 0;
            if constexpr (is_nothrow_hash_v<Key>)
                hash = hash_of(key_of(block::value(each)));
            else
                hash = hashes[index++];
            const place to = free_place(hash);
            block::slots::move(each.slot, to.slot);
            *to.control = control_of(hash);
        });
        if (old_begin != nullptr)
            where.deallocate(reinterpret_cast<typename block::unit*>(old_begin), block::units(old_count));
    }

    template <class Do>
    void for_each(Do&& act) const {
        for_each_in(at(0), size(), std::forward<Do>(act));
    }
    template <class Do>
    static void for_each_in(place at, std::size_t count, Do&& act) {
        for (; count != 0; --count) {
            at = block::settled(at);
            act(at);
            at = block::behind(at, 1);
        }
    }
    void destroy_all() noexcept {
        std::byte* const begin = block_.get();
        if (begin == nullptr)
            return;
        if constexpr (block::slots::k_is_destroyed) {
            Alloc one = alloc();
            for_each([&](const place& each) { block::slots::destroy(one, each.slot); });
        }
        block_alloc<block> where(alloc());
        where.deallocate(reinterpret_cast<typename block::unit*>(begin), block::units(slots()));
    }

    link<std::byte> block_; // null: there are no slots
    std::uint64_t slots_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t room_ = 0; // H3
    std::uint64_t seed_ = random_seed();
    [[no_unique_address]] Hash hash_;
    [[no_unique_address]] Equal equal_;
    [[no_unique_address]] kept_allocator<Alloc> alloc_;
};

} // namespace remanence::detail
