// Fills hash containers, in which the hash of a key decides where an element lies.
#include "objects/container_layout.hpp"
#include "objects/shaped_filler.hpp"

#include <remanence/containers/detail/hash_group.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace remanence::objects {

using detail::shape_kind;
using types::type_row;

namespace {

class hash_filler : public shaped_filler {
public:
    hash_filler(object_builder& to, object_place container)
        : shaped_filler(to, container), by_(to.functions_of(container.row)) {}

protected:
    /// Compares two keys, both of which are made already.
    result<bool> are_equal(object_place a, object_place b) {
        if (by_ != nullptr)
            return by_->equal(to_.at(a.at), to_.at(b.at));
        auto order = compare(to_.built(), a, b);
        if (!order)
            return order.error();
        return *order && **order == 0;
    }

    const detail::key_functions* const by_; // the program's functions
};

/// Fills std::unordered_map and its relatives.
class filler_of_hash_chain final : public hash_filler {
public:
    using hash_filler::hash_filler;

    result<void> begin(std::uint64_t count) {
        layout_ = hash_node_layout_of(to_, is_, by_ != nullptr ? std::optional(by_->keeps_hash) : std::nullopt);
        has_several_ = has_several_of_a_key(is_);
        buckets_ = buckets_of_hash_chain(count);
        head_ = container_.at + is_.numbers[0];
        table_ = container_.at + 7 * k_word; // a single bucket lies in the container itself
        first_of_.assign(buckets_, k_none);
        if (buckets_ != 1) {
            auto table = to_.allocate(buckets_ * k_word, k_word);
            if (!table)
                return table.error();
            table_ = *table;
        }
        const float load = 1;
        to_.put_word(container_.at, to_.base());
        to_.put_address(container_.at + k_word, table_);
        to_.put_word(container_.at + 2 * k_word, buckets_);
        to_.put_word(container_.at + 4 * k_word, count);
        std::memcpy(to_.at(container_.at + 5 * k_word), &load, sizeof load);
        to_.put_word(container_.at + 6 * k_word, buckets_); // the number of elements beyond which the container grows
        return {};
    }
    [[nodiscard]] bool wants_hash() const override { return true; }
    result<element_place> add(std::uint64_t hash) override {
        auto node = to_.allocate(layout_.bytes, layout_.alignment);
        if (!node)
            return node.error();
        node_ = *node;
        hash_ = hash;
        element_ = to_.element_at(is_, node_ + is_.numbers[1], is_.numbers[2]);
        return element_;
    }
    /// Adds the node to its bucket: behind a node with an equal key, or at the end.
    result<void> made() override {
        if (layout_.keeps_hash)
            to_.put_word(node_ + layout_.hash_at, hash_);
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
                auto is_equal = are_equal(key_at(nodes_[at].node), key_of(element_));
                if (!is_equal)
                    return is_equal.error();
                if (*is_equal)
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
    /// Links all nodes into one chain, bucket by bucket. Each bucket points at the node before its first one.
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
        std::size_t next; // the next node in the same bucket
    };
    [[nodiscard]] object_place key_at(std::uint64_t node) const { return {is_.parts[0].type, node + is_.numbers[1]}; }

    hash_node_layout layout_{};
    bool has_several_ = false;
    std::uint64_t buckets_ = 1;
    std::uint64_t table_ = 0;
    std::uint64_t head_ = 0;
    std::uint64_t node_ = 0;
    std::uint64_t hash_ = 0;
    element_place element_;
    std::vector<known_node> nodes_;
    std::vector<std::size_t> first_of_; // the first node of each bucket
    std::vector<std::size_t> order_;    // the first nodes of all buckets, in the order of insertion
};

/// Fills hash_map and hash_set (containers/detail/hash_table.hpp).
class filler_of_hash_table final : public hash_filler {
public:
    using hash_filler::hash_filler;

    result<void> begin(std::uint64_t count) {
        element_bytes_ = to_.element_of(is_, is_.numbers[3]);
        is_inline_ = is_.numbers[1] != 0;
        slot_bytes_ = is_.numbers[0];
        // refuses numbers that would lead outside of a block (OB1)
        if (slot_bytes_ < (is_inline_ ? element_bytes_.bytes : k_word) || !std::has_single_bit(is_.numbers[2]) ||
            (is_inline_ && is_.numbers[2] != element_bytes_.alignment))
            return fail(errc::invalid_argument,
                        "the schema says of a " + to_.schema().name_of(container_.row) + " what cannot be");
        std::random_device random;
        seed_ = std::uint64_t{random()} << 32 | random();
        to_.put_word(container_.at + 4 * k_word, seed_);
        to_.put_word(container_.at + 5 * k_word, 0 - (container_.at + 5 * k_word)); // the allocator's link
        if (count == 0)
            return {};
        const hash_table_layout layout = hash_table_layout_of(is_, count);
        buckets_ = layout.buckets;
        const std::uint64_t controls = layout.controls;
        auto block = to_.allocate(layout.bytes, layout.alignment);
        if (!block)
            return block.error();
        block_ = *block;
        slots_ = block_ + layout.slots_at;
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
        to_.put_word(container_.at + 3 * k_word, elements_of_buckets(buckets_) - count);
        return {};
    }
    [[nodiscard]] bool wants_hash() const override { return true; }
    [[nodiscard]] std::uint64_t seed() const override { return seed_; }
    result<element_place> add(std::uint64_t hash) override {
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
                element_ = to_.element_at(is_, place, is_.numbers[3]);
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
                auto is_equal = are_equal({key_of(element_).row, place}, key_of(element_));
                if (!is_equal)
                    return is_equal.error();
                if (*is_equal)
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

} // namespace

result<std::unique_ptr<container_filler>> make_hash_filler(object_builder& builder, object_place container,
                                                           std::uint64_t count) {
    if (builder.row(container.row).shape == shape_kind::hash_chain)
        return begun<filler_of_hash_chain>(builder, container, count);
    return begun<filler_of_hash_table>(builder, container, count);
}

} // namespace remanence::objects
