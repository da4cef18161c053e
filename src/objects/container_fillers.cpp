#include "objects/container_fillers.hpp"

#include "base/units.hpp"

#include <remanence/containers/detail/hash_group.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::objects {

using detail::shape_kind;
using types::type_row;

namespace {

/// Where the key of an element is.
object_place key_of(const element_place& element) { return element.has_key ? element.key : element.value; }

} // namespace

/// Of std::vector and vector_pi: one block.
class filler_of_vector final : public container_filler {
public:
    filler_of_vector(object_builder& to, object_place container) : to_(to), container_(container) {}

    result<void> begin(std::uint64_t count) {
        const type_row& is = to_.row(container_.row);
        const auto layout = to_.element_of(is, 0);
        bytes_ = layout.bytes;
        std::uint64_t first = 0;
        if (count != 0) {
            auto block = to_.allocate(count * bytes_, layout.alignment);
            if (!block)
                return block.error();
            first = *block;
        }
        next_ = first;
        if (is.shape == shape_kind::contiguous) {
            to_.put_word(container_.at, to_.base_);
            to_.put_address(container_.at + is.numbers[0], first);
            to_.put_address(container_.at + is.numbers[1], first == 0 ? 0 : first + count * bytes_);
            to_.put_address(container_.at + is.numbers[1] + k_word, first == 0 ? 0 : first + count * bytes_);
        } else {
            to_.put_word(container_.at, 0 - container_.at);
            to_.put_link(container_.at + is.numbers[0], first);
            to_.put_word(container_.at + is.numbers[1], count);
            to_.put_word(container_.at + is.numbers[1] + k_word, count);
        }
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const std::uint64_t place = next_;
        next_ += bytes_;
        return to_.element_at(to_.row(container_.row), place, 0);
    }

private:
    object_builder& to_;
    object_place container_;
    std::uint64_t bytes_ = 0;
    std::uint64_t next_ = 0;
};

/// Blocks of so many elements, a map of their addresses, two iterators.
class filler_of_deque final : public container_filler {
public:
    filler_of_deque(object_builder& to, object_place container) : to_(to), container_(container) {}

    result<void> begin(std::uint64_t count) {
        constexpr std::uint64_t k_map_least = 8;
        const type_row& is = to_.row(container_.row);
        const auto layout = to_.element_of(is, 0);
        bytes_ = layout.bytes;
        in_block_ = is.numbers[2];
        const std::uint64_t blocks = count / in_block_ + 1;
        const std::uint64_t words = std::max(k_map_least, blocks + 2);
        auto map = to_.allocate(words * k_word, k_word);
        if (!map)
            return map.error();
        const std::uint64_t first_word = *map + (words - blocks) / 2 * k_word;
        for (std::uint64_t i = 0; i != blocks; ++i) {
            auto block = to_.allocate(in_block_ * bytes_, layout.alignment);
            if (!block)
                return block.error();
            to_.put_address(first_word + i * k_word, *block);
            blocks_.push_back(*block);
        }
        to_.put_word(container_.at, to_.base_);
        to_.put_address(container_.at + k_word, *map);
        to_.put_word(container_.at + 2 * k_word, words);
        const auto put_iterator = [&](std::uint64_t at, std::uint64_t block, std::uint64_t element) {
            to_.put_address(at, blocks_[block] + element * bytes_);
            to_.put_address(at + k_word, blocks_[block]);
            to_.put_address(at + 2 * k_word, blocks_[block] + in_block_ * bytes_);
            to_.put_address(at + 3 * k_word, first_word + block * k_word);
        };
        put_iterator(container_.at + is.numbers[0], 0, 0);
        put_iterator(container_.at + is.numbers[1], blocks - 1, count % in_block_);
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const std::uint64_t place = blocks_[index_ / in_block_] + index_ % in_block_ * bytes_;
        ++index_;
        return to_.element_at(to_.row(container_.row), place, 0);
    }

private:
    object_builder& to_;
    object_place container_;
    std::uint64_t bytes_ = 0;
    std::uint64_t in_block_ = 1;
    std::uint64_t index_ = 0;
    std::vector<std::uint64_t> blocks_;
};

/// std::list and std::forward_list.
class filler_of_list final : public container_filler {
public:
    filler_of_list(object_builder& to, object_place container) : to_(to), container_(container) {}

    result<void> begin(std::uint64_t count) {
        const type_row& is = to_.row(container_.row);
        const auto layout = to_.element_of(is, 0);
        alignment_ = std::max(layout.alignment, k_word);
        bytes_ = align_up(is.numbers[1] + layout.bytes, alignment_);
        last_ = container_.at + is.numbers[0];
        to_.put_word(container_.at, to_.base_);
        if (is.shape == shape_kind::ring) {
            to_.put_address(last_, last_);
            to_.put_address(last_ + k_word, last_);
            to_.put_word(last_ + 2 * k_word, count);
        }
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const type_row& is = to_.row(container_.row);
        auto node = to_.allocate(bytes_, alignment_);
        if (!node)
            return node.error();
        to_.put_address(last_, *node);
        if (is.shape == shape_kind::ring) {
            const std::uint64_t sentinel = container_.at + is.numbers[0];
            to_.put_address(*node, sentinel);
            to_.put_address(*node + k_word, last_);
            to_.put_address(sentinel + k_word, *node);
        }
        last_ = *node;
        return to_.element_at(is, *node + is.numbers[1], 0);
    }

private:
    object_builder& to_;
    object_place container_;
    std::uint64_t bytes_ = 0;
    std::uint64_t alignment_ = k_word;
    std::uint64_t last_ = 0;
};

namespace {

/// What both kinds of ordered containers check: that a key is not before the one before it, nor equal, unless it may be.
class order_check {
public:
    order_check(object_builder& to, object_place container)
        : to_(to),
          container_(container),
          function_(to.function_of(container.row)),
          has_several_(to.has_several_of_a_key(container.row)) {}

    void next(const element_place& element) { next_ = key_of(element); }
    result<void> made() {
        if (function_ == key_function::own)
            return {};
        if (const auto before = std::exchange(before_, next_)) {
            auto order = compare(to_.built(), *before, next_);
            if (!order)
                return order.error();
            if (*order && **order == 0 && !has_several_)
                return wrong("a key that is there already");
            if (!*order || (function_ == key_function::greater ? **order < 0 : **order > 0))
                return wrong("a key that does not come behind the one before it");
        }
        return {};
    }

private:
    [[nodiscard]] unexpected wrong(const std::string& what) const {
        return fail(errc::invalid_argument, "a " + to_.schema().name_of(container_.row) + " gets " + what);
    }

    object_builder& to_;
    object_place container_;
    key_function function_;
    bool has_several_;
    std::optional<object_place> before_;
    object_place next_;
};

} // namespace

/// std::map and its kin: a red-black tree as low as it can be, whose last level is red unless it is full.
class filler_of_tree final : public container_filler {
public:
    filler_of_tree(object_builder& to, object_place container)
        : to_(to), container_(container), check_(to, container) {}

    result<void> begin(std::uint64_t count) {
        const type_row& is = to_.row(container_.row);
        const auto layout = to_.element_of(is, is.numbers[2]);
        alignment_ = std::max(layout.alignment, k_word);
        bytes_ = align_up(is.numbers[1] + layout.bytes, alignment_);
        const std::uint64_t header = container_.at + is.numbers[0];
        to_.put_word(container_.at, to_.base_);
        to_.put_address(header + k_left, header);
        to_.put_address(header + k_right, header);
        to_.put_word(header + 4 * k_word, count);
        nodes_.reserve(std::min<std::uint64_t>(count, std::uint64_t{1} << 20)); // a number that somebody wrote
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const type_row& is = to_.row(container_.row);
        auto node = to_.allocate(bytes_, alignment_);
        if (!node)
            return node.error();
        nodes_.push_back(*node);
        const element_place element = to_.element_at(is, *node + is.numbers[1], is.numbers[2]);
        check_.next(element);
        return element;
    }
    result<void> made() override { return check_.made(); }
    result<void> finish() override {
        if (nodes_.empty())
            return {};
        const std::uint64_t header = container_.at + to_.row(container_.row).numbers[0];
        // A level below this one is not full.
        const auto full_levels = static_cast<unsigned>(std::bit_width(nodes_.size() + 1) - 1);
        to_.put_address(header + k_parent, link(0, nodes_.size(), header, 0, full_levels));
        to_.put_address(header + k_left, nodes_.front());
        to_.put_address(header + k_right, nodes_.back());
        return {};
    }

private:
    static constexpr std::uint64_t k_parent = 8;
    static constexpr std::uint64_t k_left = 16;
    static constexpr std::uint64_t k_right = 24;

    /// The nodes [first, last) as a tree; returns its root, 0: there are none.
    // NOLINTNEXTLINE(misc-no-recursion): by height
    std::uint64_t link(std::size_t first, std::size_t last, std::uint64_t parent, unsigned level,
                       unsigned full_levels) {
        if (first == last)
            return 0;
        const std::size_t middle = first + (last - first) / 2;
        const std::uint64_t node = nodes_[middle];
        to_.put_word(node, level == full_levels ? 0 : 1); // red, black
        to_.put_address(node + k_parent, parent);
        to_.put_address(node + k_left, link(first, middle, node, level + 1, full_levels));
        to_.put_address(node + k_right, link(middle + 1, last, node, level + 1, full_levels));
        return node;
    }

    object_builder& to_;
    object_place container_;
    order_check check_;
    std::uint64_t bytes_ = 0;
    std::uint64_t alignment_ = k_word;
    std::vector<std::uint64_t> nodes_;
};

/// Our B-trees (containers/detail/btree_node.hpp). How many elements each node gets is known before the first is made, so that
/// none moves, and all but the root are at least half full.
class filler_of_btree final : public container_filler {
public:
    filler_of_btree(object_builder& to, object_place container)
        : to_(to), container_(container), check_(to, container) {}

    result<void> begin(std::uint64_t count) {
        const type_row& is = to_.row(container_.row);
        element_ = to_.element_of(is, is.numbers[5]);
        is_inline_ = is.numbers[1] != 0;
        capacity_ = is.numbers[0];
        alignment_ = std::max(k_word, is_inline_ ? element_.alignment : k_word);
        const std::uint64_t slot = is_inline_ ? element_.bytes : k_word;
        // OB1: what the numbers say of a node fits its parts.
        if (capacity_ < 2 || capacity_ > k_capacity_max || is.numbers[3] < slot || is.numbers[2] % alignment_ != 0 ||
            is.numbers[3] > k_slot_bytes_max || is.numbers[2] > k_slot_bytes_max || is.numbers[4] % k_word != 0 ||
            is.numbers[4] < is.numbers[2] + capacity_ * is.numbers[3] ||
            is.numbers[4] > 2 * k_capacity_max * k_slot_bytes_max ||
            (is_inline_ && is.numbers[3] % element_.alignment != 0))
            return fail(errc::invalid_argument,
                        "the schema says of a " + to_.schema().name_of(container_.row) + " what cannot be");
        elements_max_ = {capacity_}; // of a tree of each height
        while (elements_max_.back() < count)
            elements_max_.push_back(capacity_ + (capacity_ + 1) * elements_max_.back());
        to_.put_word(container_.at + 4 * k_word, 0 - (container_.at + 4 * k_word)); // the allocator
        to_.put_word(container_.at + 3 * k_word, count);
        if (count == 0)
            return {};
        auto root = open(elements_max_.size() - 1, count, 0);
        if (!root)
            return root.error();
        to_.put_link(container_.at, *root);
        to_.put_link(container_.at + k_word, open_.back().node);
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const type_row& is = to_.row(container_.row);
        while (open_.back().made == open_.back().count)
            open_.pop_back();
        level& last = open_.back();
        std::uint64_t place = last.node + is.numbers[2] + last.made * is.numbers[3];
        ++last.made;
        if (!is_inline_) {
            auto block = to_.allocate(element_.bytes, element_.alignment);
            if (!block)
                return block.error();
            to_.put_link(place, *block);
            place = *block;
        }
        if (last.height != 0)
            REM_TRY(open_child());
        const element_place element = to_.element_at(is, place, is.numbers[5]);
        check_.next(element);
        return element;
    }
    result<void> made() override { return check_.made(); }

private:
    static constexpr std::uint64_t k_capacity_max = 65535;
    static constexpr std::uint64_t k_slot_bytes_max = std::uint64_t{1} << 20;

    struct level {
        std::uint64_t node;
        std::size_t height;
        std::uint64_t count; // elements of its own
        std::uint64_t below; // elements of its children
        std::uint64_t made;
    };

    /// A node with `count` elements below and in it, and the first of its children. Returns the place of the node.
    result<std::uint64_t> open(std::size_t height, std::uint64_t count, std::uint64_t parent) {
        std::uint64_t first = 0;
        for (;;) {
            level made{};
            made.height = height;
            made.count = count;
            if (height != 0) { // as few as suffice
                const std::uint64_t below = elements_max_[height - 1];
                made.count = std::max<std::uint64_t>((count - below + below) / (below + 1), 1);
            }
            made.below = count - made.count;
            auto node = new_node(made, parent);
            if (!node)
                return node.error();
            made.node = *node;
            if (first == 0)
                first = *node;
            else
                put_child(open_.back().node, 0, *node);
            open_.push_back(made);
            if (height == 0) {
                to_.put_link(container_.at + 2 * k_word, made.node); // the last leaf, so far
                return first;
            }
            count = share(made, 0);
            parent = made.node;
            --height;
        }
    }
    /// The next child of the node that is open.
    result<void> open_child() {
        const level parent = open_.back();
        auto child = open(parent.height - 1, share(parent, parent.made), parent.node);
        if (!child)
            return child.error();
        put_child(parent.node, parent.made, *child);
        return {};
    }
    /// How many elements a child gets.
    static std::uint64_t share(const level& of, std::uint64_t child) {
        const std::uint64_t children = of.count + 1;
        return of.below / children + (child < of.below % children ? 1 : 0);
    }
    result<std::uint64_t> new_node(const level& of, std::uint64_t parent) {
        const auto& n = to_.row(container_.row).numbers;
        const std::uint64_t capacity = of.height == 0 && parent == 0 ? of.count : capacity_;
        const std::uint64_t bytes = of.height == 0 ? n[2] + capacity * n[3] : n[4] + (capacity_ + 1) * k_word;
        auto node = to_.allocate(align_up(bytes, alignment_), alignment_);
        if (!node)
            return node;
        to_.put_link(*node, parent);
        const auto half = [&](std::uint64_t at, std::uint64_t value) {
            const auto small = static_cast<std::uint16_t>(value);
            std::memcpy(to_.at(*node + at), &small, sizeof small);
        };
        half(8, of.count);
        half(10, capacity);
        half(12, of.height);
        return node;
    }
    void put_child(std::uint64_t node, std::uint64_t index, std::uint64_t child) {
        to_.put_word(node + to_.row(container_.row).numbers[4] + index * k_word, child - node);
    }

    object_builder& to_;
    object_place container_;
    order_check check_;
    object_builder::layout element_{};
    bool is_inline_ = true;
    std::uint64_t capacity_ = 0;
    std::uint64_t alignment_ = k_word;
    std::vector<std::uint64_t> elements_max_;
    std::vector<level> open_; // from the root to the leaf that is being filled
};

/// std::unordered_map and its kin.
class filler_of_hash_chain final : public container_filler {
public:
    filler_of_hash_chain(object_builder& to, object_place container) : to_(to), container_(container) {}

    result<void> begin(std::uint64_t count) {
        const type_row& is = to_.row(container_.row);
        const auto element = to_.element_of(is, is.numbers[2]);
        const type_row& key = to_.row(is.parts[0].type);
        const std::size_t function = inspect::is_map(is) ? 2 : 1;
        // Hashes that are no noexcept functions are kept in the nodes.
        keeps_hash_ = (key.shape == shape_kind::text || key.shape == shape_kind::text_by_link) &&
                      to_.schema().name_of(is.parts[function].type).starts_with("rem::hash<");
        alignment_ = std::max(element.alignment, k_word);
        hash_at_ = is.numbers[1] + align_up(element.bytes, k_word);
        bytes_ = align_up(keeps_hash_ ? hash_at_ + k_word : is.numbers[1] + element.bytes, alignment_);
        has_several_ = to_.has_several_of_a_key(container_.row);
        std::unordered_set<int> model; // which knows how many buckets its library likes
        if (count != 0)
            model.rehash(count);
        buckets_ = count == 0 ? 1 : model.bucket_count();
        head_ = container_.at + is.numbers[0];
        table_ = container_.at + 7 * k_word; // room for one
        first_of_.assign(buckets_, k_none);
        if (buckets_ != 1) {
            auto table = to_.allocate(buckets_ * k_word, k_word);
            if (!table)
                return table.error();
            table_ = *table;
        }
        const float load = 1;
        to_.put_word(container_.at, to_.base_);
        to_.put_address(container_.at + k_word, table_);
        to_.put_word(container_.at + 2 * k_word, buckets_);
        to_.put_word(container_.at + 4 * k_word, count);
        std::memcpy(to_.at(container_.at + 5 * k_word), &load, sizeof load);
        to_.put_word(container_.at + 6 * k_word, buckets_); // grows beyond so many
        return {};
    }
    [[nodiscard]] bool wants_hash() const override { return true; }
    result<element_place> add(std::uint64_t hash) override {
        const type_row& is = to_.row(container_.row);
        auto node = to_.allocate(bytes_, alignment_);
        if (!node)
            return node.error();
        node_ = *node;
        hash_ = hash;
        element_ = to_.element_at(is, node_ + is.numbers[1], is.numbers[2]);
        return element_;
    }
    /// The node comes into its bucket: behind its equals, or as the last.
    result<void> made() override {
        if (keeps_hash_)
            to_.put_word(node_ + hash_at_, hash_);
        const std::size_t index = nodes_.size();
        nodes_.push_back({node_, hash_, k_none});
        std::size_t& first = first_of_[hash_ % buckets_];
        if (first == k_none) {
            first = index;
            order_.push_back(index);
            return {};
        }
        std::size_t last_equal = k_none;
        std::size_t at = first;
        for (;; at = nodes_[at].next) {
            if (nodes_[at].hash == hash_) {
                auto order = compare(to_.built(), key_at(nodes_[at].node), key_of(element_));
                if (!order)
                    return order.error();
                if (*order && **order == 0)
                    last_equal = at;
            }
            if (nodes_[at].next == k_none)
                break;
        }
        if (last_equal != k_none && !has_several_)
            return fail(errc::invalid_argument,
                        "a " + to_.schema().name_of(container_.row) + " gets a key that is there already");
        const std::size_t behind = last_equal == k_none ? at : last_equal;
        nodes_[index].next = std::exchange(nodes_[behind].next, index);
        return {};
    }
    /// One chain of all, a bucket behind the other, each known by the node before it.
    result<void> finish() override {
        std::uint64_t last = head_;
        for (const std::size_t first : order_) {
            to_.put_address(table_ + nodes_[first].hash % buckets_ * k_word, last);
            for (std::size_t at = first; at != k_none; at = nodes_[at].next) {
                to_.put_address(last, nodes_[at].node);
                last = nodes_[at].node;
            }
        }
        return {};
    }

private:
    static constexpr std::size_t k_none = ~std::size_t{0};
    struct known_node {
        std::uint64_t node, hash;
        std::size_t next; // of its bucket
    };
    [[nodiscard]] object_place key_at(std::uint64_t node) const {
        const type_row& is = to_.row(container_.row);
        return {is.parts[0].type, node + is.numbers[1]};
    }

    object_builder& to_;
    object_place container_;
    bool keeps_hash_ = false;
    bool has_several_ = false;
    std::uint64_t hash_at_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t alignment_ = k_word;
    std::uint64_t buckets_ = 1;
    std::uint64_t table_ = 0;
    std::uint64_t head_ = 0;
    std::uint64_t node_ = 0;
    std::uint64_t hash_ = 0;
    element_place element_;
    std::vector<known_node> nodes_;
    std::vector<std::size_t> first_of_; // of each bucket
    std::vector<std::size_t> order_;    // the first of each bucket, in the order in which they came
};

/// hash_map and hash_set (containers/detail/hash_table.hpp).
class filler_of_hash_table final : public container_filler {
public:
    filler_of_hash_table(object_builder& to, object_place container) : to_(to), container_(container) {}

    result<void> begin(std::uint64_t count) {
        constexpr std::uint64_t k_buckets_least = 4;
        const type_row& is = to_.row(container_.row);
        element_bytes_ = to_.element_of(is, is.numbers[3]);
        is_inline_ = is.numbers[1] != 0;
        slot_bytes_ = is.numbers[0];
        const std::uint64_t alignment = std::max<std::uint64_t>(is.numbers[2], detail::k_hash_group);
        // OB1
        if (slot_bytes_ < (is_inline_ ? element_bytes_.bytes : k_word) || !std::has_single_bit(is.numbers[2]) ||
            (is_inline_ && is.numbers[2] != element_bytes_.alignment))
            return fail(errc::invalid_argument,
                        "the schema says of a " + to_.schema().name_of(container_.row) + " what cannot be");
        std::random_device random;
        seed_ = std::uint64_t{random()} << 32 | random();
        to_.put_word(container_.at + 4 * k_word, seed_);
        to_.put_word(container_.at + 5 * k_word, 0 - (container_.at + 5 * k_word)); // the allocator
        if (count == 0)
            return {};
        const auto elements_max = [](std::uint64_t buckets) { return buckets / 16 * 13 + buckets % 16 * 13 / 16; };
        buckets_ = std::max(std::bit_ceil(count), k_buckets_least);
        if (elements_max(buckets_) < count)
            buckets_ *= 2;
        const std::uint64_t controls = std::max<std::uint64_t>(buckets_, detail::k_hash_group);
        const std::uint64_t slots_at = align_up(controls, alignment);
        const std::uint64_t slots = buckets_ - buckets_ / detail::k_hash_group - 1;
        auto block = to_.allocate(align_up(slots_at + slots * slot_bytes_, alignment), alignment);
        if (!block)
            return block.error();
        block_ = *block;
        slots_ = block_ + slots_at;
        auto* const bytes = to_.at(block_);
        std::memset(bytes, detail::k_slot_empty, controls);
        if (buckets_ < detail::k_hash_group)
            std::memset(bytes + buckets_ - 1, detail::k_slot_end, detail::k_hash_group_slots - (buckets_ - 1));
        else
            bytes[buckets_ - 2] = std::byte{detail::k_slot_end};
        for (std::uint64_t i = detail::k_hash_group_slots; i < controls; i += detail::k_hash_group)
            bytes[i] = std::byte{0};
        to_.put_link(container_.at, block_);
        to_.put_word(container_.at + k_word, buckets_);
        to_.put_word(container_.at + 2 * k_word, count);
        to_.put_word(container_.at + 3 * k_word, elements_max(buckets_) - count);
        return {};
    }
    [[nodiscard]] bool wants_hash() const override { return true; }
    [[nodiscard]] std::uint64_t seed() const override { return seed_; }
    result<element_place> add(std::uint64_t hash) override {
        const type_row& is = to_.row(container_.row);
        const std::uint64_t mask = (buckets_ - 1) / detail::k_hash_group;
        std::uint64_t group = hash >> 8 & mask; // H2
        hash_ = hash;
        for (std::uint64_t step = 0;; group = (group + ++step) & mask) {
            auto* const controls = reinterpret_cast<unsigned char*>(to_.at(block_ + group * detail::k_hash_group));
            if (const std::uint32_t empty = detail::plain_hash_group::empty(controls)) {
                const std::size_t index = detail::first_in(empty);
                control_ = controls + index;
                *control_ = detail::control_of(hash);
                std::uint64_t place = slot(group, index);
                if (!is_inline_) {
                    auto block = to_.allocate(element_bytes_.bytes, element_bytes_.alignment);
                    if (!block)
                        return block.error();
                    to_.put_link(place, *block);
                    place = *block;
                }
                element_ = to_.element_at(is, place, is.numbers[3]);
                return element_;
            }
            detail::hash_overflow::add(controls, hash, [](const void*, std::size_t) {});
        }
    }
    result<void> made() override {
        const std::uint64_t mask = (buckets_ - 1) / detail::k_hash_group;
        std::uint64_t group = hash_ >> 8 & mask;
        for (std::uint64_t step = 0;; group = (group + ++step) & mask) {
            const auto* const controls =
                reinterpret_cast<const unsigned char*>(to_.at(block_ + group * detail::k_hash_group));
            for (std::uint32_t alike = detail::plain_hash_group::alike(controls, hash_); alike != 0;
                 alike &= alike - 1) {
                const std::size_t index = detail::first_in(alike);
                if (controls + index == control_)
                    continue;
                std::uint64_t place = slot(group, index);
                if (!is_inline_)
                    place += to_.word(place);
                auto order = compare(to_.built(), {key_of(element_).row, place}, key_of(element_));
                if (!order)
                    return order.error();
                if (*order && **order == 0)
                    return fail(errc::invalid_argument,
                                "a " + to_.schema().name_of(container_.row) + " gets a key that is there already");
            }
            if (!detail::hash_overflow::has(controls, hash_) || step == mask)
                return {};
        }
    }

private:
    [[nodiscard]] std::uint64_t slot(std::uint64_t group, std::size_t index) const {
        return slots_ + (group * detail::k_hash_group_slots + index) * slot_bytes_;
    }

    object_builder& to_;
    object_place container_;
    object_builder::layout element_bytes_{};
    bool is_inline_ = true;
    std::uint64_t slot_bytes_ = 0;
    std::uint64_t seed_ = 0;
    std::uint64_t buckets_ = 0;
    std::uint64_t block_ = 0;
    std::uint64_t slots_ = 0;
    std::uint64_t hash_ = 0;
    unsigned char* control_ = nullptr;
    element_place element_;
};

namespace {

template <class Filler>
result<std::unique_ptr<container_filler>> begun(object_builder& builder, object_place container, std::uint64_t count) {
    auto filler = std::make_unique<Filler>(builder, container);
    REM_TRY(filler->begin(count));
    return std::unique_ptr<container_filler>(std::move(filler));
}

} // namespace

result<std::unique_ptr<container_filler>> make_filler(object_builder& builder, object_place container,
                                                      std::uint64_t count) {
    switch (builder.row(container.row).shape) {
    case shape_kind::contiguous:
    case shape_kind::linked_block:
        return begun<filler_of_vector>(builder, container, count);
    case shape_kind::deque:
        return begun<filler_of_deque>(builder, container, count);
    case shape_kind::ring:
    case shape_kind::chain:
        return begun<filler_of_list>(builder, container, count);
    case shape_kind::tree:
        return begun<filler_of_tree>(builder, container, count);
    case shape_kind::btree:
        return begun<filler_of_btree>(builder, container, count);
    case shape_kind::hash_chain:
        return begun<filler_of_hash_chain>(builder, container, count);
    default:
        return begun<filler_of_hash_table>(builder, container, count);
    }
}

} // namespace remanence::objects
