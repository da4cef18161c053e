// Finds the elements of containers. The shape of a container's row says where they lie.
#include "inspect/object_reader.hpp"

#include "base/units.hpp"

#include <remanence/containers/detail/packed_leaf.hpp>

#include <algorithm>
#include <bit>
#include <vector>

namespace remanence::inspect {

using detail::foreign_way;
using detail::shape_kind;
using types::type_row;

result<void> object_reader::count_one(object_place of) {
    if (budget_ == 0)
        return is_limited_ ? out_of_steps(of) : damaged(of, "that leads in a circle");
    --budget_;
    return {};
}

element_place object_reader::element_at(std::uint32_t container, std::uint64_t at, std::uint64_t mapped) const {
    const type_row& of = schema_.rows[container];
    element_place element;
    element.value = {of.parts[0].type, at};
    if (mapped != 0)
        element = {.value = {of.parts[1].type, at + mapped}, .has_key = true, .key = {of.parts[0].type, at}};
    return element;
}

/// Passes one element to `visit`.
result<bool> object_reader::give(object_place container, std::uint64_t at, std::uint64_t mapped,
                                 const visit_element& visit) {
    REM_TRY(count_one(container));
    return visit(element_at(container.row, at, mapped));
}

result<void> object_reader::for_each_element(object_place container, const visit_element& visit) {
    if (has_run(container.row)) {
        auto elements = run_of(container);
        if (!elements)
            return elements.error();
        const std::uint64_t bytes = size_of(schema_.rows[container.row].parts[0].type);
        return contiguous(container, elements->first, elements->count, bytes, 0, visit);
    }
    const auto& n = schema_.rows[container.row].numbers;
    switch (schema_.rows[container.row].shape) {
    case shape_kind::deque:
        return deque(container, {n[0], n[1], n[2]}, visit);
    case shape_kind::ring:
    case shape_kind::chain:
    case shape_kind::hash_chain:
        return list(container, visit);
    case shape_kind::tree:
        return tree(container, visit);
    case shape_kind::btree:
        return btree(container, visit);
    case shape_kind::hash_table:
        return hash_table(container, visit);
    case shape_kind::bits:
        return bits(container, visit);
    case shape_kind::packed:
        return packed(container, visit);
    case shape_kind::foreign:
        return foreign(container, visit);
    default:
        return {};
    }
}

result<void> object_reader::contiguous(object_place of, std::uint64_t first, std::uint64_t count,
                                       std::uint64_t bytes_each, std::uint64_t mapped, const visit_element& visit) {
    if (count == 0)
        return {};
    if (bytes_each == 0 || count > k_size_max / bytes_each || !heap_.contains(first, count * bytes_each))
        return damaged(of, "whose elements do not lie in the heap");
    for (std::uint64_t i = 0; i != count; ++i) {
        auto more = give(of, first + i * bytes_each, mapped, visit);
        if (!more || !*more)
            return ended(std::move(more));
    }
    return {};
}

result<void> object_reader::deque(object_place of, const deque_numbers& numbers, const visit_element& visit) {
    const std::uint64_t size = size_of(schema_.rows[of.row].parts[0].type);
    const std::uint64_t start = of.at + numbers.begin; // element, first, last, block: four pointers
    auto at = word<std::uint64_t>(start);
    auto last = word<std::uint64_t>(start + 2 * k_word);
    auto block = word<std::uint64_t>(start + 3 * k_word);
    auto end = word<std::uint64_t>(of.at + numbers.end);
    for (auto* each : {&at, &last, &block, &end}) {
        if (!*each)
            return each->error();
    }
    if (size == 0 || numbers.in_block > k_size_max / size)
        return damaged(of, "with elements of no size");
    if (*last != 0) // an empty deque of Boost may have no block
        tell(*last - base_ - numbers.in_block * size, numbers.in_block * size);
    while (*at != *end) {
        auto place = followed(*at, of);
        if (!place)
            return place.error();
        auto more = give(of, *place, 0, visit);
        if (!more || !*more)
            return ended(std::move(more));
        *at += size;
        if (*at != *last)
            continue;
        *block += k_word;
        auto next = followed(*block, of);
        if (!next)
            return next.error();
        auto begin = word<std::uint64_t>(*next);
        if (!begin)
            return begin.error();
        *at = *begin;
        *last = *begin + numbers.in_block * size;
        tell(*begin - base_, numbers.in_block * size);
    }
    return {};
}

/// Visits the elements of a linked list. A ring ends at its own beginning, a chain with a null link.
result<void> object_reader::list(object_place of, const visit_element& visit) {
    const type_row& row = schema_.rows[of.row];
    const std::uint64_t sentinel = of.at + row.numbers[0];
    const std::uint64_t end = row.shape == shape_kind::ring ? base_ + sentinel : 0;
    const std::uint64_t mapped = row.shape == shape_kind::hash_chain ? row.numbers[2] : 0;
    std::uint64_t node = sentinel;
    for (;;) {
        auto next = word<std::uint64_t>(node);
        if (!next)
            return next.error();
        if (*next == end)
            return {};
        auto place = followed(*next, of);
        if (!place)
            return place.error();
        auto more = give(of, *place + row.numbers[1], mapped, visit);
        if (!more || !*more)
            return ended(std::move(more));
        node = *place;
    }
}

/// Visits a red-black tree of libstdc++. A node holds colour, parent, left and right. The header's parent is the root.
result<void> object_reader::tree(object_place of, const visit_element& visit) {
    const auto& n = schema_.rows[of.row].numbers;
    auto root = word<std::uint64_t>(of.at + n[0] + k_word);
    return root ? binary_tree(of, *root, {2 * k_word, 3 * k_word, n[1], n[2]}, visit) : root.error();
}

result<void> object_reader::binary_tree(object_place of, std::uint64_t root, const tree_numbers& numbers,
                                        const visit_element& visit) {
    constexpr std::size_t k_height_max = 128; // enough for 2^64 nodes
    std::vector<std::uint64_t> open;          // nodes whose left side was visited or is being visited
    result<std::uint64_t> next = root;
    for (;;) {
        if (!next)
            return next.error();
        if (*next != 0) {
            if (open.size() == k_height_max)
                return damaged(of, "that is deeper than it can be");
            auto node = followed(*next, of);
            if (!node)
                return node.error();
            open.push_back(*node);
            next = word<std::uint64_t>(*node + numbers.left);
            continue;
        }
        if (open.empty())
            return {};
        const std::uint64_t node = open.back();
        open.pop_back();
        auto more = give(of, node + numbers.element, numbers.mapped, visit);
        if (!more || !*more)
            return ended(std::move(more));
        next = word<std::uint64_t>(node + numbers.right);
    }
}

namespace {

struct btree_head {
    std::uint64_t parent;
    std::uint16_t count, capacity, height, reserved;
};
static_assert(sizeof(btree_head) == 16);

constexpr unsigned k_btree_height_max = 64;

} // namespace

result<void> object_reader::btree(object_place of, const visit_element& visit) {
    auto root = linked(of.at);
    if (!root)
        return root.error();
    if (*root == 0)
        return {};
    auto head = word<btree_head>(*root);
    if (!head)
        return head.error();
    if (head->height > k_btree_height_max)
        return damaged(of, "that is deeper than it can be");
    auto done = btree_node(of, *root, head->height, visit);
    if (!done)
        return done.error();
    return {};
}

// NOLINTNEXTLINE(misc-no-recursion): by height, which is small
result<bool> object_reader::btree_node(object_place of, std::uint64_t node, unsigned height,
                                       const visit_element& visit) {
    const auto& n = schema_.rows[of.row].numbers;
    auto head = word<btree_head>(node);
    if (!head)
        return head.error();
    if (head->height != height || head->count > n[0])
        return damaged(of, "with a node that is none");
    REM_TRY(count_one(of));
    tell(node, n[2] + std::min<std::uint64_t>(head->capacity, n[0]) * n[3]);
    for (std::uint64_t i = 0; i <= head->count; ++i) {
        if (height != 0) {
            auto distance = word<std::uint64_t>(node + n[4] + i * k_word);
            if (!distance)
                return distance.error();
            auto more = btree_node(of, node + *distance, height - 1, visit);
            if (!more || !*more)
                return more;
        }
        if (i == head->count)
            break;
        std::uint64_t element = node + n[2] + i * n[3];
        if (n[1] == 0) {
            auto there = linked(element);
            if (!there)
                return there.error();
            element = *there;
        }
        auto more = give(of, element, n[5], visit);
        if (!more || !*more)
            return more;
    }
    return true;
}

result<void> object_reader::hash_table(object_place of, const visit_element& visit) {
    constexpr std::uint64_t k_group = 16;
    constexpr unsigned char k_slot_end = 2; // marks above this one belong to elements
    const auto& n = schema_.rows[of.row].numbers;
    auto block = linked(of.at);
    auto buckets = word<std::uint64_t>(of.at + k_word);
    if (!block || !buckets)
        return (!block ? block : buckets).error();
    if (*buckets == 0)
        return {};
    if (!std::has_single_bit(*buckets) || *buckets < 4 || *buckets > k_size_max / n[0])
        return damaged(of, "with an impossible number of buckets");
    const std::uint64_t controls = std::max(*buckets, k_group);
    const std::uint64_t alignment = std::max(n[2], k_group);
    const std::uint64_t slots = *block + (controls + alignment - 1) / alignment * alignment;
    if (!heap_.contains(*block, controls))
        return damaged(of, "whose elements do not lie in the heap");
    tell(*block, slots - *block + (*buckets - *buckets / k_group) * n[0]);
    for (std::uint64_t i = 0; i != controls; ++i) {
        if (i % k_group == k_group - 1) {
            REM_TRY(count_one(of)); // since a table may have many groups without elements
            continue;
        }
        auto control = word<unsigned char>(*block + i);
        if (!control)
            return control.error();
        if (*control <= k_slot_end)
            continue;
        std::uint64_t element = slots + (i - i / k_group) * n[0];
        if (n[1] == 0) {
            auto there = linked(element);
            if (!there)
                return there.error();
            element = *there;
        }
        auto more = give(of, element, n[3], visit);
        if (!more || !*more)
            return ended(std::move(more));
    }
    return {};
}

result<object_reader::bit_range> object_reader::range_of_bits(object_place of) {
    const auto& n = schema_.rows[of.row].numbers;
    auto first = word<std::uint64_t>(of.at + n[0]);
    auto first_bit = word<std::uint32_t>(of.at + n[0] + k_word);
    auto last = word<std::uint64_t>(of.at + n[1]);
    auto last_bit = word<std::uint32_t>(of.at + n[1] + k_word);
    for (auto* each : {&first, &last}) {
        if (!*each)
            return each->error();
    }
    for (auto* each : {&first_bit, &last_bit}) {
        if (!*each)
            return each->error();
    }
    if (*last < *first || *last - *first > k_size_max || *first_bit >= 8 * k_word || *last_bit >= 8 * k_word ||
        (*last == *first && *last_bit < *first_bit))
        return damaged(of, "that ends before it begins");
    const std::uint64_t end = 8 * (*last - *first) + *last_bit;
    if (end == *first_bit)
        return bit_range{0, 0, 0};
    auto at = followed(*first, of);
    return at ? result<bit_range>({*at, *first_bit, end - *first_bit}) : at.error();
}

result<std::uint64_t> object_reader::place_of_bit(const bit_range& range, std::uint64_t index) {
    const std::uint64_t bit = range.first + index;
    auto byte = word<unsigned char>(range.at + bit / 8);
    return byte ? result<std::uint64_t>(k_place_of_bits + (*byte >> bit % 8 & 1U)) : byte.error();
}

result<void> object_reader::bits(object_place of, const visit_element& visit) {
    auto range = range_of_bits(of);
    if (!range)
        return range.error();
    for (std::uint64_t i = 0; i != range->count; ++i) {
        auto place = place_of_bit(*range, i);
        if (!place)
            return place.error();
        auto more = give(of, *place, 0, visit);
        if (!more || !*more)
            return ended(std::move(more));
    }
    return {};
}

/// Visits a packed map. Its tree's elements are leaves, which contain records (containers/detail/packed_leaf.hpp).
result<void> object_reader::packed(object_place of, const visit_element& visit) {
    return for_each_element({schema_.rows[of.row].parts[0].type, of.at},
                            [&](const element_place& each) { return packed_leaf(of, each.value, visit); });
}

result<bool> object_reader::packed_leaf(object_place of, object_place leaf, const visit_element& visit) {
    constexpr std::uint64_t k_head = detail::packed_leaf::k_header_bytes;
    constexpr std::uint64_t k_mark = detail::packed_leaf::k_mark_bytes;
    auto block = run_of(leaf);
    if (!block)
        return block.error();
    if (block->count < k_head)
        return damaged(of, "with a leaf that is none");
    auto head = word<detail::packed_leaf::header>(block->first);
    if (!head)
        return head.error();
    if (head->count * k_mark > block->count - k_head)
        return damaged(of, "with a leaf that is none");
    const element_rows rows = rows_of_elements(schema_.rows[of.row]);
    for (std::uint64_t i = 0; i != head->count; ++i) {
        auto mark = word<std::uint32_t>(block->first + block->count - k_mark * (i + 1));
        if (!mark)
            return mark.error();
        REM_TRY(count_one(of));
        const std::uint64_t record = block->first + k_head + (*mark & 0xffffU);
        auto more = visit({.value = {rows.value, record}, .has_key = true, .key = {rows.key, record}});
        if (!more || !*more)
            return more;
    }
    return true;
}

result<void> object_reader::foreign(object_place of, const visit_element& visit) {
    const type_row& row = schema_.rows[of.row];
    const auto& n = row.numbers;
    switch (static_cast<foreign_way>(n[0])) {
    case foreign_way::run: {
        auto address = word<std::uint64_t>(of.at + n[1]);
        auto count = word<std::uint64_t>(of.at + n[2]);
        if (!address || !count)
            return (!address ? address : count).error();
        if (*count == 0)
            return {};
        auto first = followed(*address, of);
        if (!first)
            return first.error();
        return contiguous(of, *first, *count, bytes_of_foreign_element(of.row), n[3], visit);
    }
    case foreign_way::blocks:
        return deque(of, {n[1], n[2], n[3]}, visit);
    case foreign_way::pointers:
        return foreign_pointers(of, visit);
    case foreign_way::ring:
        return foreign_ring(of, visit);
    case foreign_way::tree: {
        auto header = foreign_header(of, 1);
        auto root = header ? word<std::uint64_t>(*header) : std::move(header);
        constexpr std::uint64_t k_colour = 1; // the bit of a link that holds the colour
        return root ? binary_tree(of, *root & ~k_colour, {n[3], n[4], n[5], n[6]}, visit) : root.error();
    }
    case foreign_way::buckets:
        return foreign_buckets(of, visit);
    case foreign_way::text:
        break;
    }
    return {};
}

std::uint64_t object_reader::bytes_of_foreign_element(std::uint32_t container) const {
    const type_row& row = schema_.rows[container];
    const element_rows rows = rows_of_elements(row);
    const std::uint64_t alignment = std::max(alignment_of(schema_, rows.key), alignment_of(schema_, rows.value));
    return align_up(row.numbers[3] + size_of(rows.value), alignment);
}

result<std::uint64_t> object_reader::foreign_header(object_place of, std::size_t number) {
    const auto& n = schema_.rows[of.row].numbers;
    if (n[number] == 0)
        return of.at + n[number + 1];
    auto address = word<std::uint64_t>(of.at + n[number] - 1);
    auto block = address ? followed(*address, of) : std::move(address);
    return block ? result<std::uint64_t>(*block + n[number + 1]) : block.error();
}

result<void> object_reader::foreign_ring(object_place of, const visit_element& visit) {
    const auto& n = schema_.rows[of.row].numbers;
    auto header = foreign_header(of, 1);
    if (!header)
        return header.error();
    for (std::uint64_t node = *header;;) {
        auto next = word<std::uint64_t>(node + n[3]);
        if (!next)
            return next.error();
        auto place = followed(*next, of);
        if (!place)
            return place.error();
        if (*place == *header)
            return {};
        auto more = give(of, *place + n[4], n[5], visit);
        if (!more || !*more)
            return ended(std::move(more));
        node = *place;
    }
}

result<void> object_reader::foreign_pointers(object_place of, const visit_element& visit) {
    const auto& n = schema_.rows[of.row].numbers;
    auto address = word<std::uint64_t>(of.at + n[1]);
    auto count = word<std::uint64_t>(of.at + n[2]);
    if (!address || !count)
        return (!address ? address : count).error();
    if (*count <= n[3])
        return {};
    auto first = followed(*address, of);
    if (!first)
        return first.error();
    for (std::uint64_t i = 0; i != *count - n[3]; ++i) {
        auto pointer = word<std::uint64_t>(*first + i * k_word);
        auto node = pointer ? followed(*pointer, of) : std::move(pointer);
        if (!node)
            return node.error();
        auto more = give(of, *node + n[4], n[5], visit);
        if (!more || !*more)
            return ended(std::move(more));
    }
    return {};
}

result<void> object_reader::foreign_buckets(object_place of, const visit_element& visit) {
    const auto& n = schema_.rows[of.row].numbers;
    auto address = word<std::uint64_t>(of.at + n[1]);
    auto count = word<std::uint64_t>(of.at + n[2]);
    if (!address || !count)
        return (!address ? address : count).error();
    if (*address == 0)
        return {};
    auto first = followed(*address, of);
    if (!first)
        return first.error();
    for (std::uint64_t i = 0; i != *count; ++i) {
        REM_TRY(count_one(of));
        for (std::uint64_t link = *first + i * k_word;;) {
            auto next = word<std::uint64_t>(link);
            if (!next)
                return next.error();
            if (*next == 0)
                break;
            auto node = followed(*next, of);
            if (!node)
                return node.error();
            auto more = give(of, *node + n[3], n[4], visit);
            if (!more || !*more)
                return ended(std::move(more));
            link = *node;
        }
    }
    return {};
}

} // namespace remanence::inspect
