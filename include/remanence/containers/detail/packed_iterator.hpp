// The iterators of packed maps. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/packed_leaf.hpp>
#include <remanence/containers/detail/packed_tree.hpp>
#include <remanence/containers/detail/read_ahead.hpp>

#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace remanence::detail {

/// A bidirectional iterator. Dereferencing it returns a pair of views.
template <class Alloc>
class packed_iterator {
    using trees = packed_tree<Alloc>;
    using place = typename trees::type::const_iterator;

public:
    using iterator_category = std::bidirectional_iterator_tag; // for std::prev(), although operator* returns no
                                                               // reference
    using iterator_concept = std::bidirectional_iterator_tag;
    using value_type = std::pair<std::string_view, std::string_view>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    class pointer {
    public:
        explicit pointer(const value_type& of) noexcept : of_(of) {}
        [[nodiscard]] const value_type* operator->() const noexcept { return &of_; }

    private:
        value_type of_;
    };

    packed_iterator() = default;

    [[nodiscard]] reference operator*() const noexcept {
        const packed_record here = leaf_.record(index_);
        return {here.key, here.value};
    }
    [[nodiscard]] pointer operator->() const noexcept { return pointer(**this); }
    packed_iterator& operator++() noexcept {
        if (++index_ == count_) {
            ++at_;
            enter(0);
            if (count_ != 0)
                ahead_.came_to(leaf_.begin());
        }
        return *this;
    }
    packed_iterator operator++(int) noexcept {
        const packed_iterator before = *this;
        ++*this;
        return before;
    }
    packed_iterator& operator--() noexcept {
        if (index_ == 0) {
            --at_;
            enter(0);
            index_ = count_;
        }
        --index_;
        return *this;
    }
    packed_iterator operator--(int) noexcept {
        const packed_iterator before = *this;
        --*this;
        return before;
    }
    friend bool operator==(const packed_iterator& a, const packed_iterator& b) noexcept {
        return a.at_ == b.at_ && a.index_ == b.index_;
    }

private:
    template <class, bool>
    friend class packed_container;

    /// Constructs the end.
    explicit packed_iterator(const typename trees::type& tree) noexcept : end_(tree.end()), at_(end_) {}
    /// Constructs an iterator to a record of the leaf at `at`.
    packed_iterator(const typename trees::type& tree, place at, const packed_leaf& leaf, std::size_t index) noexcept
        : end_(tree.end()), at_(at), leaf_(leaf), index_(index), count_(leaf.count()) {}
    /// `index` may be behind the leaf's last record: then the iterator leads to the first record of the next leaf.
    packed_iterator(const typename trees::type& tree, place at, std::size_t index) noexcept
        : end_(tree.end()), at_(at) {
        enter(index);
        if (index_ == count_ && at_ != end_) {
            ++at_;
            enter(0);
        }
    }
    void enter(std::size_t index) noexcept {
        index_ = index;
        count_ = 0;
        if (at_ == end_)
            return;
        leaf_ = trees::leaf(at_->second);
        count_ = leaf_.count();
    }

    place end_;
    place at_;
    packed_leaf leaf_;
    std::size_t index_ = 0;
    std::size_t count_ = 0;
    reader_ahead ahead_;
};

} // namespace remanence::detail
