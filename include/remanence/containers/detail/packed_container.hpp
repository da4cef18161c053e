// The interface and the algorithms that packed_map and packed_multimap share. packed_map.hpp says what they promise.
// Depends on the standard library only.
//
// Leaves (packed_leaf.hpp) are the values of a B-tree; its keys separate the leaves (packed_tree.hpp).
//
// Invariants
// PK1. The first separator is empty. Any other separator is not less than a key in the leaves before its own, and not
//      greater than a key in its own leaf. Where keys are unique, it is greater than all keys in the leaves before.
// PK2. Each leaf has at least one record (PL1).
#pragma once

#include <remanence/containers/detail/between_heaps.hpp>
#include <remanence/containers/detail/fetch_ahead.hpp>
#include <remanence/containers/detail/packed_builder.hpp>
#include <remanence/containers/detail/packed_iterator.hpp>
#include <remanence/containers/detail/packed_leaf.hpp>
#include <remanence/containers/detail/packed_tree.hpp>
#include <remanence/containers/detail/ranges.hpp>
#include <remanence/containers/detail/read_ahead.hpp>
#include <remanence/detail/declarer.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence {
class heap;
[[nodiscard]] heap* heap_of(const void* pointer) noexcept; // <remanence/heap.hpp>
} // namespace remanence

namespace remanence::detail {

template <class Alloc, bool IsUnique>
class packed_container {
    using trees = packed_tree<Alloc>;
    using tree = typename trees::type;
    using block = typename trees::block;
    using separator = typename trees::separator;
    using place = typename tree::iterator;
    using declare_to = declarer<typename block::allocator_type>;

public:
    using key_type = std::string_view;
    using mapped_type = std::string_view;
    using value_type = std::pair<std::string_view, std::string_view>;
    using key_compare = std::less<>;
    using allocator_type = Alloc;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using const_reference = value_type;
    using iterator = packed_iterator<Alloc>;
    using const_iterator = iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = reverse_iterator;
    /// The result of an insertion: an iterator and, if keys are unique, whether an element was inserted.
    using insertion = std::conditional_t<IsUnique, std::pair<iterator, bool>, iterator>;

    packed_container() : packed_container(Alloc()) {}
    explicit packed_container(const Alloc& alloc) : tree_(typename tree::allocator_type(alloc)) {}
    template <std::input_iterator Iterator>
    packed_container(Iterator first, Iterator last, const Alloc& alloc = Alloc()) : packed_container(alloc) {
        insert(first, last);
    }
    packed_container(std::initializer_list<value_type> all, const Alloc& alloc = Alloc())
        : packed_container(all.begin(), all.end(), alloc) {}
    template <range_of_elements<value_type> Range>
    packed_container(from_range_t, Range&& all, const Alloc& alloc = Alloc()) : packed_container(alloc) {
        insert_range(std::forward<Range>(all));
    }
    packed_container(const packed_container& other) : tree_(other.tree_), size_(other.size_) {}
    packed_container(const packed_container& other, const Alloc& alloc)
        : tree_(other.tree_, typename tree::allocator_type(alloc)), size_(other.size_) {}
    packed_container(packed_container&& other) noexcept : tree_(std::move(other.tree_)), size_(other.take_size()) {}
    /// Copies if the allocators differ. The other container is empty afterwards in any case.
    packed_container(packed_container&& other, const Alloc& alloc) : packed_container(alloc) {
        const emptied_at_the_end<packed_container> at_the_end(other); // even if this throws
        tree_ = tree(std::move(other.tree_), tree_.get_allocator());
        size_ = other.size_;
    }
    ~packed_container() = default;

    packed_container& operator=(const packed_container& other) {
        if (this != &other) {
            tree_ = other.tree_;
            set_size(other.size_);
        }
        return *this;
    }
    packed_container& operator=(packed_container&& other) noexcept(std::is_nothrow_move_assignable_v<tree>) {
        if (this == &other)
            return *this;
        const emptied_at_the_end<packed_container> at_the_end(other); // even if this throws
        tree_ = std::move(other.tree_);
        set_size(other.size_);
        return *this;
    }
    packed_container& operator=(std::initializer_list<value_type> all) {
        packed_container made(all, get_allocator());
        return *this = std::move(made);
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(tree_.get_allocator()); }

    [[nodiscard]] iterator begin() const noexcept { return iterator(tree_, tree_.begin(), 0); }
    [[nodiscard]] iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] iterator end() const noexcept { return iterator(tree_); }
    [[nodiscard]] iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() const noexcept { return reverse_iterator(end()); }
    [[nodiscard]] reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() const noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] reverse_iterator crend() const noexcept { return rend(); }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] size_type size() const noexcept { return static_cast<size_type>(size_); }
    [[nodiscard]] size_type max_size() const noexcept { return tree_.max_size(); }
    /// Returns how many bytes a key and its value may have together. If they have more, an insertion throws
    /// std::length_error.
    [[nodiscard]] static constexpr size_type record_bytes_max() noexcept { return k_packed_record_bytes_max; }

    // Look-up.

    /// Prefetches the tree above the leaves; useful before many random look-ups. A heap with memory_options::read_ahead
    /// = false is read page by page; there this function begins to read that tree, about 2 % of all bytes, in large
    /// pieces. In other heaps it only walks through the tree. O(n / 500); uses some memory outside the heap.
    void read_index() const {
        tree_.tree_.for_each_level([](const auto& nodes) {
            constexpr std::uintptr_t k_piece = 64 << 10; // nodes lie in slabs of this size
            std::uintptr_t last = 0;
            for (const auto* const each : nodes) {
                const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(each) / k_piece * k_piece;
                if (piece != std::exchange(last, piece))
                    begin_to_read(reinterpret_cast<const std::byte*>(each) -
                                      (reinterpret_cast<std::uintptr_t>(each) - piece),
                                  k_piece);
            }
        });
    }

    /// Finds the first element with that key.
    [[nodiscard]] iterator find(std::string_view key) const noexcept {
        const std::uint32_t mark = packed_mark_of(key);
        // PK1: where keys repeat, a separator may equal `key` although the first elements with that key are at the end
        // of the leaf before it. So that leaf is searched first.
        auto at = IsUnique ? tree_.upper_bound(packed_key(key)) : tree_.lower_bound(packed_key(key));
        if (at != tree_.begin()) {
            const auto before = std::prev(at);
            const packed_leaf leaf = trees::leaf(before->second);
            if (const std::size_t found = leaf.find(key, mark); found != leaf.count())
                return iterator(tree_, before, leaf, found);
        }
        if (!IsUnique && at != tree_.end() && at->first.text == key) {
            const packed_leaf leaf = trees::leaf(at->second);
            if (const std::size_t found = leaf.find(key, mark); found != leaf.count())
                return iterator(tree_, at, leaf, found);
        }
        return end();
    }
    /// Finds the first element with that key and that value. O(log n), plus the number of elements with that key before
    /// it.
    [[nodiscard]] iterator find(std::string_view key, std::string_view value) const noexcept
        requires(!IsUnique)
    {
        const iterator first = find(key);
        if (first == end())
            return first;
        const std::uint32_t mark = first.leaf_.mark_of_key(first.index_);
        auto at = first.at_;
        for (std::size_t i = first.index_; at != tree_.end(); ++at, i = 0) {
            const packed_leaf leaf = trees::leaf(at->second);
            for (const std::size_t behind = leaf.count(); i != behind; ++i) {
                if (leaf.mark_of_key(i) != mark)
                    return end();
                if (const packed_record each = leaf.record(i); each.value == value && each.key == key)
                    return iterator(tree_, at, leaf, i);
            }
        }
        return end();
    }
    [[nodiscard]] bool contains(std::string_view key) const noexcept { return find(key) != end(); }
    [[nodiscard]] size_type count(std::string_view key) const noexcept {
        size_type found = 0;
        for (iterator each = find(key); each != end() && each->first == key; ++each)
            ++found;
        return found;
    }
    [[nodiscard]] iterator lower_bound(std::string_view key) const noexcept {
        auto at = tree_.lower_bound(packed_key(key));
        if (at != tree_.begin())
            --at;
        return at == tree_.end() ? end() : iterator(tree_, at, trees::leaf(at->second).lower(key));
    }
    [[nodiscard]] iterator upper_bound(std::string_view key) const noexcept {
        if (tree_.empty())
            return end();
        const auto at = std::prev(tree_.upper_bound(packed_key(key)));
        return iterator(tree_, at, trees::leaf(at->second).upper(key));
    }
    [[nodiscard]] std::pair<iterator, iterator> equal_range(std::string_view key) const noexcept {
        return {lower_bound(key), upper_bound(key)};
    }

    // Insertion. Among elements with equal keys the last one inserted comes last. Hints are ignored.

    insertion insert(const value_type& one) { return emplace(one.first, one.second); }
    iterator insert(const_iterator, const value_type& one) { return where(insert(one)); }
    /// Sorts the range and inserts it. It sorts a million elements at a time, with 80 bytes of memory outside the heap
    /// for each. If a range can be read only once, or yields pairs of strings by value, its elements are inserted one
    /// by one instead. A range of this container, or with views into it, is first copied to memory outside the heap; so
    /// is any range with views into the same heap, unless the container is empty. Elements that belong behind all
    /// others fill leaves completely.
    template <std::input_iterator Iterator>
    void insert(Iterator first, Iterator last) {
        if constexpr (views_stay<Iterator>()) {
            if (!may_view_this(first, last))
                return insert_views(first, last);
            std::vector<std::pair<std::string, std::string>> copies;
            copies.reserve(static_cast<std::size_t>(std::ranges::distance(first, last)));
            for (; first != last; ++first) {
                const auto& [key, value] = *first;
                copies.emplace_back(std::string_view(key), std::string_view(value));
            }
            insert_views(copies.cbegin(), copies.cend());
        } else {
            for (; first != last; ++first) {
                const auto& [key, value] = *first;
                emplace(key, value);
            }
        }
    }
    void insert(std::initializer_list<value_type> all) { insert(all.begin(), all.end()); }
    template <range_of_elements<value_type> Range>
    void insert_range(Range&& all) {
        if constexpr (std::ranges::forward_range<Range>) {
            auto common = std::views::common(std::views::all(std::forward<Range>(all)));
            insert(common.begin(), common.end());
        } else {
            for (auto&& one : all) {
                const value_type views = one;
                emplace(views.first, views.second);
            }
        }
    }
    insertion emplace(std::string_view key, std::string_view value) {
        const packed_record added = checked({key, value});
        if (tree_.empty())
            return inserted(put_first(added), true);
        const place at = std::prev(tree_.upper_bound(packed_key(key)));
        const packed_leaf leaf = trees::leaf(at->second);
        const std::size_t index = IsUnique ? leaf.lower(key) : leaf.upper(key);
        if (IsUnique && index != leaf.count() && leaf.key(index) == key)
            return inserted(iterator(tree_, at, leaf, index), false);
        return inserted(put(at, index, added), true);
    }
    iterator emplace_hint(const_iterator, std::string_view key, std::string_view value) {
        return where(emplace(key, value));
    }

    /// Replaces the value of an element; returns the element's place.
    iterator assign(const_iterator to, std::string_view value) {
        const packed_record before = to.leaf_.record(to.index_);
        const packed_record after = checked({before.key, value});
        const declare_to declare(tree_.get_allocator());
        if (value.size() == before.value.size()) {
            declare(before.value.data(), value.size());
            if (!value.empty())
                std::memmove(const_cast<char*>(before.value.data()), value.data(), value.size()); // NOLINT
            return to;
        }
        const iterator made = put(changeable(to.at_), to.index_ + 1, after);
        return erase(std::prev(made));
    }

    // Erasure.

    /// Returns the next element.
    iterator erase(const_iterator from) noexcept {
        const place at = changeable(from.at_);
        const packed_leaf leaf = trees::leaf(at->second);
        set_size(size_ - 1);
        if (leaf.count() == 1)
            return drop(at);
        packed_leaf_writer(at->second.data(), at->second.size()).erase(from.index_, declare_to(tree_.get_allocator()));
        return tidied(at, from.index_);
    }
    iterator erase(const_iterator first, const_iterator last) noexcept {
        if (first == begin() && last == end()) {
            clear();
            return end();
        }
        for (difference_type left = std::ranges::distance(first, last); left != 0; --left)
            first = erase(first);
        return first;
    }
    /// Returns how many elements it erased.
    size_type erase(std::string_view key) noexcept {
        const size_type some = count(key); // now, since `key` may be a view into an element that is erased below
        iterator each = find(key);
        for (size_type i = 0; i != some; ++i)
            each = erase(each);
        return some;
    }
    void clear() noexcept {
        tree_.clear();
        set_size(0);
    }
    /// O(n) between different allocators, since it copies.
    void swap(packed_container& other) noexcept(std::allocator_traits<Alloc>::is_always_equal::value ||
                                                swaps_allocators_v<Alloc>) {
        if (!may_exchange_blocks(get_allocator(), other.get_allocator()))
            return swap_by_value(*this, other);
        tree_.swap(other.tree_);
        const std::uint64_t kept = size_;
        set_size(other.size_);
        other.set_size(kept);
    }

    friend bool operator==(const packed_container& a, const packed_container& b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }
    friend auto operator<=>(const packed_container& a, const packed_container& b) {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    template <class Container>
    friend struct packed_structure;

    static insertion inserted(const iterator& at, bool is_new) {
        if constexpr (IsUnique)
            return {at, is_new};
        else
            return at;
    }
    static iterator where(const insertion& done) {
        if constexpr (IsUnique)
            return done.first;
        else
            return done;
    }
    static const packed_record& checked(const packed_record& one) {
        if (one.key.size() > k_packed_record_bytes_max || one.value.size() > k_packed_record_bytes_max ||
            one.bytes() > k_packed_record_bytes_max)
            throw std::length_error("packed_map: a key and its value are too long");
        return one;
    }

    void set_size(std::uint64_t size) noexcept {
        declare_to(tree_.get_allocator())(&size_, sizeof size_);
        size_ = size;
    }
    std::uint64_t take_size() noexcept {
        const std::uint64_t before = size_;
        set_size(0);
        return before;
    }
    [[nodiscard]] place changeable(typename tree::const_iterator at) noexcept { return place(at.place()); }
    [[nodiscard]] static bool is_large(const packed_leaf& leaf) noexcept {
        return leaf.count() == 1 && leaf.record(0).is_large();
    }

    // Insertion of ranges.

    /// True if views of an element stay valid when the iterator moves on.
    template <class Iterator>
    static consteval bool views_stay() {
        return std::forward_iterator<Iterator> && (std::is_lvalue_reference_v<std::iter_reference_t<Iterator>> ||
                                                   std::is_same_v<std::iter_value_t<Iterator>, value_type>);
    }
    struct coming {
        std::uint64_t head;
        packed_record record;

        friend bool operator<(const coming& a, const coming& b) noexcept {
            return a.head != b.head ? a.head < b.head : a.record.key < b.record.key;
        }
    };
    /// Sorts stably. First it distributes the elements into parts by the leading bits of their heads; then it sorts
    /// each part, which takes few comparisons.
    static void sort(std::vector<coming>& some) {
        const auto [least, most] = std::ranges::minmax(some, {}, &coming::head);
        const std::uint64_t first_head = least.head;
        const int bits = std::min(static_cast<int>(std::bit_width(some.size())), 16); // hardly more parts than elements
        const int shift = std::max(static_cast<int>(std::bit_width(most.head - first_head)) - bits, 0);
        const auto part = [&](const coming& one) { return static_cast<std::size_t>((one.head - first_head) >> shift); };
        std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1); // at first [i + 1] counts the elements of part i
        for (const coming& one : some)
            ++ends[part(one) + 1];
        std::partial_sum(ends.begin(), ends.end(), ends.begin()); // then [i] is the begin of part i, later its end
        std::vector<coming> dealt(some.size());
        for (const coming& one : some)
            dealt[ends[part(one)]++] = one;
        auto first = dealt.begin();
        for (const std::uint32_t end : ends) {
            const auto last = dealt.begin() + end;
            if (last - first > 1)
                std::stable_sort(first, last);
            first = last;
        }
        some.swap(dealt);
    }
    /// True if a view of the range may lie in this container: both are in the same heap, or both are in no heap.
    template <class Iterator>
    [[nodiscard]] bool may_view_this(Iterator first, Iterator last) const {
        if (tree_.empty())
            return false;
        const heap* const home = heap_of(tree_.begin()->second.data());
        return std::any_of(first, last, [home](const auto& one) {
            const auto& [key, value] = one;
            return heap_of(std::string_view(key).data()) == home || heap_of(std::string_view(value).data()) == home;
        });
    }
    /// No view of the range may lie in this container.
    template <class Iterator>
    void insert_views(Iterator first, Iterator last) {
        while (first != last)
            first = insert_some(first, last);
    }
    /// Inserts the first elements of the range, a million at most; returns where it stopped.
    template <class Iterator>
    Iterator insert_some(Iterator first, Iterator last) {
        constexpr std::size_t k_most = 1U << 20;
        std::vector<coming> some;
        some.reserve(std::min(k_most, static_cast<std::size_t>(std::ranges::distance(first, last))));
        for (; first != last && some.size() != k_most; ++first) {
            const auto& [key, value] = *first;
            const packed_record added = checked({key, value});
            some.push_back({text_head(added.key), added});
        }
        if (!std::is_sorted(some.begin(), some.end()))
            sort(some);
        if constexpr (IsUnique)
            some.erase(std::unique(some.begin(), some.end(),
                                   [](const coming& a, const coming& b) { return a.record.key == b.record.key; }),
                       some.end());
        for (auto each = some.cbegin(); each != some.cend();) {
            const auto behind = end_of_leaf(each, some.cend());
            if (each == behind) {
                emplace(each->record.key, each->record.value);
                ++each;
            } else {
                append_leaf(each, behind, some.cend());
                each = behind;
            }
        }
        return first;
    }
    using coming_iterator = typename std::vector<coming>::const_iterator;
    /// Returns the end of the elements that can fill a new leaf behind all others; `first` if there are none.
    [[nodiscard]] coming_iterator end_of_leaf(coming_iterator first, coming_iterator last) const noexcept {
        if (!tree_.empty()) {
            const packed_leaf leaf = trees::leaf(std::prev(tree_.end())->second);
            const std::string_view key = leaf.key(leaf.count() - 1);
            if (IsUnique ? first->record.key <= key : first->record.key < key)
                return first;
        }
        std::size_t bytes = packed_leaf::k_header_bytes;
        for (coming_iterator each = first; each != last; ++each) {
            bytes += packed_marked_bytes(each->record);
            if (each->record.is_large() || bytes > k_packed_leaf_bytes)
                return bytes > k_packed_leaf_bytes ? each : first;
        }
        return first;
    }
    /// `behind_all`: the end of all elements still to come, for prefetching.
    void append_leaf(coming_iterator first, coming_iterator last, coming_iterator behind_all) {
        constexpr std::ptrdiff_t k_ahead = 16; // records; their texts are prefetched while others are copied
        std::size_t live = 0;
        for (coming_iterator each = first; each != last; ++each)
            live += packed_marked_bytes(each->record);
        block made = make().block_for(live, 0);
        packed_leaf_writer writer(made.data(), made.size());
        for (coming_iterator each = first; each != last; ++each) {
            if (behind_all - each > k_ahead) {
                const packed_record& later = each[k_ahead].record;
                fetch_ahead(later.key.data(), later.key.size());
                fetch_ahead(later.value.data(), later.value.size());
            }
            writer.add(each->record, packed_mark_of(each->record.key));
        }
        writer.finish();
        separator least = make().separator_of({});
        if (!tree_.empty()) {
            const packed_leaf before = trees::leaf(std::prev(tree_.end())->second);
            least = make().between(before.key(before.count() - 1), first->record.key);
        }
        tree_.emplace_hint(tree_.end(), std::move(least), std::move(made));
        set_size(size_ + static_cast<std::uint64_t>(last - first));
    }

    // Changes of leaves. Nothing changes before the last allocation has succeeded.

    [[nodiscard]] packed_builder<Alloc> make() const noexcept { return packed_builder<Alloc>(tree_.get_allocator()); }
    /// Inserts a leaf behind the one at `at`.
    place put_behind(place at, separator&& least, block&& made) {
        return tree_.emplace_hint(std::next(at), std::move(least), std::move(made));
    }

    iterator put_first(const packed_record& added) {
        const place at = tree_.emplace(make().separator_of({}), make().leaf_of(added));
        set_size(1);
        return iterator(tree_, at, 0);
    }
    /// Inserts before the record `index` of the leaf at `at`.
    iterator put(place at, std::size_t index, const packed_record& added) {
        const packed_leaf leaf = trees::leaf(at->second);
        if (added.is_large() || is_large(leaf))
            return put_alone(at, index, added);
        const std::size_t live = leaf.live_bytes() + packed_marked_bytes(added);
        const packed_leaf_and_one all{leaf, index, added};
        if (leaf.free_bytes() >= packed_marked_bytes(added))
            packed_leaf_writer(at->second.data(), at->second.size())
                .insert(index, added, packed_mark_of(added.key), declare_to(tree_.get_allocator()));
        else if (packed_leaf::k_header_bytes + live <= k_packed_leaf_bytes)
            at->second = make().leaf_of(all, 0, all.count(), live, packed_builder<Alloc>::spare(live));
        else
            return put_divided(at, all);
        set_size(size_ + 1);
        return iterator(tree_, at, index);
    }
    /// Splits a leaf. A record that is appended to the whole container gets a new leaf.
    iterator put_divided(place at, const packed_leaf_and_one& all) {
        const bool is_last = all.index + 1 == all.count() && std::next(at) == tree_.end();
        const std::size_t middle = is_last ? all.index : all.middle();
        const std::size_t left_live = all.live_bytes(0, middle);
        const std::size_t right_live = all.live_bytes(middle, all.count());
        separator least = make().between(all.record(middle - 1).key, all.record(middle).key);
        block left = make().leaf_of(all, 0, middle, left_live, is_last ? 0 : packed_builder<Alloc>::spare(left_live));
        block right = make().leaf_of(all, middle, all.count(), right_live, packed_builder<Alloc>::spare(right_live));
        const place behind = put_behind(at, std::move(least), std::move(right));
        const place before = std::prev(behind);
        before->second = std::move(left);
        set_size(size_ + 1);
        return all.index < middle ? iterator(tree_, before, all.index) : iterator(tree_, behind, all.index - middle);
    }
    /// Inserts a record into a leaf of its own, because the record is large or the leaf at `at` consists of a large
    /// one.
    iterator put_alone(place at, std::size_t index, const packed_record& added) {
        const packed_leaf leaf = trees::leaf(at->second);
        block made = make().leaf_of(added);
        place where{};
        if (index == 0) {
            where = std::prev(put_behind(at, make().between(added.key, leaf.key(0)), std::move(made)));
            where->second.swap(std::next(where)->second);
        } else {
            separator least = make().between(leaf.key(index - 1), added.key);
            if (index != leaf.count()) {
                block left = make().leaf_of(leaf, 0, index);
                block right = make().leaf_of(leaf, index, leaf.count());
                at = std::prev(put_behind(at, make().between(added.key, leaf.key(index)), std::move(right)));
                at->second = std::move(left); // the container is consistent even if the next step fails
            }
            where = put_behind(at, std::move(least), std::move(made));
        }
        set_size(size_ + 1);
        return iterator(tree_, where, 0);
    }

    /// Removes a leaf; returns the next element.
    iterator drop(place at) noexcept {
        const place next = std::next(at);
        if (at != tree_.begin() || next == tree_.end())
            return iterator(tree_, tree_.erase(at), 0);
        at->second = std::move(next->second); // PK1
        tree_.erase(next);
        return begin();
    }
    /// Compacts a leaf after an erasure before its record `index`; returns that record's place. If half of the block is
    /// free, it joins the leaf with a neighbour if both are small, or else moves it to a smaller block. If there is no
    /// memory for that, the leaf stays as it is.
    iterator tidied(place at, std::size_t index) noexcept {
        const packed_leaf leaf = trees::leaf(at->second);
        if (packed_leaf::k_header_bytes + 2 * leaf.live_bytes() >= leaf.bytes())
            return iterator(tree_, at, index); // without reading the neighbours
        try {
            if (const place next = std::next(at); next != tree_.end() && are_small(at, next))
                return iterator(tree_, united(at, next), index);
            if (at != tree_.begin() && are_small(std::prev(at), at)) {
                const std::size_t before = trees::leaf(std::prev(at)->second).count();
                return iterator(tree_, united(std::prev(at), at), before + index);
            }
            at->second = make().leaf_of(leaf, 0, leaf.count());
        } catch (...) { // NOLINT(bugprone-empty-catch): the leaf stays as it is
            // A heap may throw more than bad_alloc, for instance in a forked child.
        }
        return iterator(tree_, at, index);
    }
    [[nodiscard]] static bool are_small(place left, place right) noexcept {
        const packed_leaf first = trees::leaf(left->second);
        const packed_leaf second = trees::leaf(right->second);
        return first.live_bytes() + second.live_bytes() <= k_packed_leaf_bytes / 2 && !is_large(first) &&
               !is_large(second);
    }
    place united(place left, place right) {
        const packed_leaf first = trees::leaf(left->second);
        const packed_leaf second = trees::leaf(right->second);
        left->second = make().leaf_of(first, 0, first.count(), &second);
        return std::prev(place(tree_.erase(right)));
    }

    // Part of the layout (k_packed_layout), together with that of the tree.
    tree tree_;
    std::uint64_t size_ = 0;
};

} // namespace remanence::detail
