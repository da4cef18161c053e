// The interface that the four ordered containers share. btree_set.hpp and btree_map.hpp say what it promises. Depends
// on the standard library only.
#pragma once

#include <remanence/containers/detail/between_heaps.hpp>
#include <remanence/containers/detail/btree.hpp>
#include <remanence/containers/detail/container.hpp>
#include <remanence/containers/detail/node_handle.hpp>
#include <remanence/containers/detail/ranges.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence {

/// Says that a range is sorted by the container's comparator, and that no two keys are equivalent.
struct sorted_unique_t {
    explicit sorted_unique_t() = default;
};
/// The tag of constructors: the range that follows is sorted and has unique keys.
inline constexpr sorted_unique_t sorted_unique{};
/// Says that a range is sorted by the container's comparator; keys may be equivalent.
struct sorted_equivalent_t {
    explicit sorted_equivalent_t() = default;
};
/// The tag of constructors: the range that follows is sorted.
inline constexpr sorted_equivalent_t sorted_equivalent{};

namespace detail {

/// Throws errc::invalid_argument: a range is not sorted although its tag says so.
[[noreturn]] void refuse_unsorted();

template <class Iterator>
concept input_iterator_of_std = requires { typename std::iterator_traits<Iterator>::iterator_category; };

template <class Compare>
concept transparent = requires { typename Compare::is_transparent; };

/// The types of a container. In sets `Value` is Key.
template <class Key, class Value, class Compare, class Alloc, std::size_t NodeBytes, bool IsUnique>
struct btree_traits {
    using key_type = Key;
    using value_type = Value;
    using key_compare = Compare;
    using allocator_type = Alloc;
    using tree = btree<Key, Value, Compare, Alloc, NodeBytes>;
    static constexpr std::size_t k_node_bytes = NodeBytes;
    static constexpr bool k_is_unique = IsUnique;
    static constexpr bool k_is_set = std::is_same_v<Key, Value>;
};

template <class Tree, class Compare>
struct btree_value_compare {
    Compare by_key;
    template <class Value>
    [[nodiscard]] bool operator()(const Value& a, const Value& b) const {
        return by_key(Tree::key_of(a), Tree::key_of(b));
    }
};

template <class Traits>
class btree_container {
    using tree = typename Traits::tree;
    using steps = typename tree::steps;
    using place = btree_place;
    using alloc_traits = std::allocator_traits<typename Traits::allocator_type>;

public:
    using key_type = typename Traits::key_type;
    using value_type = typename Traits::value_type;
    using key_compare = typename Traits::key_compare;
    using allocator_type = typename Traits::allocator_type;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;
    using pointer = value_type*;
    using const_pointer = const value_type*;
    using iterator = btree_iterator<value_type, Traits::k_node_bytes, Traits::k_is_set>;
    using const_iterator = btree_iterator<value_type, Traits::k_node_bytes, true>;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    using node_type = node_handle<key_type, value_type, allocator_type, element_slot<value_type, k_btree_inline_bytes>>;
    using insert_return_type = insert_return<iterator, node_type>;
    using value_compare = std::conditional_t<Traits::k_is_set, key_compare, btree_value_compare<tree, key_compare>>;
    using sorted_tag = std::conditional_t<Traits::k_is_unique, sorted_unique_t, sorted_equivalent_t>;
    /// The result of an insertion: an iterator and, if keys are unique, whether an element was inserted.
    using insertion = std::conditional_t<Traits::k_is_unique, std::pair<iterator, bool>, iterator>;

    static_assert(std::is_same_v<typename alloc_traits::value_type, value_type>,
                  "the allocator of an ordered container is one of its elements");
    static_assert(std::is_same_v<typename alloc_traits::pointer, value_type*>,
                  "Remanence's containers take allocators with plain pointers");

    btree_container() : btree_container(key_compare()) {}
    explicit btree_container(const key_compare& compare, const allocator_type& alloc = allocator_type())
        : tree_(compare, alloc) {}
    explicit btree_container(const allocator_type& alloc) : btree_container(key_compare(), alloc) {}
    template <input_iterator_of_std Iterator>
    btree_container(Iterator first, Iterator last, const key_compare& compare = key_compare(),
                    const allocator_type& alloc = allocator_type())
        : tree_(compare, alloc) {
        insert(first, last);
    }
    template <input_iterator_of_std Iterator>
    btree_container(Iterator first, Iterator last, const allocator_type& alloc)
        : btree_container(first, last, key_compare(), alloc) {}
    btree_container(std::initializer_list<value_type> all, const key_compare& compare = key_compare(),
                    const allocator_type& alloc = allocator_type())
        : btree_container(all.begin(), all.end(), compare, alloc) {}
    btree_container(std::initializer_list<value_type> all, const allocator_type& alloc)
        : btree_container(all, key_compare(), alloc) {}
    template <input_iterator_of_std Iterator>
    btree_container(sorted_tag, Iterator first, Iterator last, const key_compare& compare = key_compare(),
                    const allocator_type& alloc = allocator_type())
        : tree_(compare, alloc) {
        append_sorted(first, last);
    }
    template <input_iterator_of_std Iterator>
    btree_container(sorted_tag tag, Iterator first, Iterator last, const allocator_type& alloc)
        : btree_container(tag, first, last, key_compare(), alloc) {}
    template <range_of_elements<value_type> Range>
    btree_container(from_range_t, Range&& all, const key_compare& compare = key_compare(),
                    const allocator_type& alloc = allocator_type())
        : tree_(compare, alloc) {
        insert_range(std::forward<Range>(all));
    }
    template <range_of_elements<value_type> Range>
    btree_container(from_range_t tag, Range&& all, const allocator_type& alloc)
        : btree_container(tag, std::forward<Range>(all), key_compare(), alloc) {}
    btree_container(const btree_container& other)
        : btree_container(other, alloc_traits::select_on_container_copy_construction(other.tree_.alloc())) {}
    btree_container(const btree_container& other, const allocator_type& alloc) : tree_(other.tree_.compare(), alloc) {
        append_all(other.begin(), other.end());
    }
    btree_container(btree_container&& other) noexcept(std::is_nothrow_copy_constructible_v<key_compare>)
        : tree_(other.tree_.compare(), other.tree_.alloc()) {
        tree_.steal(other.tree_);
    }
    btree_container(btree_container&& other, const allocator_type& alloc) : tree_(other.tree_.compare(), alloc) {
        if (tree_.alloc() == other.tree_.alloc())
            tree_.steal(other.tree_);
        else
            move_all(other);
    }
    ~btree_container() = default;

    btree_container& operator=(const btree_container& other) {
        if (this == &other)
            return *this;
        constexpr bool propagates = alloc_traits::propagate_on_container_copy_assignment::value;
        btree_container copy(other, propagates ? other.tree_.alloc() : tree_.alloc());
        tree_.set_compare(other.tree_.compare());
        become<propagates>(copy);
        return *this;
    }
    btree_container& operator=(std::initializer_list<value_type> all) {
        btree_container made(all, tree_.compare(), tree_.alloc());
        become<false>(made);
        return *this;
    }
    btree_container& operator=(btree_container&& other) noexcept(alloc_traits::is_always_equal::value &&
                                                                 std::is_nothrow_copy_assignable_v<key_compare> &&
                                                                 std::is_nothrow_copy_constructible_v<key_compare>) {
        if (this == &other)
            return *this;
        constexpr bool propagates = alloc_traits::propagate_on_container_move_assignment::value;
        if (propagates || tree_.alloc() == other.tree_.alloc()) {
            tree_.set_compare(other.tree_.compare());
            become<propagates>(other);
        } else {
            btree_container moved(std::move(other), tree_.alloc());
            tree_.set_compare(other.tree_.compare()); // NOLINT(bugprone-use-after-move): only elements moved
            become<false>(moved);
        }
        return *this;
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return tree_.alloc(); }
    [[nodiscard]] key_compare key_comp() const { return tree_.compare(); }
    [[nodiscard]] value_compare value_comp() const { return value_compare{tree_.compare()}; }

    [[nodiscard]] iterator begin() noexcept { return iterator(tree_.first()); }
    [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(tree_.first()); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] iterator end() noexcept { return iterator(tree_.end()); }
    [[nodiscard]] const_iterator end() const noexcept { return const_iterator(tree_.end()); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }

    [[nodiscard]] bool empty() const noexcept { return tree_.size() == 0; }
    [[nodiscard]] size_type size() const noexcept { return tree_.size(); }
    [[nodiscard]] size_type max_size() const noexcept { return elements_max(tree_.alloc()); }

    // Look-up, by a key or by anything that a transparent comparator accepts.

    [[nodiscard]] iterator lower_bound(const key_type& key) { return iterator(tree_.lower(key).found); }
    [[nodiscard]] const_iterator lower_bound(const key_type& key) const {
        return const_iterator(tree_.lower(key).found);
    }
    [[nodiscard]] iterator upper_bound(const key_type& key) { return iterator(tree_.upper(key).found); }
    [[nodiscard]] const_iterator upper_bound(const key_type& key) const {
        return const_iterator(tree_.upper(key).found);
    }
    [[nodiscard]] iterator find(const key_type& key) { return iterator(find_place(key)); }
    [[nodiscard]] const_iterator find(const key_type& key) const { return const_iterator(find_place(key)); }
    [[nodiscard]] bool contains(const key_type& key) const { return find(key) != end(); }
    [[nodiscard]] size_type count(const key_type& key) const { return count_of(key); }
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const key_type& key) { return range_of<iterator>(key); }
    [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const key_type& key) const {
        return range_of<const_iterator>(key);
    }

    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] iterator lower_bound(const K& key) {
        return iterator(tree_.lower(key).found);
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] const_iterator lower_bound(const K& key) const {
        return const_iterator(tree_.lower(key).found);
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] iterator upper_bound(const K& key) {
        return iterator(tree_.upper(key).found);
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] const_iterator upper_bound(const K& key) const {
        return const_iterator(tree_.upper(key).found);
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] iterator find(const K& key) {
        return iterator(find_place(key));
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] const_iterator find(const K& key) const {
        return const_iterator(find_place(key));
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] bool contains(const K& key) const {
        return find(key) != end();
    }
    /// With a transparent comparator several keys may be equivalent to `key`, even where keys are unique.
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] size_type count(const K& key) const {
        return static_cast<size_type>(std::distance(lower_bound(key), upper_bound(key)));
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const K& key) {
        return {lower_bound(key), upper_bound(key)};
    }
    template <class K>
        requires transparent<key_compare>
    [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const K& key) const {
        return {lower_bound(key), upper_bound(key)};
    }

    // Insertion.

    insertion insert(const value_type& value) { return insert_by(tree::key_of(value), value); }
    insertion insert(value_type&& value) { return insert_by(tree::key_of(value), std::move(value)); }
    iterator insert(const_iterator hint, const value_type& value) {
        return insert_near(hint, tree::key_of(value), value).first;
    }
    iterator insert(const_iterator hint, value_type&& value) {
        return insert_near(hint, tree::key_of(value), std::move(value)).first;
    }
    /// Inserts each element, without a search if it belongs behind all others.
    template <input_iterator_of_std Iterator>
    void insert(Iterator first, Iterator last) {
        for (; first != last; ++first)
            emplace_hint(end(), *first); // at the end, if it belongs there
    }
    void insert(std::initializer_list<value_type> all) { insert(all.begin(), all.end()); }
    template <range_of_elements<value_type> Range>
    void insert_range(Range&& all) { // NOLINT(cppcoreguidelines-missing-std-forward): its elements are
        for (auto&& one : all)
            emplace_hint(end(), std::forward<decltype(one)>(one));
    }
    template <class... Args>
    insertion emplace(Args&&... args) {
        typename tree::detached made(tree_.alloc(), std::forward<Args>(args)...);
        return insert_detached(made);
    }
    template <class... Args>
    iterator emplace_hint(const_iterator hint, Args&&... args) {
        typename tree::detached made(tree_.alloc(), std::forward<Args>(args)...);
        const target found = target_near(hint.place(), made.key());
        return iterator(found.is_there ? found.at : tree_.put(found.at, made));
    }

    // Erasure.

    iterator erase(const_iterator where) noexcept { return iterator(tree_.erase(where.place())); }
    iterator erase(iterator where) noexcept
        requires(!std::same_as<iterator, const_iterator>)
    {
        return iterator(tree_.erase(where.place()));
    }
    iterator erase(const_iterator first, const_iterator last) noexcept {
        if (first == begin() && last == end()) {
            clear();
            return end();
        }
        return iterator(erase_some(first.place(), std::distance(first, last)));
    }
    size_type erase(const key_type& key) {
        const auto [first, last] = equal_range(key);
        const difference_type some = std::distance(first, last);
        (void)erase_some(first.place(), some);
        return static_cast<size_type>(some);
    }
    /// With a transparent comparator several keys may be equivalent to `key`, even where keys are unique.
    template <class K>
        requires transparent<key_compare> && other_key<K, btree_container>
    size_type erase(K&& key) { // NOLINT(cppcoreguidelines-missing-std-forward): only compared
        const place first = tree_.lower(key).found;
        difference_type some = 0;
        for (place each = first; each != tree_.end() && !tree_.is_less(key, tree::key_at(each));
             each = steps::next(each))
            ++some;
        (void)erase_some(first, some);
        return static_cast<size_type>(some);
    }
    void clear() noexcept { tree_.clear(); }

    // Node handles.

    node_type extract(const_iterator where) noexcept {
        declare(std::addressof(*where),
                sizeof(value_type)); // the element may keep its block, where the handle's owner may change it
        node_type taken;
        (void)tree_.take(where.place(), taken.fill(tree_.alloc()));
        return taken;
    }
    node_type extract(const key_type& key) {
        const place at = find_place(key);
        return at == tree_.end() ? node_type() : extract(const_iterator(at));
    }
    /// Extracts the first element that is equivalent to `key`.
    template <class K>
        requires transparent<key_compare> && other_key<K, btree_container>
    node_type extract(K&& key) { // NOLINT(cppcoreguidelines-missing-std-forward): only compared
        const place at = find_place(key);
        return at == tree_.end() ? node_type() : extract(const_iterator(at));
    }
    std::conditional_t<Traits::k_is_unique, insert_return_type, iterator> insert(node_type&& one) {
        if constexpr (Traits::k_is_unique) {
            if (one.empty())
                return {end(), false, node_type()};
            const target found = target_of(tree::key_of(one.element()));
            if (found.is_there)
                return {iterator(found.at), false, std::move(one)};
            return {iterator(put_handle(found.at, one)), true, node_type()};
        } else {
            return one.empty() ? end() : iterator(put_handle(target_of(tree::key_of(one.element())).at, one));
        }
    }
    iterator insert(const_iterator hint, node_type&& one) {
        if (one.empty())
            return end();
        const target found = target_near(hint.place(), tree::key_of(one.element()));
        return iterator(found.is_there ? found.at : put_handle(found.at, one));
    }
    /// Moves elements out of a container that has the same element type, allocator type and node size; comparator and
    /// uniqueness may differ. Between different allocators, merge() and insert(node_type) construct a new element: they
    /// copy key and value or, if that is not possible, move them. Throws std::invalid_argument, without effect, if the
    /// source lies in an element of this container.
    template <class Other>
        requires std::same_as<typename std::remove_cvref_t<Other>::node_type, node_type>
    void merge(Other&& from) {
        if (static_cast<const void*>(std::addressof(from)) == this)
            return;
        if constexpr (tree::nodes::k_is_inline) {
            if constexpr (contains_in_itself<value_type, std::remove_cvref_t<Other>>()) {
                if (tree_.has_in_nodes(std::addressof(from)))
                    refuse_to_merge_own();
            }
        }
        for (auto each = from.begin(); each != from.end();) {
            const target found = target_of(tree::key_of(*each));
            if (found.is_there) {
                ++each;
            } else if (from.tree_.alloc() == tree_.alloc()) {
                each = from.give(each, [&](auto&& release) {
                    (void)tree_.put_slot(found.at, std::forward<decltype(release)>(release));
                });
            } else {
                (void)put_by_value(found.at, *each);
                each = from.erase(each);
            }
        }
    }

    /// O(n) between different allocators: copies the elements or, if that is not possible, moves them.
    void swap(btree_container& other) noexcept(alloc_traits::is_always_equal::value &&
                                               std::is_nothrow_swappable_v<key_compare>) {
        if (!may_exchange_blocks(tree_.alloc(), other.tree_.alloc()))
            return swap_by_value(*this, other);
        tree_.swap_compare(other.tree_);
        if constexpr (swaps_allocators_v<allocator_type>)
            tree_.swap_alloc(other.tree_);
        tree_.swap_elements(other.tree_);
    }

    friend bool operator==(const btree_container& a, const btree_container& b)
        requires(has_equality_v<value_type>)
    {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }
    friend auto operator<=>(const btree_container& a, const btree_container& b)
        requires has_three_way<value_type>
    {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), three_way_by_less());
    }

protected:
    static constexpr const char* k_no_such_key = "btree_map::at"; // the message of std::out_of_range

    /// Where a key belongs: the element with an equivalent key, or a place for put().
    struct target {
        place at;
        bool is_there;
    };
    [[nodiscard]] target target_of(const key_type& key) const {
        if constexpr (Traits::k_is_unique) {
            const auto found = tree_.lower(key);
            if (found.found != tree_.end() && !tree_.is_less(key, tree::key_at(found.found)))
                return {found.found, true};
            return {found.leaf, false};
        } else {
            return {tree_.upper(key).leaf, false};
        }
    }
    /// Returns a place before `hint`, as near to it as the order allows.
    [[nodiscard]] target target_near(place hint, const key_type& key) const {
        const key_compare& less = tree_.compare();
        const auto is_before = [&](const key_type& a, const key_type& b) { // true if `a` may stand before `b`
            return Traits::k_is_unique ? less(a, b) : !less(b, a);
        };
        if (hint == tree_.end() || is_before(key, tree::key_at(hint))) {
            if (hint == tree_.first() || is_before(tree::key_at(steps::previous(hint)), key))
                return {steps::leaf_before(hint), false};
            return target_of(key); // somewhere before the hint: behind all equivalent elements
        }
        if constexpr (Traits::k_is_unique)
            return target_of(key);
        else
            return {tree_.lower(key).leaf, false}; // somewhere behind the hint: before all equivalent elements
    }
    static insertion inserted(place at, bool is_new) {
        if constexpr (Traits::k_is_unique)
            return {iterator(at), is_new};
        else
            return iterator(at);
    }
    insertion insert_detached(typename tree::detached& made) {
        const target found = target_of(made.key());
        return inserted(found.is_there ? found.at : tree_.put(found.at, made), !found.is_there);
    }
    /// Constructs an element of `args`, whose key is `key`, unless there is an element with that key.
    template <class... Args>
    insertion insert_by(const key_type& key, Args&&... args) {
        const target found = target_of(key);
        return inserted(found.is_there ? found.at : put_made(found.at, std::forward<Args>(args)...), !found.is_there);
    }
    template <class... Args>
    std::pair<iterator, bool> insert_near(const_iterator hint, const key_type& key, Args&&... args) {
        const target found = target_near(hint.place(), key);
        return {iterator(found.is_there ? found.at : put_made(found.at, std::forward<Args>(args)...)), !found.is_there};
    }
    template <class... Args>
    place put_made(place leaf, Args&&... args) {
        typename tree::detached made(tree_.alloc(), std::forward<Args>(args)...);
        return tree_.put(leaf, made);
    }

    /// Appends sorted elements. At the first element that is out of order it throws errc::invalid_argument; the
    /// elements before that one stay appended.
    template <class Iterator>
    void append_sorted(Iterator first, Iterator last) {
        for (; first != last; ++first) {
            typename tree::detached made(tree_.alloc(), *first);
            if (!empty()) {
                const key_type& before = tree::key_at(steps::previous(tree_.end()));
                if (Traits::k_is_unique ? !tree_.is_less(before, made.key()) : tree_.is_less(made.key(), before))
                    refuse_unsorted();
            }
            (void)tree_.put(tree_.end(), made);
        }
    }
    void declare(const void* first, std::size_t bytes) const noexcept {
        typename tree::declare_to(tree_.alloc())(first, bytes);
    }

private:
    template <class Container>
    friend struct btree_structure;
    template <class Alloc, bool IsUnique>
    friend class packed_container;
    friend btree_inspector;
    template <class OtherTraits>
    friend class btree_container;

    template <class K>
    [[nodiscard]] place find_place(const K& key) const {
        const place found = tree_.lower(key).found;
        return found == tree_.end() || tree_.is_less(key, tree::key_at(found)) ? tree_.end() : found;
    }
    [[nodiscard]] size_type count_of(const key_type& key) const {
        if constexpr (Traits::k_is_unique)
            return contains(key) ? 1 : 0;
        else
            return static_cast<size_type>(std::distance(lower_bound(key), upper_bound(key)));
    }
    template <class Iterator>
    [[nodiscard]] std::pair<Iterator, Iterator> range_of(const key_type& key) const {
        const place first = tree_.lower(key).found;
        if constexpr (!Traits::k_is_unique)
            return {Iterator(first), Iterator(tree_.upper(key).found)};
        if (first == tree_.end() || tree_.is_less(key, tree::key_at(first)))
            return {Iterator(first), Iterator(first)};
        return {Iterator(first), Iterator(steps::next(first))};
    }
    place erase_some(place at, difference_type count) noexcept {
        for (; count != 0; --count)
            at = tree_.erase(at);
        return at;
    }
    place put_handle(place leaf, node_type& one) {
        if (one.get_allocator() == tree_.alloc())
            return tree_.put_slot(leaf, [&] { return one.release(); });
        const place made = put_by_value(leaf, one.element());
        one.reset();
        return made;
    }
    place put_by_value(place leaf, const value_type& one) {
        return give_by_value<key_type, place>(
            one, [&](auto&&... parts) { return put_made(leaf, std::forward<decltype(parts)>(parts)...); });
    }
    /// Calls `put` with a function that extracts the element at `each` and returns its slot. `put` may throw before it
    /// calls this function. Returns the next element.
    template <class Put>
    iterator give(iterator each, Put&& put) {
        node_type taken;
        place next{};
        std::forward<Put>(put)([&] { // called when nothing can fail any more
            next = tree_.take(each.place(), taken.fill(tree_.alloc()));
            return taken.release();
        });
        return iterator(next);
    }

    template <class Iterator>
    void append_all(Iterator first, Iterator last) {
        for (; first != last; ++first)
            (void)put_made(tree_.end(), *first);
    }
    /// Moves elements from a container with another allocator. That container is empty afterwards, even if this throws.
    void move_all(btree_container& other) {
        const emptied_at_the_end<btree_container> at_the_end(other);
        for (place each = other.tree_.first(); each != other.tree_.end(); each = steps::next(each)) {
            (void)put_by_value(tree_.end(), tree::nodes::value(each.node, each.index));
        }
    }
    /// Takes over the contents of `other`, which is empty afterwards. An element of this container may own `other`, so
    /// the contents are taken before the old elements are destroyed.
    template <bool TakesAllocator>
    void become(btree_container& other) noexcept(std::is_nothrow_copy_constructible_v<key_compare>) {
        tree taken(other.tree_.compare(), other.tree_.alloc());
        taken.steal(other.tree_);
        tree_.clear();
        if constexpr (TakesAllocator)
            tree_.set_alloc(taken.alloc());
        tree_.steal(taken);
    }

    tree tree_;
};

} // namespace detail
} // namespace remanence
