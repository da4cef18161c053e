// Fills containers whose elements have an order, but no keys.
#include "objects/container_layout.hpp"
#include "objects/shaped_filler.hpp"

#include <vector>

namespace remanence::objects {

using detail::shape_kind;

namespace {

/// Fills std::vector and vector_pi. Their elements lie in one block.
class filler_of_vector final : public shaped_filler {
public:
    using shaped_filler::shaped_filler;

    result<void> begin(std::uint64_t count) {
        const auto layout = to_.element_of(is_, 0);
        bytes_ = layout.bytes;
        std::uint64_t first = 0;
        if (count != 0) {
            auto block = to_.allocate(count * bytes_, layout.alignment);
            if (!block)
                return block.error();
            first = *block;
        }
        next_ = first;
        if (is_.shape == shape_kind::contiguous) {
            to_.put_word(container_.at, to_.base());
            to_.put_address(container_.at + is_.numbers[0], first);
            to_.put_address(container_.at + is_.numbers[1], first == 0 ? 0 : first + count * bytes_);
            to_.put_address(container_.at + is_.numbers[1] + k_word, first == 0 ? 0 : first + count * bytes_);
        } else {
            to_.put_word(container_.at, 0 - container_.at);
            to_.put_link(container_.at + is_.numbers[0], first);
            to_.put_word(container_.at + is_.numbers[1], count);
            to_.put_word(container_.at + is_.numbers[1] + k_word, count);
        }
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const std::uint64_t place = next_;
        next_ += bytes_;
        return to_.element_at(is_, place, 0);
    }

private:
    std::uint64_t bytes_ = 0;
    std::uint64_t next_ = 0;
};

/// Fills a deque: blocks of elements, a map with the addresses of these blocks, and two iterators.
class filler_of_deque final : public shaped_filler {
public:
    using shaped_filler::shaped_filler;

    result<void> begin(std::uint64_t count) {
        const auto layout = to_.element_of(is_, 0);
        bytes_ = layout.bytes;
        in_block_ = is_.numbers[2];
        const auto [blocks, words] = deque_layout_of(is_, count);
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
        to_.put_word(container_.at, to_.base());
        to_.put_address(container_.at + k_word, *map);
        to_.put_word(container_.at + 2 * k_word, words);
        const auto put_iterator = [&](std::uint64_t at, std::uint64_t block, std::uint64_t element) {
            to_.put_address(at, blocks_[block] + element * bytes_);
            to_.put_address(at + k_word, blocks_[block]);
            to_.put_address(at + 2 * k_word, blocks_[block] + in_block_ * bytes_);
            to_.put_address(at + 3 * k_word, first_word + block * k_word);
        };
        put_iterator(container_.at + is_.numbers[0], 0, 0);
        put_iterator(container_.at + is_.numbers[1], blocks - 1, count % in_block_);
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        const std::uint64_t place = blocks_[index_ / in_block_] + index_ % in_block_ * bytes_;
        ++index_;
        return to_.element_at(is_, place, 0);
    }

private:
    std::uint64_t bytes_ = 0;
    std::uint64_t in_block_ = 1;
    std::uint64_t index_ = 0;
    std::vector<std::uint64_t> blocks_;
};

/// Fills std::list and std::forward_list.
class filler_of_list final : public shaped_filler {
public:
    using shaped_filler::shaped_filler;

    result<void> begin(std::uint64_t count) {
        node_ = node_layout(to_, is_);
        last_ = container_.at + is_.numbers[0];
        to_.put_word(container_.at, to_.base());
        if (is_.shape == shape_kind::ring) {
            to_.put_address(last_, last_);
            to_.put_address(last_ + k_word, last_);
            to_.put_word(last_ + 2 * k_word, count);
        }
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override {
        auto node = to_.allocate(node_.bytes, node_.alignment);
        if (!node)
            return node.error();
        to_.put_address(last_, *node);
        if (is_.shape == shape_kind::ring) {
            const std::uint64_t sentinel = container_.at + is_.numbers[0];
            to_.put_address(*node, sentinel);
            to_.put_address(*node + k_word, last_);
            to_.put_address(sentinel + k_word, *node);
        }
        last_ = *node;
        return to_.element_at(is_, *node + is_.numbers[1], 0);
    }

private:
    block_layout node_{};
    std::uint64_t last_ = 0;
};

/// Fills std::vector<bool>, whose elements are bits of words. Each element is made in a byte behind the words, and then
/// copied to its bit.
class filler_of_bits final : public shaped_filler {
public:
    using shaped_filler::shaped_filler;

    result<void> begin(std::uint64_t count) {
        constexpr std::uint64_t k_bits = 64;
        to_.put_word(container_.at, to_.base());
        if (count == 0)
            return {};
        const std::uint64_t words = (count + k_bits - 1) / k_bits;
        auto block = to_.allocate((words + 1) * k_word, k_word);
        if (!block)
            return block.error();
        first_ = *block;
        made_ = first_ + words * k_word;
        to_.put_address(container_.at + is_.numbers[0], first_);
        to_.put_address(container_.at + is_.numbers[1], first_ + count / k_bits * k_word);
        to_.put_word(container_.at + is_.numbers[1] + k_word, count % k_bits);
        to_.put_address(container_.at + is_.numbers[1] + 2 * k_word, made_ + k_word);
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override { return to_.element_at(is_, made_, 0); }
    result<void> made() override {
        std::byte& made = *to_.at(made_);
        if (made != std::byte{0})
            *to_.at(first_ + index_ / 8) |= std::byte{1} << static_cast<int>(index_ % 8);
        made = std::byte{0};
        ++index_;
        return {};
    }

private:
    std::uint64_t first_ = 0;
    std::uint64_t made_ = 0;
    std::uint64_t index_ = 0;
};

} // namespace

result<std::unique_ptr<container_filler>> make_sequence_filler(object_builder& builder, object_place container,
                                                               std::uint64_t count) {
    switch (builder.row(container.row).shape) {
    case shape_kind::deque:
        return begun<filler_of_deque>(builder, container, count);
    case shape_kind::bits:
        return begun<filler_of_bits>(builder, container, count);
    case shape_kind::ring:
    case shape_kind::chain:
        return begun<filler_of_list>(builder, container, count);
    default:
        return begun<filler_of_vector>(builder, container, count);
    }
}

} // namespace remanence::objects
