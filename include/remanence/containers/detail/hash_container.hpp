// The interface that hash_map and hash_set share. hash_set.hpp says what it promises. Depends on the standard library
// only.
#pragma once

#include <remanence/containers/detail/between_heaps.hpp>
#include <remanence/containers/detail/container.hpp>
#include <remanence/containers/detail/hash_table.hpp>
#include <remanence/containers/detail/node_handle.hpp>
#include <remanence/containers/detail/ranges.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class Hash, class Equal>
concept transparent_hashing = requires {
    typename Hash::is_transparent;
    typename Equal::is_transparent;
};

/// The types of a container. In sets `Value` is Key.
template <class Key, class Value, class Hash, class Equal, class Alloc>
struct hash_traits {
    using key_type = Key;
    using value_type = Value;
    using hasher = Hash;
    using key_equal = Equal;
    using allocator_type = Alloc;
    static constexpr bool k_is_set = std::is_same_v<Key, Value>;
};

template <class Traits>
class hash_container {
    using alloc_traits = std::allocator_traits<typename Traits::allocator_type>;
    using place = hash_place;

public:
    using key_type = typename Traits::key_type;
    using value_type = typename Traits::value_type;
    using hasher = typename Traits::hasher;
    using key_equal = typename Traits::key_equal;
    using allocator_type = typename Traits::allocator_type;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;
    using pointer = value_type*;
    using const_pointer = const value_type*;
    using iterator = hash_iterator<value_type, Traits::k_is_set>;
    using const_iterator = hash_iterator<value_type, true>;
    using node_type = node_handle<key_type, value_type, allocator_type, element_slot<value_type, k_hash_inline_bytes>>;
    using insert_return_type = insert_return<iterator, node_type>;

    /// True if find() accepts a K without constructing a key from it.
    template <class K>
    static constexpr bool is_findable_v =
        std::same_as<std::remove_cvref_t<K>, key_type> || transparent_hashing<hasher, key_equal>;

    static_assert(std::is_same_v<typename alloc_traits::value_type, value_type>,
                  "the allocator of a hash container is one of its elements");
    static_assert(std::is_same_v<typename alloc_traits::pointer, value_type*>,
                  "Remanence's containers take allocators with plain pointers");

    hash_container() : hash_container(size_type{0}) {}
    explicit hash_container(size_type elements, const hasher& hash = hasher(), const key_equal& equal = key_equal(),
                            const allocator_type& alloc = allocator_type())
        : table_(hash, equal, alloc) {
        table_.rehash_for(elements);
    }
    hash_container(size_type elements, const allocator_type& alloc)
        : hash_container(elements, hasher(), key_equal(), alloc) {}
    hash_container(size_type elements, const hasher& hash, const allocator_type& alloc)
        : hash_container(elements, hash, key_equal(), alloc) {}
    explicit hash_container(const allocator_type& alloc) : hash_container(0, alloc) {}
    template <std::input_iterator Iterator>
    hash_container(Iterator first, Iterator last, size_type elements = 0, const hasher& hash = hasher(),
                   const key_equal& equal = key_equal(), const allocator_type& alloc = allocator_type())
        : hash_container(elements, hash, equal, alloc) {
        insert(first, last);
    }
    template <std::input_iterator Iterator>
    hash_container(Iterator first, Iterator last, size_type elements, const allocator_type& alloc)
        : hash_container(first, last, elements, hasher(), key_equal(), alloc) {}
    template <std::input_iterator Iterator>
    hash_container(Iterator first, Iterator last, size_type elements, const hasher& hash, const allocator_type& alloc)
        : hash_container(first, last, elements, hash, key_equal(), alloc) {}
    template <std::input_iterator Iterator>
    hash_container(Iterator first, Iterator last, const allocator_type& alloc)
        : hash_container(first, last, 0, alloc) {}
    hash_container(std::initializer_list<value_type> all, size_type elements = 0, const hasher& hash = hasher(),
                   const key_equal& equal = key_equal(), const allocator_type& alloc = allocator_type())
        : hash_container(all.begin(), all.end(), elements, hash, equal, alloc) {}
    hash_container(std::initializer_list<value_type> all, size_type elements, const allocator_type& alloc)
        : hash_container(all, elements, hasher(), key_equal(), alloc) {}
    hash_container(std::initializer_list<value_type> all, size_type elements, const hasher& hash,
                   const allocator_type& alloc)
        : hash_container(all, elements, hash, key_equal(), alloc) {}
    hash_container(std::initializer_list<value_type> all, const allocator_type& alloc)
        : hash_container(all, 0, alloc) {}
    template <range_of_elements<value_type> Range>
    hash_container(from_range_t, Range&& all, size_type elements = 0, const hasher& hash = hasher(),
                   const key_equal& equal = key_equal(), const allocator_type& alloc = allocator_type())
        : hash_container(elements, hash, equal, alloc) {
        insert_range(std::forward<Range>(all));
    }
    template <range_of_elements<value_type> Range>
    hash_container(from_range_t tag, Range&& all, size_type elements, const allocator_type& alloc)
        : hash_container(tag, std::forward<Range>(all), elements, hasher(), key_equal(), alloc) {}
    template <range_of_elements<value_type> Range>
    hash_container(from_range_t tag, Range&& all, size_type elements, const hasher& hash, const allocator_type& alloc)
        : hash_container(tag, std::forward<Range>(all), elements, hash, key_equal(), alloc) {}
    template <range_of_elements<value_type> Range>
    hash_container(from_range_t tag, Range&& all, const allocator_type& alloc)
        : hash_container(tag, std::forward<Range>(all), 0, alloc) {}
    hash_container(const hash_container& other)
        : hash_container(other, alloc_traits::select_on_container_copy_construction(other.table_.alloc())) {}
    hash_container(const hash_container& other, const allocator_type& alloc)
        : table_(other.table_.hash(), other.table_.equal(), alloc) {
        table_.rehash_for(other.size());
        for (const value_type& each : other)
            put_made(table_.hash_of(table::key_of(each)), each);
    }
    hash_container(hash_container&& other) noexcept(k_functions_copy_freely)
        : table_(other.table_.hash(), other.table_.equal(), other.table_.alloc()) {
        table_.steal(other.table_);
    }
    hash_container(hash_container&& other, const allocator_type& alloc)
        : table_(other.table_.hash(), other.table_.equal(), alloc) {
        if (table_.alloc() == other.table_.alloc())
            table_.steal(other.table_);
        else
            move_all(other);
    }
    ~hash_container() = default;

    hash_container& operator=(const hash_container& other) {
        if (this == &other)
            return *this;
        constexpr bool propagates = alloc_traits::propagate_on_container_copy_assignment::value;
        hash_container copy(other, propagates ? other.table_.alloc() : table_.alloc());
        become<propagates>(copy);
        return *this;
    }
    hash_container& operator=(std::initializer_list<value_type> all) {
        hash_container made(all, 0, table_.hash(), table_.equal(), table_.alloc());
        become<false>(made);
        return *this;
    }
    hash_container& operator=(hash_container&& other) noexcept(alloc_traits::is_always_equal::value &&
                                                               std::is_nothrow_copy_assignable_v<hasher> &&
                                                               std::is_nothrow_copy_assignable_v<key_equal> &&
                                                               k_functions_copy_freely) {
        if (this == &other)
            return *this;
        constexpr bool propagates = alloc_traits::propagate_on_container_move_assignment::value;
        if (propagates || table_.alloc() == other.table_.alloc()) {
            become<propagates>(other);
        } else {
            hash_container moved(std::move(other), table_.alloc());
            become<false>(moved);
        }
        return *this;
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return table_.alloc(); }
    /// Returns the hash function. The container passes its seed as second argument, if the function accepts one.
    [[nodiscard]] hasher hash_function() const { return table_.hash(); }
    [[nodiscard]] key_equal key_eq() const { return table_.equal(); }

    [[nodiscard]] iterator begin() noexcept { return iterator(table_.first()); }
    [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(table_.first()); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] iterator end() noexcept { return iterator(table_.end()); }
    [[nodiscard]] const_iterator end() const noexcept { return const_iterator(table_.end()); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }

    [[nodiscard]] bool empty() const noexcept { return table_.size() == 0; }
    [[nodiscard]] size_type size() const noexcept { return table_.size(); }
    [[nodiscard]] size_type max_size() const noexcept { return elements_max(table_.alloc()); }

    // Capacity. A bucket is one byte at the beginning of the block (H1 in hash_table.hpp).

    [[nodiscard]] size_type bucket_count() const noexcept { return table_.buckets(); }
    [[nodiscard]] float load_factor() const noexcept {
        return empty() ? 0.0F : static_cast<float>(size()) / static_cast<float>(bucket_count());
    }
    [[nodiscard]] float max_load_factor() const noexcept { return 0.8125F; }
    /// Changes the table to have at least `buckets` buckets; 0 chooses as few as the elements need.
    void rehash(size_type buckets) { table_.rehash_for(table::elements_max(table::buckets_at_least(buckets))); }
    void reserve(size_type elements) { table_.reserve(elements); }

    // Look-up, by a key or by anything that a transparent hash and equality accept.

    [[nodiscard]] iterator find(const key_type& key) { return iterator(table_.find(key)); }
    [[nodiscard]] const_iterator find(const key_type& key) const { return const_iterator(table_.find(key)); }
    [[nodiscard]] bool contains(const key_type& key) const { return find(key) != end(); }
    [[nodiscard]] size_type count(const key_type& key) const { return contains(key) ? 1 : 0; }
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const key_type& key) { return range_from(find(key)); }
    [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const key_type& key) const {
        return range_from(find(key));
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal>
    [[nodiscard]] iterator find(const K& key) {
        return iterator(table_.find(key));
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal>
    [[nodiscard]] const_iterator find(const K& key) const {
        return const_iterator(table_.find(key));
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal>
    [[nodiscard]] bool contains(const K& key) const {
        return find(key) != end();
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal>
    [[nodiscard]] size_type count(const K& key) const {
        return contains(key) ? 1 : 0;
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal>
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const K& key) {
        return range_from(find(key));
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal>
    [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const K& key) const {
        return range_from(find(key));
    }

    /// Looks up many keys: calls act(iterator) for each of `keys` in order, with end() if there is no such key. It does
    /// what a loop of find() does, but find() waits for memory that find_each() prefetches. `act` may insert and erase
    /// elements, also those whose keys come later, but must not assign to, swap or move the container. Up to 24 keys
    /// are read and hashed before `act` is called for them.
    template <std::ranges::forward_range Keys, class Act>
        requires is_findable_v<std::ranges::range_reference_t<Keys>>
    void find_each(Keys&& keys, Act act) { // NOLINT(cppcoreguidelines-missing-std-forward): read more than once
        find_each_ahead(keys, [&](place at) { act(iterator(at)); });
    }
    template <std::ranges::forward_range Keys, class Act>
        requires is_findable_v<std::ranges::range_reference_t<Keys>>
    void find_each(Keys&& keys, Act act) const { // NOLINT(cppcoreguidelines-missing-std-forward)
        find_each_ahead(keys, [&](place at) { act(const_iterator(at)); });
    }

    // Insertion. Hints are ignored; they exist for compatibility with the standard's containers.

    std::pair<iterator, bool> insert(const value_type& value) { return insert_by(table::key_of(value), value); }
    std::pair<iterator, bool> insert(value_type&& value) { return insert_by(table::key_of(value), std::move(value)); }
    iterator insert(const_iterator, const value_type& value) { return insert(value).first; }
    iterator insert(const_iterator, value_type&& value) { return insert(std::move(value)).first; }
    template <std::input_iterator Iterator>
    void insert(Iterator first, Iterator last) {
        if constexpr (std::forward_iterator<Iterator>) {
            if (empty())
                reserve(static_cast<size_type>(std::distance(first, last)));
        }
        for (; first != last; ++first)
            emplace(*first);
    }
    void insert(std::initializer_list<value_type> all) { insert(all.begin(), all.end()); }
    template <range_of_elements<value_type> Range>
    void insert_range(Range&& all) { // NOLINT(cppcoreguidelines-missing-std-forward): its elements are
        if constexpr (std::ranges::forward_range<Range> || std::ranges::sized_range<Range>) {
            if (empty())
                reserve(static_cast<size_type>(std::ranges::distance(all)));
        }
        for (auto&& one : all)
            emplace(std::forward<decltype(one)>(one));
    }
    template <class... Args>
    std::pair<iterator, bool> emplace(Args&&... args) {
        typename table::detached made(table_.alloc(), std::forward<Args>(args)...);
        const target found = target_of(made.key());
        return {iterator(found.is_there ? found.at : table_.put(found.hash, made)), !found.is_there};
    }
    template <class... Args>
    iterator emplace_hint(const_iterator, Args&&... args) {
        return emplace(std::forward<Args>(args)...).first;
    }

    // Erasure allocates nothing. Only clear() frees memory of the table.

    iterator erase(const_iterator where) noexcept {
        table_.erase(where.place());
        return iterator(where.following());
    }
    iterator erase(iterator where) noexcept
        requires(!std::same_as<iterator, const_iterator>)
    {
        return erase(const_iterator(where));
    }
    iterator erase(const_iterator first, const_iterator last) noexcept {
        if (first == begin() && last == end()) {
            clear();
            return end();
        }
        iterator next(first.place());
        while (next != iterator(last.place()))
            next = erase(next);
        return next;
    }
    size_type erase(const key_type& key) {
        const place at = table_.find(key);
        if (at == table_.end())
            return 0;
        table_.erase(at);
        return 1;
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal> && other_key<K, hash_container>
    size_type erase(K&& key) { // NOLINT(cppcoreguidelines-missing-std-forward): only compared
        const place at = table_.find(key);
        if (at == table_.end())
            return 0;
        table_.erase(at);
        return 1;
    }
    /// Destroys all elements and frees the table's block.
    void clear() noexcept { table_.clear(); }

    // Node handles.

    node_type extract(const_iterator where) noexcept {
        declare(std::addressof(*where),
                sizeof(value_type)); // the element may keep its block, where the handle's owner may change it
        node_type taken;
        table_.take(where.place(), taken.fill(table_.alloc()));
        return taken;
    }
    node_type extract(const key_type& key) {
        const const_iterator found = find(key);
        return found == end() ? node_type() : extract(found);
    }
    template <class K>
        requires transparent_hashing<hasher, key_equal> && other_key<K, hash_container>
    node_type extract(K&& key) { // NOLINT(cppcoreguidelines-missing-std-forward): only compared
        const const_iterator found = find(key);
        return found == end() ? node_type() : extract(found);
    }
    insert_return_type insert(node_type&& one) {
        if (one.empty())
            return {end(), false, node_type()};
        const target found = target_of(table::key_of(one.element()));
        if (found.is_there)
            return {iterator(found.at), false, std::move(one)};
        return {iterator(put_handle(found.hash, one)), true, node_type()};
    }
    iterator insert(const_iterator, node_type&& one) {
        if (one.empty())
            return end();
        const target found = target_of(table::key_of(one.element()));
        return iterator(found.is_there ? found.at : put_handle(found.hash, one));
    }
    /// Moves elements out of a container that has the same element type and allocator type; hash and equality may
    /// differ. Between different allocators, merge() and insert(node_type) construct a new element: they copy key and
    /// value or, if that is not possible, move them. Throws std::invalid_argument, without effect, if the source lies
    /// in an element of this container.
    template <class Other>
        requires std::same_as<typename std::remove_cvref_t<Other>::node_type, node_type>
    void merge(Other&& from) {
        if (static_cast<const void*>(std::addressof(from)) == this)
            return;
        if constexpr (table::block::slot::k_is_inline) {
            if constexpr (contains_in_itself<value_type, std::remove_cvref_t<Other>>()) {
                if (table_.has_in_block(std::addressof(from)))
                    refuse_to_merge_own();
            }
        }
        for (auto each = from.begin(); each != from.end();) {
            const target found = target_of(table::key_of(*each));
            const auto next = std::next(each);
            if (!found.is_there && from.table_.alloc() != table_.alloc()) {
                (void)put_by_value(found.hash, *each);
                from.erase(each);
            } else if (!found.is_there) {
                node_type taken;
                table_.put_slot(found.hash, [&] { // called when nothing can fail any more
                    from.table_.take(each.place(), taken.fill(table_.alloc()));
                    return taken.release();
                });
            }
            each = next;
        }
    }

    /// O(n) between different allocators: copies the elements or, if that is not possible, moves them.
    void swap(hash_container& other) noexcept(alloc_traits::is_always_equal::value &&
                                              std::is_nothrow_swappable_v<hasher> &&
                                              std::is_nothrow_swappable_v<key_equal>) {
        if (!may_exchange_blocks(table_.alloc(), other.table_.alloc()))
            return swap_by_value(*this, other);
        table_.swap_functions(other.table_);
        if constexpr (swaps_allocators_v<allocator_type>)
            table_.swap_alloc(other.table_);
        table_.swap_elements(other.table_);
    }

    friend bool operator==(const hash_container& a, const hash_container& b)
        requires(has_equality_v<value_type>)
    {
        return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const value_type& each) {
                   const const_iterator found = b.find(table::key_of(each));
                   return found != b.end() && *found == each;
               });
    }

protected:
    static constexpr const char* k_no_such_key = "hash_map::at"; // the message of std::out_of_range

    using table = hash_table<key_type, value_type, hasher, key_equal, allocator_type>;

    /// The place of a key's element, or the end; and the key's hash.
    struct target {
        place at;
        std::uint64_t hash;
        bool is_there;
    };
    [[nodiscard]] target target_of(const key_type& key) const {
        const std::uint64_t hash = table_.hash_of(key);
        const place found = table_.find(key, hash);
        return {found, hash, found != table_.end()};
    }
    /// Constructs an element of `args`, whose key is `key`, unless there is an element with that key.
    template <class... Args>
    std::pair<iterator, bool> insert_by(const key_type& key, Args&&... args) {
        const target found = target_of(key);
        return {iterator(found.is_there ? found.at : put_made(found.hash, std::forward<Args>(args)...)),
                !found.is_there};
    }
    template <class... Args>
    std::pair<iterator, bool> insert_near(const_iterator, const key_type& key, Args&&... args) {
        return insert_by(key, std::forward<Args>(args)...);
    }
    template <class... Args>
    place put_made(std::uint64_t hash, Args&&... args) {
        typename table::detached made(table_.alloc(), std::forward<Args>(args)...);
        return table_.put(hash, made);
    }
    void declare(const void* first, std::size_t bytes) const noexcept {
        typename table::declare_to(table_.alloc())(first, bytes);
    }

private:
    template <class Container>
    friend struct hash_structure;
    friend hash_inspector;
    template <class OtherTraits>
    friend class hash_container;

    static constexpr bool k_functions_copy_freely =
        std::is_nothrow_copy_constructible_v<hasher> && std::is_nothrow_copy_constructible_v<key_equal>;

    /// Calls act(place) for each key. The three prefetches of hash_table.hpp for a key are done three times, twice and
    /// once k_apart keys before the call of `act` for that key.
    template <class Keys, class Act>
    void find_each_ahead(Keys& keys, const Act& act) const {
        constexpr std::size_t k_apart = 8;
        std::array<std::uint64_t, 4 * k_apart> hashes{}; // of the latest keys; the index is the key's number modulo the
                                                         // size
        const auto hash_of = [&](std::size_t number) -> std::uint64_t& { return hashes[number % hashes.size()]; };
        auto each = std::ranges::begin(keys);
        auto ahead = each;
        const auto end = std::ranges::end(keys);
        std::size_t begun = 0; // keys whose look-up has begun
        for (std::size_t step = 0; each != end; ++step) {
            if (ahead != end) {
                hash_of(begun) = table_.hash_of(*ahead);
                table_.fetch_group(hash_of(begun));
                ++ahead;
                ++begun;
            }
            if (step >= k_apart && step - k_apart < begun)
                table_.fetch_slot(hash_of(step - k_apart));
            if (step >= 2 * k_apart && step - 2 * k_apart < begun)
                table_.fetch_outside(hash_of(step - 2 * k_apart));
            if (step >= 3 * k_apart) {
                act(table_.find(*each, hash_of(step - 3 * k_apart)));
                ++each;
            }
        }
    }
    template <class Iterator>
    [[nodiscard]] std::pair<Iterator, Iterator> range_from(Iterator found) const {
        return {found, const_iterator(found) == end() ? found : std::next(found)};
    }
    place put_handle(std::uint64_t hash, node_type& one) {
        if (one.get_allocator() == table_.alloc())
            return table_.put_slot(hash, [&] { return one.release(); });
        const place made = put_by_value(hash, one.element());
        one.reset();
        return made;
    }
    place put_by_value(std::uint64_t hash, const value_type& one) {
        return give_by_value<key_type, place>(
            one, [&](auto&&... parts) { return put_made(hash, std::forward<decltype(parts)>(parts)...); });
    }
    /// Moves elements from a container with another allocator. That container is empty afterwards, even if this throws.
    void move_all(hash_container& other) {
        const emptied_at_the_end<hash_container> at_the_end(other);
        table_.rehash_for(other.size());
        for (hash_iterator<value_type, false> each(other.table_.first()); each != decltype(each)(); ++each) {
            value_type& one = *each;
            (void)put_by_value(table_.hash_of(table::key_of(one)), one);
        }
    }
    /// Takes over the elements and functions of `other`, which is empty afterwards. If assigning the functions throws,
    /// both are empty. An element of this container may own `other`, so the contents are taken before the old elements
    /// are destroyed.
    template <bool TakesAllocator>
    void become(hash_container& other) {
        table taken(other.table_.hash(), other.table_.equal(), other.table_.alloc());
        taken.steal(other.table_);
        table_.clear();
        table_.set_functions(taken.hash(), taken.equal());
        if constexpr (TakesAllocator)
            table_.set_alloc(taken.alloc());
        table_.steal(taken);
    }

    table table_;
};

} // namespace remanence::detail
