// The table behind hash_map and hash_set: open addressing, with slots in groups of 15, and a control byte for each slot
// that lies apart from it. After boost::unordered_flat_map (J. M. López Muñoz), which took control bytes from
// SwissTable (M. Kulukundis and others). Part of the file format. Depends on the standard library only.
//
// H1  A table has either no buckets and no block, or at least 4 buckets, a power of two. 16 buckets are a group. A
//      block consists of a byte for each bucket (at least 16 bytes), and then the slots. The first 15 bytes of a group
//      are the control bytes of a slot each; the last byte is about elements that the group had no room for (H2). The
//      last control byte of the table, and those that only fill up a group, are k_slot_end. Nothing in a block depends
//      on its address: slots are those of element_slot.hpp, and the container stores the distance to the block.
// H2  An element has a hash, computed with the seed that the container stores. All but the last 8 bits of the hash
//      choose the element's first group; the last 8 bits give its control byte. A search begins at the first group, and
//      goes on by 1, then 2, then 3 … groups. An element lies in the first group of this sequence that was not full
//      when the element was inserted. In the last byte of each full group before that one, a bit is set; its number is
//      the last 3 bits of the hash. So a look-up ends at a group where that bit is not set, or after the last group.
// H3  Those bits stay set until the elements move to another block. The number of elements plus `room_` is thirteen
//      sixteenths of the buckets, minus one for each erasure of an element whose bit was set in its own group. So
//      before look-ups become long, an insertion finds no room and moves the elements, which clears the bits.
// H4  Calls that may throw (hash, equality, constructor, allocator) come before elements move.
// H5  Each write to memory that existed before the operation is declared (declarer.hpp), except a user's writes through
//      references.
#pragma once

#include <remanence/containers/detail/element_slot.hpp>
#include <remanence/containers/detail/fetch_ahead.hpp>
#include <remanence/containers/detail/hash_block.hpp>
#include <remanence/containers/detail/hash_bytes.hpp>
#include <remanence/containers/detail/hash_group.hpp>
#include <remanence/containers/detail/hash_iterator.hpp>
#include <remanence/containers/detail/kept_allocator.hpp>
#include <remanence/containers/detail/link.hpp>
#include <remanence/detail/declarer.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::detail {

/// The number of this layout and of the hashes, in the fingerprint of each type that has such a container.
inline constexpr unsigned k_hash_layout = 2;

inline constexpr std::size_t k_hash_buckets_least = 4;

/// Both read a table's private members: hash_structure for heap::verify(), and hash_inspector, which the tests define.
template <class Container>
struct hash_structure;
struct hash_inspector;

/// Returns a number that no program can predict. Any thread.
[[nodiscard]] std::uint64_t random_seed() noexcept;

template <class Key, class Value, class Hash, class Equal, class Alloc>
class hash_table {
public:
    using block = hash_block<Value>;
    using place = hash_place;
    using cursor = typename block::cursor;
    using declare_to = declarer<Alloc>;
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
    [[nodiscard]] std::size_t buckets() const noexcept { return static_cast<std::size_t>(buckets_); }
    /// Returns a cursor at the first element, without a window: an iterator that was never incremented records no other
    /// slots, so it cannot skip an element that is inserted later.
    [[nodiscard]] cursor first() const noexcept {
        const bool is_large = size_ * 4 > buckets_ && buckets_ * block::slot::k_slot_bytes > k_cached_bytes;
        return size_ == 0 ? cursor() : cursor(cursor::first(at(0), 0, false).place(), is_large);
    }
    [[nodiscard]] static place end() noexcept { return {}; }
    /// Returns how many elements `buckets` buckets can hold.
    [[nodiscard]] static std::size_t elements_max(std::size_t buckets) noexcept {
        return buckets / 16 * 13 + buckets % 16 * 13 / 16;
    }
    /// Returns the least possible number of buckets that is not below `buckets`; 0 for 0. Throws std::length_error.
    [[nodiscard]] static std::size_t buckets_at_least(std::size_t buckets) {
        if (buckets > block::k_buckets_max)
            throw std::length_error("too many buckets for a hash table");
        return buckets == 0 ? 0 : std::max(std::bit_ceil(buckets), k_hash_buckets_least);
    }
    /// Returns the least number of buckets for `elements` elements. Throws std::length_error.
    [[nodiscard]] static std::size_t buckets_for(std::size_t elements) {
        if (elements > elements_max(block::k_buckets_max))
            throw std::length_error("too many elements for a hash table");
        const std::size_t buckets = buckets_at_least(std::max(elements, std::size_t{1}));
        return elements_max(buckets) >= elements ? buckets : 2 * buckets;
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
        place found;
        return is_decided(at(probe(*this, hash).group()), key, hash, found) ? found : find_further(key, hash);
    }

    // Prefetches of a look-up, in three steps, each of which reads what the step before has fetched: the control bytes
    // of the first group; the first slot that probably has the element; memory that this element owns.

    [[gnu::always_inline]] void fetch_group(std::uint64_t hash) const noexcept {
        if (size_ != 0)
            __builtin_prefetch(at(probe(*this, hash).group()).control);
    }
    [[gnu::always_inline]] void fetch_slot(std::uint64_t hash) const noexcept {
        place likely;
        if (find_likely(hash, likely))
            fetch_ahead(likely.slot, block::slot::k_slot_bytes);
    }
    [[gnu::always_inline]] void fetch_outside(std::uint64_t hash) const noexcept {
        place likely;
        if (!find_likely(hash, likely))
            return;
        if constexpr (block::slot::k_is_inline)
            detail::fetch_outside(block::value(likely));
        else
            fetch_ahead(std::addressof(block::value(likely)), sizeof(Value));
    }

    /// Inserts an element whose key is not in the table. Returns its place. If it throws, nothing has changed.
    place put(std::uint64_t hash, detached& element) {
        return put_slot(hash, [&] { return element.release(); });
    }
    /// Like put(), for an element in a slot of the caller. If put_slot() throws, the element is still there; otherwise
    /// the slot is raw afterwards.
    template <class Release>
    place put_slot(std::uint64_t hash, Release&& release) {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        if (room_ == 0)
            grow();
        const place to = claim(hash, declare);
        declare(to.slot, block::slot::k_slot_bytes);
        block::slot::move(release(), to.slot);
        --room_;
        ++size_;
        return to;
    }

    /// Destroys an element.
    void erase(place at) noexcept {
        const declare_to declare(alloc());
        if constexpr (block::slot::template is_destroyed_v<Alloc>) {
            declare(at.slot, block::slot::k_slot_bytes);
            Alloc where = alloc();
            block::slot::destroy(where, at.slot);
        }
        leave(at, declare);
    }
    /// Moves an element into a raw slot.
    void take(place at, void* into) noexcept {
        const declare_to declare(alloc());
        if constexpr (block::k_moves_write)
            declare(at.slot, block::slot::k_slot_bytes);
        block::slot::move(at.slot, into);
        leave(at, declare);
    }
    /// True if `address` lies in the block.
    [[nodiscard]] bool has_in_block(const void* address) const noexcept {
        const std::less<> before;
        const std::byte* const begin = block_.get();
        return begin != nullptr && !before(address, begin) &&
               before(address, begin + block::units(buckets()) * sizeof(typename block::unit));
    }
    void clear() noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        destroy_all();
        forget();
    }

    /// Makes room for `elements` elements in total: no insertion moves elements until there are more than that, unless
    /// elements are erased. If it throws, nothing has changed.
    void reserve(std::size_t elements) {
        if (elements > size() && elements - size() > room_)
            rehash_for(std::max(elements, elements_max(buckets())));
    }
    /// Changes the number of buckets to the least that suffices for `elements` elements and for those in the table, and
    /// restores the full room (H3). If it throws, nothing has changed.
    void rehash_for(std::size_t elements) {
        const std::size_t buckets = elements == 0 && size_ == 0 ? 0 : buckets_for(std::max(elements, size()));
        if (buckets == buckets_ && size() + room_ == elements_max(buckets))
            return;
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        if (buckets == 0)
            clear();
        else
            move_to(buckets);
    }

    /// Takes over the block of `other`, which has an equal allocator and is empty afterwards. This table must be empty.
    void steal(hash_table& other) noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        block_.set(other.block_.get());
        buckets_ = other.buckets_;
        size_ = other.size_;
        room_ = other.room_;
        seed_ = other.seed_;
        other.forget();
        other.seed_ = random_seed();
    }
    /// Swaps everything except hashes, equalities and allocators. The allocators must be equal.
    void swap_elements(hash_table& other) noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        std::byte* const kept = block_.get();
        block_.set(other.block_.get());
        other.block_.set(kept);
        std::swap(buckets_, other.buckets_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
        std::swap(seed_, other.seed_);
    }
    void set_functions(const Hash& hash, const Equal& equal) {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        hash_ = hash;
        equal_ = equal;
    }
    void swap_functions(hash_table& other) {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        using std::swap;
        swap(hash_, other.hash_);
        swap(equal_, other.equal_);
    }
    /// The table must be empty.
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
    /// About the size of a processor's cache. Iterations over larger tables prefetch memory, unless most slots are
    /// empty.
    static constexpr std::size_t k_cached_bytes = std::size_t{1} << 20;
    using iterator = hash_iterator<Value, false>;
    template <class Block> // a template, since Value may still be incomplete here
    using block_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<typename Block::unit>;

    template <class K>
    static constexpr bool is_nothrow_hash_v = std::invocable<const Hash&, const K&, std::uint64_t>
                                                  ? std::is_nothrow_invocable_v<const Hash&, const K&, std::uint64_t>
                                                  : std::is_nothrow_invocable_v<const Hash&, const K&>;

    /// Visits the groups in the order of H2, each once. The table must have buckets.
    class probe {
    public:
        probe(const hash_table& table, std::uint64_t hash) noexcept
            : mask_((table.buckets_ - 1) / k_hash_group), group_((hash >> 8) & mask_) {}
        [[nodiscard]] std::size_t group() const noexcept { return static_cast<std::size_t>(group_); }
        [[nodiscard]] bool is_last() const noexcept { return step_ == mask_; }
        void next() noexcept { group_ = (group_ + ++step_) & mask_; }

    private:
        std::uint64_t mask_;
        std::uint64_t group_;
        std::uint64_t step_ = 0;
    };

    /// Returns the first slot of a group. The table must have buckets.
    [[nodiscard]] place at(std::size_t group) const noexcept {
        std::byte* const begin = &*block_;
        return {reinterpret_cast<unsigned char*>(begin) + group * k_hash_group,
                begin + block::slots_offset(buckets()) + group * (k_hash_group_slots * block::slot::k_slot_bytes)};
    }
    /// True if the first group for `hash` has an element with the same control byte; then `found` is the first such
    /// element.
    [[nodiscard]] bool find_likely(std::uint64_t hash, place& found) const noexcept {
        if (size_ == 0)
            return false;
        const place group = at(probe(*this, hash).group());
        const std::uint32_t alike = hash_group::alike(group.control, hash);
        if (alike == 0)
            return false;
        found = block::behind(group, first_in(alike));
        return true;
    }
    /// True if the search ends at `group`: the key is in it, or can be in no later group.
    template <class K>
    [[nodiscard]] bool is_decided(const place& group, const K& key, std::uint64_t hash, place& found) const {
        if (std::uint32_t alike = hash_group::alike(group.control, hash)) {
            block::prefetch(group);
            do {
                const place one = block::behind(group, first_in(alike));
                if (equal_(key_of(block::value(one)), key)) [[likely]] {
                    found = one;
                    return true;
                }
                alike &= alike - 1;
            } while (alike != 0);
        }
        return !hash_overflow::has(group.control, hash);
    }
    /// Searches the groups after the first. A function of its own, so that the search of the first group has all
    /// registers for itself.
    template <class K>
    [[nodiscard, gnu::noinline]] place find_further(const K& key, std::uint64_t hash) const {
        place found;
        for (probe each(*this, hash); !each.is_last();) {
            each.next();
            if (is_decided(at(each.group()), key, hash, found))
                break;
        }
        return found;
    }
    /// Chooses a free slot for an element with this hash (H2) and sets its control byte. There must be a free slot.
    template <class Declare>
    [[nodiscard]] place claim(std::uint64_t hash, const Declare& declare) noexcept {
        for (probe each(*this, hash);; each.next()) {
            const place group = at(each.group());
            block::prefetch(group);
            if (const std::uint32_t empty = hash_group::empty(group.control)) {
                const place to = block::behind(group, first_in(empty));
                declare(to.control, 1);
                *to.control = control_of(hash);
                return to;
            }
            hash_overflow::add(group.control, hash, declare);
        }
    }
    /// Updates control byte and counts after a slot has become raw.
    void leave(const place& from, const declare_to& declare) noexcept {
        declare(this, sizeof *this);
        declare(from.control, 1);
        if (!hash_overflow::has(block::group_of(from), *from.control)) [[likely]]
            ++room_; // H3
        --size_;
        *from.control = k_slot_empty;
    }
    void forget() noexcept {
        block_.set(nullptr);
        buckets_ = 0;
        size_ = 0;
        room_ = 0;
    }

    /// Moves the elements to a table of twice the size or, if erasures took up much of the room (H3), of the same size.
    /// The caller must have declared the table.
    void grow() {
        const bool is_full = size() >= elements_max(buckets()) / 4 * 3;
        move_to(buckets_ == 0 ? k_hash_buckets_least : is_full ? buckets_for(elements_max(buckets()) + 1) : buckets());
    }
    void move_to(std::size_t count) {
        block_alloc<block> where(alloc());
        std::vector<std::uint64_t> hashes; // in memory outside the heap
        if constexpr (!is_nothrow_hash_v<Key>) {
            hashes.reserve(size());
            for_each([&](const place& each) { hashes.push_back(hash_of(key_of(block::value(each)))); });
        }
        auto* const begin = reinterpret_cast<std::byte*>(where.allocate(block::units(count)));
        std::memset(begin, k_slot_empty, std::max(count, k_hash_group));
        if (count < k_hash_group)
            std::memset(begin + count - 1, k_slot_end, k_hash_group_slots - (count - 1));
        else
            begin[count - 2] = std::byte{k_slot_end};
        for (std::size_t i = k_hash_group_slots; i < std::max(count, k_hash_group); i += k_hash_group)
            begin[i] = std::byte{0};

        // H4: from here on nothing throws.
        const declare_to declare(alloc());
        if constexpr (block::k_moves_write) {
            if (buckets_ != 0)
                declare(block_.get(), block::units(buckets()) * sizeof(typename block::unit));
        }
        std::byte* const old_begin = block_.get();
        const std::size_t old_count = buckets();
        const iterator old(first());
        block_.set(begin);
        buckets_ = count;
        room_ = elements_max(count) - size();
        std::size_t index = 0;
        for_each_from(old, [&](const place& each) {
            std::uint64_t hash = 0;
            if constexpr (is_nothrow_hash_v<Key>)
                hash = hash_of(key_of(block::value(each)));
            else
                hash = hashes[index++];
            block::slot::move(each.slot, claim(hash, [](const void*, std::size_t) {}).slot);
        });
        if (old_begin != nullptr)
            where.deallocate(reinterpret_cast<typename block::unit*>(old_begin), block::units(old_count));
    }

    template <class Do>
    void for_each(Do&& act) const {
        for_each_from(iterator(first()), std::forward<Do>(act));
    }
    template <class Do>
    static void for_each_from(iterator each, Do&& act) {
        for (; each != iterator(); ++each)
            act(each.place());
    }
    void destroy_all() noexcept {
        std::byte* const begin = block_.get();
        if (begin == nullptr)
            return;
        if constexpr (block::slot::template is_destroyed_v<Alloc>) {
            Alloc one = alloc();
            for_each([&](const place& each) { block::slot::destroy(one, each.slot); });
        }
        block_alloc<block> where(alloc());
        where.deallocate(reinterpret_cast<typename block::unit*>(begin), block::units(buckets()));
    }

    // Part of the layout (k_hash_layout): 48 bytes with the library's hash, equality and allocator.
    link<std::byte> block_; // null if there are no buckets
    std::uint64_t buckets_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t room_ = 0; // H3
    std::uint64_t seed_ = random_seed();
    [[no_unique_address]] Hash hash_;
    [[no_unique_address]] Equal equal_;
    [[no_unique_address]] kept_allocator<Alloc> alloc_;
};

} // namespace remanence::detail
