#include "objects/object_blocks.hpp"

#include "inspect/shape_walk.hpp"

#include <cstring>

namespace remanence::objects {

using detail::shape_kind;
using inspect::part_role;
using types::type_row;

namespace {

class block_walk {
public:
    block_walk(heap_source& source, std::uint64_t base, std::vector<std::uint64_t>& blocks, const known_elements* known)
        : source_(source), base_(base), blocks_(blocks), known_(known) {}

    // NOLINTBEGIN(misc-no-recursion): bounded, as objects were converted before
    result<void> visit(object_place of, unsigned depth) {
        if (depth == inspect::k_depth_max)
            return source_.too_deep(of);
        if (!may_own(of.row))
            return {};
        const type_row& is = source_.row(of.row);
        if (inspect::is_foreign(is)) // not freed, since only that library knows its blocks (I8)
            return {};
        if (is.shape == shape_kind::packed)
            return visit({is.parts[0].type, of.at}, depth + 1);
        if (is.shape != shape_kind::bits && (known_ == nullptr || !known_->have(of)))
            REM_TRY(visit_parts(of, depth));
        return add_own(of);
    }

private:
    result<void> visit_parts(object_place of, unsigned depth) {
        const type_row& is = source_.row(of.row);
        const std::optional<std::uint64_t> in_block = place_in_block(is);
        const part_role first = inspect::is_map(is) ? part_role::key : part_role::element;
        return for_each_part(source_, of, [&](const inspect::object_part& each) -> result<bool> {
            if (each.role == first && in_block)
                blocks_.push_back(each.place.at - *in_block);
            if (may_own(each.place.row))
                REM_TRY(visit(each.place, depth + 1));
            return true;
        });
    }
    /// Adds the blocks of the container itself, except nodes, which are added with the elements.
    result<void> add_own(object_place of) {
        const type_row& is = source_.row(of.row);
        const auto& n = is.numbers;
        switch (is.shape) {
        case shape_kind::text:
        case shape_kind::bits:
        case shape_kind::contiguous:
            return add_address(of.at + n[0], of);
        case shape_kind::text_by_link:
        case shape_kind::serialised: {
            auto last = word(of.at + n[0] + 2 * k_word);
            if (!last)
                return last.error();
            return *last >> 63 != 0 ? add_link(of.at + n[0]) : result<void>(); // a short text has no block
        }
        case shape_kind::linked_block:
            return add_link(of.at + n[0]);
        case shape_kind::hash_table:
            return add_link(of.at);
        case shape_kind::hash_chain:
            return add_address(of.at + n[0] - 2 * k_word, of);
        case shape_kind::btree: {
            auto root = linked(of.at);
            if (!root)
                return root.error();
            return *root == 0 ? result<void>() : add_nodes(*root, n[4]);
        }
        case shape_kind::deque: {
            auto first = word(of.at + n[0] + 3 * k_word);
            auto last = word(of.at + n[1] + 3 * k_word);
            if (!first || !last)
                return (!first ? first : last).error();
            for (std::uint64_t at = *first; at <= *last; at += k_word)
                REM_TRY(add_address(at - base_, of));
            return add_address(of.at + n[0] - 2 * k_word, of);
        }
        default:
            return {};
        }
    }
    bool may_own(std::uint32_t index) {
        if (owners_.empty())
            owners_ = inspect::rows_that_lead_on(source_.schema(), false);
        return owners_[index] != 0;
    }
    result<void> add_nodes(std::uint64_t node, std::uint64_t children) {
        constexpr std::uint64_t k_counts = 8;
        auto counts = word(node + k_counts);
        if (!counts)
            return counts.error();
        const std::uint64_t count = *counts & 0xffff;
        const std::uint64_t height = *counts >> 32 & 0xffff;
        blocks_.push_back(node);
        for (std::uint64_t i = 0; height != 0 && i <= count; ++i) {
            auto child = word(node + children + i * k_word);
            if (!child)
                return child.error();
            REM_TRY(add_nodes(node + *child, children));
        }
        return {};
    }
    // NOLINTEND(misc-no-recursion)

    result<std::uint64_t> word(std::uint64_t at) {
        auto bytes = source_.reader().bytes(at, k_word);
        if (!bytes)
            return bytes.error();
        std::uint64_t value = 0;
        std::memcpy(&value, *bytes, sizeof value);
        return value;
    }
    result<std::uint64_t> linked(std::uint64_t at) {
        auto distance = word(at);
        if (!distance)
            return distance;
        return *distance == 0 ? 0 : at + *distance;
    }
    result<void> add_link(std::uint64_t at) {
        auto to = linked(at);
        if (!to)
            return to.error();
        if (*to != 0)
            blocks_.push_back(*to);
        return {};
    }
    /// Adds the block at an address, unless the address lies in the object itself, as that of a short text does.
    result<void> add_address(std::uint64_t at, object_place of) {
        auto address = word(at);
        if (!address)
            return address.error();
        const std::uint64_t to = *address - base_;
        const bool is_inside = to >= of.at && to < of.at + source_.row(of.row).size;
        if (*address != 0 && !is_inside)
            blocks_.push_back(to);
        return {};
    }

    heap_source& source_;
    std::uint64_t base_;
    std::vector<std::uint64_t>& blocks_;
    const known_elements* known_;
    std::vector<char> owners_; // for each row: whether its objects may own blocks
};

} // namespace

std::optional<std::uint64_t> place_in_block(const type_row& container) {
    const auto& n = container.numbers;
    switch (container.shape) {
    case shape_kind::ring:
    case shape_kind::chain:
    case shape_kind::tree:
    case shape_kind::hash_chain:
        return n[1]; // behind the links of the node
    case shape_kind::btree:
    case shape_kind::hash_table:
        return n[1] == 0 ? std::optional<std::uint64_t>(0) : std::nullopt; // nodes hold links to elements, or elements
    default:
        return {};
    }
}

bool known_elements::add(object_place container) {
    const type_row& row = schema_.rows[container.row];
    if (!place_in_block(row))
        return false;
    const inspect::element_rows elements = inspect::rows_of_elements(row);
    if (owners_[elements.key] != 0 || owners_[elements.value] != 0)
        return false;
    all_.emplace(container.at, container.row);
    return true;
}

result<void> add_blocks_of(heap_source& source, std::uint64_t base, object_place of, std::vector<std::uint64_t>& blocks,
                           const known_elements* known) {
    return block_walk(source, base, blocks, known).visit(of, 0);
}

} // namespace remanence::objects
