#include "objects/conversion_size.hpp"

#include "objects/object_blocks.hpp"
#include "objects/packed_filler.hpp"
#include "objects/pair_walk.hpp"

#include <algorithm>
#include <functional>

namespace remanence::objects {

using detail::shape_kind;
using types::type_row;

namespace {

/// Visits the layouts of the nodes of a B-tree's subtree, each with the number of such nodes.
// NOLINTNEXTLINE(misc-no-recursion): by height
void for_each_node(const btree_layout& tree, std::size_t height, std::uint64_t count, std::uint64_t times, bool is_root,
                   const std::function<void(const block_layout&, std::uint64_t)>& visit) {
    const std::uint64_t own = tree.own_elements(height, count);
    visit(tree.node(height, own, is_root), times);
    if (height == 0)
        return;
    const std::uint64_t children = own + 1;
    const std::uint64_t below = count - own;
    const std::uint64_t larger = below % children; // so many children have one element more than the others
    if (larger != 0)
        for_each_node(tree, height - 1, below / children + 1, times * larger, false, visit);
    for_each_node(tree, height - 1, below / children, times * (children - larger), false, visit);
}

} // namespace

// NOLINTBEGIN(misc-no-recursion): bounded

result<void> conversion_size::add(object_place from, std::uint32_t to) {
    add_block({std::max<std::uint64_t>(builder_.size_of(to), 1), alignment_of(builder_.schema(), to)});
    return visit(from, to, 0);
}

result<void> conversion_size::visit(object_place from, std::uint32_t to, unsigned depth) {
    if (depth == inspect::k_depth_max)
        return source_.too_deep(from);
    if (const step_chain* const chain = rows_.chain(from.row, to))
        return visit_steps(*chain, from, to, depth);
    if (!may_own(to) && !rows_.has_chains())
        return {};
    const type_row& is = builder_.row(to);
    const form what = form_of_pair(rows_, from.row, to);
    if (what == form::text || what == form::serialised) {
        auto text = source_.text(from);
        if (!text)
            return text.error();
        add_text(is, text->size());
        return {};
    }
    if (what == form::packed)
        return visit_packed(from);
    if (what > form::array) {
        auto count = source_.count(from);
        if (!count)
            return count.error();
        add_container(to, *count);
        const auto [first, second] = inspect::rows_of_elements(is);
        if (!may_own(first) && !may_own(second) && !rows_.has_chains())
            return {};
    }
    return visit_parts(from, to, depth);
}

result<void> conversion_size::visit_parts(object_place from, std::uint32_t to, unsigned depth) {
    return for_each_part_pair(source_, rows_, from, to, [&](const part_pair& each) -> result<void> {
        if (!each.is_new)
            return visit(each.from, each.to, depth + 1);
        add_default(each.to, depth + 1);
        return {};
    });
}

result<void> conversion_size::visit_packed(object_place from) {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    REM_TRY(source_.for_each_element(from, [&](const element_place& each) -> result<bool> {
        for (const object_place text : {each.key, each.value}) {
            auto read = source_.text(text);
            if (!read)
                return read.error();
            bytes += read->size();
        }
        ++records;
        return true;
    }));
    if (records != 0)
        for_each_block_of_packed(records, bytes,
                                 [&](const block_layout& of, std::uint64_t times) { add_block(of, times); });
    return {};
}

/// Assumes that intermediate objects, and the memory that functions allocate, are about as large as the stored object.
result<void> conversion_size::visit_steps(const step_chain& chain, object_place from, std::uint32_t to,
                                          unsigned depth) {
    if (chain.size() == 1) {
        const bool has_members =
            members_of(source_.row(from.row)) != nullptr && members_of(builder_.row(to)) != nullptr;
        return has_members ? visit_parts(from, to, depth) : result<void>();
    }
    for (std::size_t i = 0; i + 1 != chain.size(); ++i) {
        const types::type_row& made = chain[i]->is.rows[chain[i]->is.root];
        add_block({std::max<std::uint64_t>(made.size, 1), std::max<std::uint64_t>(made.alignment, 1)});
    }
    std::vector<std::uint64_t> blocks;
    REM_TRY(add_blocks_of(source_, builder_.base(), from, blocks));
    for (const std::uint64_t each : blocks) {
        if (const auto block = builder_.memory().block_of(builder_.memory().base() + each))
            bytes_ += chain.size() * block->bytes;
    }
    return {};
}

/// Adds a default-constructed object, assuming that its constructor allocates only for containers.
void conversion_size::add_default(std::uint32_t to, unsigned depth) {
    const type_row& is = builder_.row(to);
    if (depth == inspect::k_depth_max || !may_own(to) || form_of(is) == form::optional)
        return;
    const form what = form_of(is);
    if (what > form::array)
        return add_container(to, 0);
    const std::uint64_t times = what == form::array ? extent_of(is) : 1;
    for (const inspect::row_part& each : inspect::parts_of(is)) {
        for (std::uint64_t i = 0; i != times; ++i)
            add_default(each.row, depth + 1);
        if (what == form::variant) // a variant holds its first alternative
            return;
    }
}

// NOLINTEND(misc-no-recursion)

void conversion_size::add_text(const type_row& is, std::uint64_t bytes) {
    if (const std::uint64_t block = object_builder::block_of_text(is, bytes))
        add_block({block, 1});
}

/// Adds the blocks of the container itself, without those of its elements.
void conversion_size::add_container(std::uint32_t to, std::uint64_t count) {
    const type_row& is = builder_.row(to);
    switch (is.shape) {
    case shape_kind::contiguous:
    case shape_kind::linked_block: {
        const block_layout element = builder_.element_of(is, 0);
        if (count != 0)
            add_block({count * element.bytes, element.alignment});
        break;
    }
    case shape_kind::deque: {
        const block_layout element = builder_.element_of(is, 0);
        const auto [blocks, words] = deque_layout_of(is, count);
        add_block({words * k_word, k_word});
        add_block({is.numbers[2] * element.bytes, element.alignment}, blocks);
        break;
    }
    case shape_kind::ring:
    case shape_kind::chain:
    case shape_kind::tree:
        add_block(node_layout(builder_, is), count);
        break;
    case shape_kind::hash_chain: {
        add_block(hash_node_layout_of(builder_, is), count);
        if (const std::uint64_t buckets = buckets_of_hash_chain(count); buckets != 1)
            add_block({buckets * k_word, k_word});
        break;
    }
    case shape_kind::btree: {
        btree_layout tree(builder_, is);
        if (count == 0 || !tree.is_sound())
            break;
        if (!tree.is_inline())
            add_block(tree.element(), count);
        for_each_node(tree, tree.height_for(count), count, 1, true,
                      [&](const block_layout& node, std::uint64_t times) { add_block(node, times); });
        break;
    }
    case shape_kind::bits:
        if (count != 0)
            add_block({(count / (8 * k_word) + 2) * k_word, k_word});
        break;
    case shape_kind::hash_table:
        if (count == 0)
            break;
        if (is.numbers[1] == 0)
            add_block(builder_.element_of(is, is.numbers[3]), count);
        add_block(hash_table_layout_of(is, count));
        break;
    default:
        break;
    }
}

bool conversion_size::may_own(std::uint32_t to) {
    if (owners_.empty())
        owners_ = inspect::rows_that_lead_on(builder_.schema(), false);
    return owners_[to] != 0;
}

} // namespace remanence::objects
