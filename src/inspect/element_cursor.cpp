#include "inspect/element_cursor.hpp"

#include "base/units.hpp"

#include <remanence/containers/detail/hash_group.hpp>
#include <remanence/containers/detail/packed_leaf.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace remanence::inspect {

using detail::foreign_way;
using detail::shape_kind;
using types::type_row;

namespace {

constexpr std::uint64_t k_bytes_of_word = 8;
constexpr std::size_t k_tree_height_max = 128; // enough for 2^64 nodes
constexpr std::size_t k_levels_max = 64;

} // namespace

result<void> element_cursor::step() {
    if (steps_ == 0)
        return reader_.out_of_steps(of_);
    --steps_;
    return {};
}

bool element_cursor::is_foreign_way(foreign_way way) const {
    return row_.shape == shape_kind::foreign && static_cast<foreign_way>(row_.numbers[0]) == way;
}

result<std::optional<element_place>> element_cursor::next() {
    if (steps_ == 0)
        return reader_.out_of_steps(of_);
    maybe_element found = next_of_shape();
    if (!found || !*found)
        return found;
    steps_ -= std::min<std::uint64_t>(steps_, 1); // may be used up: an element is found even by the last step
    // No heap has more elements than bits, so links lead in a circle.
    if (at_.index / 8 > reader_.bytes_max())
        return reader_.damaged(of_, "that leads in a circle");
    ++at_.index;
    return found;
}

result<std::optional<element_place>> element_cursor::next_of_shape() {
    if (has_random_access()) {
        auto many = length();
        if (!many)
            return many.error();
        if (at_.index >= *many)
            return std::optional<element_place>();
        auto found = element(at_.index);
        return found ? maybe_element(*found) : found.error();
    }
    const auto& n = row_.numbers;
    switch (row_.shape) {
    case shape_kind::ring:
        return next_in_list(of_.at + n[0], 0, reader_.address_of(of_.at + n[0]), n[1], 0);
    case shape_kind::chain:
        return next_in_list(of_.at + n[0], 0, 0, n[1], 0);
    case shape_kind::hash_chain:
        return next_in_list(of_.at + n[0], 0, 0, n[1], n[2]);
    case shape_kind::tree:
        return next_in_binary_tree();
    case shape_kind::btree:
        return next_in_btree(of_);
    case shape_kind::hash_table:
        return next_in_slots();
    case shape_kind::packed:
        return next_in_packed();
    case shape_kind::foreign:
        break;
    default:
        return std::optional<element_place>();
    }
    if (is_foreign_way(foreign_way::ring))
        return next_in_foreign_ring();
    if (is_foreign_way(foreign_way::tree))
        return next_in_binary_tree();
    return is_foreign_way(foreign_way::buckets) ? next_in_buckets() : maybe_element(std::nullopt);
}

result<std::uint64_t> element_cursor::skip(std::uint64_t count) {
    if (has_random_access()) {
        auto many = length();
        if (!many)
            return many;
        const std::uint64_t passed = std::min(count, *many - std::min(*many, at_.index));
        at_.index += passed;
        return passed;
    }
    for (std::uint64_t passed = 0;;) {
        if (passed == count)
            return passed;
        auto in_leaf = pass_in_leaf(count - passed);
        if (!in_leaf)
            return in_leaf;
        passed += *in_leaf;
        if (*in_leaf != 0)
            continue;
        auto one = next();
        if (!one)
            return one.why().code == errc::limit_reached && passed != 0 ? result<std::uint64_t>(passed) : one.error();
        if (!*one)
            return passed;
        ++passed;
    }
}

result<std::uint64_t> element_cursor::count() {
    if (has_random_access())
        return length();
    if (row_.shape == shape_kind::packed)
        return reader_.word<std::uint64_t>(of_.at + row_.numbers[0]);
    auto stated = reader_.stated_count(of_);
    if (!stated)
        return stated.error();
    if (*stated)
        return **stated;
    element_position begin;
    element_cursor all(reader_, of_, begin, steps_);
    for (std::uint64_t counted = 0;; ++counted) {
        auto one = all.next();
        if (!one)
            return one.error();
        if (!*one)
            return counted;
    }
}

// Containers with random access. A position is just an index.

bool element_cursor::has_random_access() const {
    return reader_.has_run(of_.row) || row_.shape == shape_kind::bits || row_.shape == shape_kind::deque ||
           is_foreign_way(foreign_way::run) || is_foreign_way(foreign_way::blocks) ||
           is_foreign_way(foreign_way::pointers);
}

result<std::uint64_t> element_cursor::length() {
    if (reader_.has_run(of_.row)) {
        auto elements = reader_.run_of(of_);
        if (!elements)
            return elements.error();
        const std::uint64_t bytes = reader_.size_of(row_.parts[0].type);
        if (elements->count != 0 && (bytes == 0 || elements->count > k_size_max / bytes ||
                                     !reader_.heap().contains(elements->first, elements->count * bytes)))
            return reader_.damaged(of_, "whose elements do not lie in the heap");
        return elements->count;
    }
    const auto& n = row_.numbers;
    if (row_.shape == shape_kind::bits) {
        auto range = reader_.range_of_bits(of_);
        return range ? result<std::uint64_t>(range->count) : range.error();
    }
    if (row_.shape == shape_kind::deque || is_foreign_way(foreign_way::blocks)) {
        auto words = deque();
        return words ? result<std::uint64_t>(words->count) : words.error();
    }
    auto count = reader_.word<std::uint64_t>(of_.at + n[2]);
    if (count && is_foreign_way(foreign_way::pointers))
        *count -= std::min(*count, n[3]);
    if (count && *count > reader_.bytes_max())
        return reader_.damaged(of_, "with more elements than fit into the heap");
    return count;
}

/// Returns an element; `index` must be less than length().
result<element_place> element_cursor::element(std::uint64_t index) {
    if (reader_.has_run(of_.row)) {
        auto elements = reader_.run_of(of_);
        if (!elements)
            return elements.error();
        return reader_.element_at(of_.row, elements->first + index * reader_.size_of(row_.parts[0].type), 0);
    }
    const auto& n = row_.numbers;
    if (row_.shape == shape_kind::bits) {
        auto range = reader_.range_of_bits(of_);
        auto place = range ? reader_.place_of_bit(*range, index) : range.error();
        return place ? result<element_place>(reader_.element_at(of_.row, *place, 0)) : place.error();
    }
    if (row_.shape == shape_kind::deque || is_foreign_way(foreign_way::blocks)) {
        auto words = deque();
        if (!words)
            return words.error();
        const std::uint64_t from_block = words->before + index;
        result<std::uint64_t> block = words->first;
        if (const std::uint64_t blocks = from_block / words->in_block; blocks != 0) {
            auto entry = reader_.followed(words->block + blocks * k_bytes_of_word, of_);
            block = entry ? reader_.word<std::uint64_t>(*entry) : std::move(entry);
        }
        auto place = block ? reader_.followed(*block + from_block % words->in_block * words->size, of_) : block.error();
        return place ? result<element_place>(reader_.element_at(of_.row, *place, 0)) : place.error();
    }
    auto first = reader_.address_at(of_.at + n[1], of_);
    if (!first)
        return first.error();
    if (is_foreign_way(foreign_way::run))
        return reader_.element_at(of_.row, *first + index * reader_.bytes_of_foreign_element(of_.row), n[3]);
    auto node = reader_.address_at(*first + index * k_bytes_of_word, of_);
    return node ? result<element_place>(reader_.element_at(of_.row, *node + n[4], n[5])) : node.error();
}

/// Reads the two iterators in a deque: each consists of the addresses of an element, of its block's begin and end, and of
/// the entry for its block.
result<element_cursor::deque_words> element_cursor::deque() {
    const std::size_t first_number = row_.shape == shape_kind::deque ? 0 : 1;
    const auto& n = row_.numbers;
    struct iterator {
        std::uint64_t element, first, last, entry;
    };
    auto begin = reader_.word<iterator>(of_.at + n[first_number]);
    auto end = reader_.word<iterator>(of_.at + n[first_number + 1]);
    if (!begin || !end)
        return (!begin ? begin : end).error();
    deque_words words{begin->first, begin->entry, 0, 0, reader_.size_of(row_.parts[0].type), n[first_number + 2]};
    if (begin->element == end->element)
        return words;
    if (words.size == 0 || words.in_block == 0 || words.in_block > k_size_max / words.size)
        return reader_.damaged(of_, "with elements of no size");
    const std::uint64_t bytes = words.in_block * words.size;
    const std::uint64_t before = begin->element - begin->first;
    const std::uint64_t in_last = end->element - end->first;
    const std::uint64_t entries = end->entry - begin->entry;
    if (before > bytes || in_last > bytes || entries > reader_.bytes_max() ||
        entries / k_bytes_of_word * words.in_block + in_last / words.size < before / words.size)
        return reader_.damaged(of_, "that ends before it begins");
    words.before = before / words.size;
    words.count = entries / k_bytes_of_word * words.in_block + in_last / words.size - words.before;
    return words;
}

// Linked lists

/// A node begins with the link to the next one. `link` is the offset of that link in a node.
result<std::optional<element_place>> element_cursor::next_in_list(std::uint64_t sentinel, std::uint64_t link,
                                                                  std::uint64_t end, std::uint64_t element,
                                                                  std::uint64_t mapped) {
    auto next = reader_.word<std::uint64_t>((at_.has_begun ? at_.next : sentinel) + link);
    if (!next)
        return next.error();
    if (*next == end)
        return std::optional<element_place>();
    auto node = reader_.followed(*next, of_);
    if (!node)
        return node.error();
    at_.has_begun = true;
    at_.next = *node;
    return std::optional(reader_.element_at(of_.row, *node + element, mapped));
}

result<std::optional<element_place>> element_cursor::next_in_foreign_ring() {
    const auto& n = row_.numbers;
    auto header = reader_.foreign_header(of_, 1);
    if (!header)
        return header.error();
    return next_in_list(*header, n[3], reader_.address_of(*header), n[4], n[5]);
}

// Binary trees

result<element_cursor::tree_words> element_cursor::binary_tree() {
    const auto& n = row_.numbers;
    if (row_.shape == shape_kind::tree) {
        auto root = reader_.word<std::uint64_t>(of_.at + n[0] + k_bytes_of_word);
        return root ? result<tree_words>({*root, 2 * k_bytes_of_word, 3 * k_bytes_of_word, n[1], n[2]}) : root.error();
    }
    constexpr std::uint64_t k_colour = 1; // the bit of a link that holds the colour
    auto header = reader_.foreign_header(of_, 1);
    auto root = header ? reader_.word<std::uint64_t>(*header) : std::move(header);
    return root ? result<tree_words>({*root & ~k_colour, n[3], n[4], n[5], n[6]}) : root.error();
}

result<std::optional<element_place>> element_cursor::next_in_binary_tree() {
    auto tree = binary_tree();
    if (!tree)
        return tree.error();
    if (!at_.has_begun)
        at_.next = tree->root;
    at_.has_begun = true;
    while (at_.next != 0) {
        REM_TRY(step());
        if (at_.open.size() == k_tree_height_max)
            return reader_.damaged(of_, "that is deeper than it can be");
        auto node = reader_.followed(at_.next, of_);
        auto left = node ? reader_.word<std::uint64_t>(*node + tree->left) : node.error();
        if (!left)
            return left.error();
        at_.open.push_back(*node);
        at_.next = *left;
    }
    if (at_.open.empty())
        return std::optional<element_place>();
    const std::uint64_t node = at_.open.back();
    auto right = reader_.word<std::uint64_t>(node + tree->right);
    if (!right)
        return right.error();
    at_.open.pop_back();
    at_.next = *right;
    return std::optional(reader_.element_at(of_.row, node + tree->element, tree->mapped));
}

result<void> element_cursor::seek_in_binary_tree(const wanted_key& key) {
    auto tree = binary_tree();
    if (!tree)
        return tree.error();
    at_ = {.has_begun = true};
    std::uint64_t link = tree->root;
    for (std::size_t depth = 0; link != 0; ++depth) {
        REM_TRY(step());
        if (depth == k_tree_height_max)
            return reader_.damaged(of_, "that is deeper than it can be");
        auto node = reader_.followed(link, of_);
        if (!node)
            return node.error();
        auto is_before = key.is_before(key_of(reader_.element_at(of_.row, *node + tree->element, tree->mapped)));
        if (!is_before)
            return is_before.error();
        if (!*is_before)
            at_.open.push_back(*node);
        auto below = reader_.word<std::uint64_t>(*node + (*is_before ? tree->right : tree->left));
        if (!below)
            return below.error();
        link = *below;
    }
    return {};
}

// B-trees. In `open`, 2 * i means that child i comes next, and 2 * i + 1 that element i does.

result<element_cursor::btree_head> element_cursor::head_of(std::uint64_t node, const type_row& tree) {
    auto head = reader_.word<btree_head>(node);
    if (head && (head->count > tree.numbers[0] || head->height > k_levels_max))
        return reader_.damaged(of_, "with a node that is none");
    return head;
}

result<void> element_cursor::enter(std::uint64_t node, const type_row& tree) {
    REM_TRY(step());
    auto head = head_of(node, tree);
    if (!head)
        return head.error();
    if (at_.open.size() / 2 > k_levels_max)
        return reader_.damaged(of_, "that is deeper than it can be");
    at_.open.push_back(node);
    at_.open.push_back(head->height == 0 ? 1 : 0);
    return {};
}

/// Enters the child that comes next.
result<void> element_cursor::enter_child(const type_row& tree) {
    const std::uint64_t node = at_.open[at_.open.size() - 2];
    const std::uint64_t place = at_.open.back();
    auto distance = reader_.word<std::uint64_t>(node + tree.numbers[4] + place / 2 * k_bytes_of_word);
    if (!distance)
        return distance.error();
    at_.open.back() = place + 1;
    auto entered = enter(node + *distance, tree);
    if (!entered)
        at_.open.back() = place; // so that a walk that has run out of steps can go on
    return entered;
}

result<element_place> element_cursor::btree_element(object_place tree, std::uint64_t node, std::uint64_t index) {
    const auto& n = reader_.row(tree.row).numbers;
    const std::uint64_t slot = node + n[2] + index * n[3];
    auto place = n[1] != 0 ? result<std::uint64_t>(slot) : reader_.linked(slot);
    return place ? result<element_place>(reader_.element_at(tree.row, *place, n[5])) : place.error();
}

result<std::optional<element_place>> element_cursor::next_in_btree(object_place tree) {
    const type_row& row = reader_.row(tree.row);
    if (!at_.has_begun) {
        auto root = reader_.linked(tree.at);
        if (!root)
            return root.error();
        if (*root == 0)
            return std::optional<element_place>();
        REM_TRY(enter(*root, row));
        at_.has_begun = true;
    }
    while (!at_.open.empty()) {
        const std::uint64_t node = at_.open[at_.open.size() - 2];
        const std::uint64_t place = at_.open.back();
        if (place % 2 == 0) {
            REM_TRY(enter_child(row));
            continue;
        }
        auto head = head_of(node, row);
        if (!head)
            return head.error();
        if (place / 2 >= head->count) {
            at_.open.resize(at_.open.size() - 2);
            continue;
        }
        at_.open.back() = place + (head->height == 0 ? 2 : 1);
        auto found = btree_element(tree, node, place / 2);
        return found ? maybe_element(*found) : found.error();
    }
    return std::optional<element_place>();
}

/// Moves to the first element of which `is_before` is false.
result<void> element_cursor::seek_in_btree(object_place tree, const is_before_key& is_before) {
    const type_row& row = reader_.row(tree.row);
    at_ = {.has_begun = true};
    auto root = reader_.linked(tree.at);
    if (!root)
        return root.error();
    if (*root == 0)
        return {};
    REM_TRY(enter(*root, row));
    for (;;) {
        const std::uint64_t node = at_.open[at_.open.size() - 2];
        auto head = head_of(node, row);
        if (!head)
            return head.error();
        std::uint64_t first = 0;
        for (std::uint64_t end = head->count; first < end;) {
            const std::uint64_t middle = first + (end - first) / 2;
            auto element = btree_element(tree, node, middle);
            auto before = element ? is_before(*element) : element.error();
            if (!before)
                return before.error();
            if (*before)
                first = middle + 1;
            else
                end = middle;
        }
        at_.open.back() = 2 * first + (head->height == 0 ? 1 : 0);
        if (head->height == 0)
            return {};
        REM_TRY(enter_child(row));
    }
}

/// Moves back by one element, or stays at the first.
void element_cursor::go_back_in_btree() {
    const std::vector<std::uint64_t> kept = at_.open;
    for (; !at_.open.empty(); at_.open.resize(at_.open.size() - 2)) {
        if (at_.open.back() < 3) // no element of this node comes before
            continue;
        at_.open.back() -= 2;
        return;
    }
    at_.open = kept;
}

// Packed maps: B-trees whose elements are leaves.

result<element_cursor::packed_leaf_words> element_cursor::leaf() {
    constexpr std::uint64_t k_head = detail::packed_leaf::k_header_bytes;
    constexpr std::uint64_t k_mark = detail::packed_leaf::k_mark_bytes;
    auto block = reader_.run_of({reader_.row(row_.parts[0].type).parts[1].type, at_.inside});
    if (!block)
        return block.error();
    auto head = block->count < k_head ? reader_.damaged(of_, "with a leaf that is none")
                                      : reader_.word<detail::packed_leaf::header>(block->first);
    if (!head)
        return head.error();
    if (head->count * k_mark > block->count - k_head)
        return reader_.damaged(of_, "with a leaf that is none");
    return packed_leaf_words{block->first, block->count, head->count};
}

result<element_place> element_cursor::record(const packed_leaf_words& leaf, std::uint64_t index) {
    auto mark = reader_.word<std::uint32_t>(leaf.first + leaf.bytes - detail::packed_leaf::k_mark_bytes * (index + 1));
    if (!mark)
        return mark.error();
    const element_rows rows = rows_of_elements(row_);
    const std::uint64_t at = leaf.first + detail::packed_leaf::k_header_bytes + (*mark & 0xffffU);
    return element_place{.value = {rows.value, at}, .has_key = true, .key = {rows.key, at}};
}

result<std::optional<element_place>> element_cursor::next_in_packed() {
    for (;;) {
        if (at_.inside != 0) {
            auto now = leaf();
            if (!now)
                return now.error();
            if (at_.next < now->count) {
                auto found = record(*now, at_.next);
                ++at_.next;
                return found ? maybe_element(*found) : found.error();
            }
        }
        auto next = next_in_btree(tree_of_packed());
        if (!next || !*next)
            return next;
        at_.inside = (*next)->value.at;
        at_.next = 0;
    }
}

/// The keys of the tree separate the leaves: no key of a leaf is greater than the next leaf's separator. So the search
/// begins at the last leaf whose separator comes before the key.
result<void> element_cursor::seek_in_packed(const wanted_key& key) {
    const object_place tree = tree_of_packed();
    const std::uint32_t separator = reader_.row(tree.row).parts[0].type;
    const std::vector<types::type_part>* const members = members_of(reader_.row(separator));
    if (members == nullptr || members->size() != 2 || !is_text(reader_.row(members->back().type)))
        return reader_.damaged(of_, "with separators that are no texts");
    REM_TRY(seek_in_btree(tree, [&](const element_place& each) -> result<bool> {
        const auto text = reader_.member(each.key, members->back());
        return text ? key.is_before(*text) : reader_.damaged(of_, "with separators that are no texts");
    }));
    go_back_in_btree();
    auto found = next_in_btree(tree);
    if (!found || !*found)
        return found ? result<void>() : found.error();
    at_.inside = (*found)->value.at;
    auto now = leaf();
    if (!now)
        return now.error();
    for (std::uint64_t end = now->count; at_.next < end;) {
        const std::uint64_t middle = at_.next + (end - at_.next) / 2;
        auto one = record(*now, middle);
        auto before = one ? key.is_before(one->key) : one.error();
        if (!before)
            return before.error();
        if (*before)
            at_.next = middle + 1;
        else
            end = middle;
    }
    return {};
}

result<std::uint64_t> element_cursor::pass_in_leaf(std::uint64_t most) {
    if (row_.shape == shape_kind::packed && at_.inside != 0) {
        auto now = leaf();
        if (!now)
            return now.error();
        const std::uint64_t passed = std::min(most, now->count - std::min(now->count, at_.next));
        if (passed != 0 && !step())
            return std::uint64_t{0};
        at_.next += passed;
        at_.index += passed;
        return passed;
    }
    if (row_.shape != shape_kind::btree || at_.open.empty())
        return std::uint64_t{0};
    auto head = head_of(at_.open[at_.open.size() - 2], row_);
    if (!head)
        return head.error();
    const std::uint64_t here = at_.open.back() / 2;
    if (head->height != 0 || here >= head->count || !step())
        return std::uint64_t{0};
    const std::uint64_t passed = std::min(most, head->count - here);
    at_.open.back() += 2 * passed;
    at_.index += passed;
    return passed;
}

// Hash tables

result<element_cursor::slot_words> element_cursor::slots() {
    const auto& n = row_.numbers;
    auto block = reader_.linked(of_.at);
    auto buckets = reader_.word<std::uint64_t>(of_.at + k_bytes_of_word);
    if (!block || !buckets)
        return (!block ? block : buckets).error();
    if (*buckets == 0)
        return slot_words{0, 0, 0, 0};
    if (!std::has_single_bit(*buckets) || *buckets < 4 || *buckets > k_size_max / n[0])
        return reader_.damaged(of_, "with an impossible number of buckets");
    const std::uint64_t controls = std::max<std::uint64_t>(*buckets, detail::k_hash_group);
    const std::uint64_t alignment = std::max<std::uint64_t>(n[2], detail::k_hash_group);
    if (!reader_.heap().contains(*block, controls))
        return reader_.damaged(of_, "whose elements do not lie in the heap");
    return slot_words{*block, *buckets, controls, *block + (controls + alignment - 1) / alignment * alignment};
}

/// Returns the place of the element in a slot; nothing if the slot is empty.
result<std::optional<std::uint64_t>> element_cursor::slot_element(const slot_words& slots, std::uint64_t slot) {
    auto control = reader_.word<unsigned char>(slots.block + slot);
    if (!control)
        return control.error();
    if (slot % detail::k_hash_group == detail::k_hash_group_slots || *control <= detail::k_slot_end)
        return std::optional<std::uint64_t>();
    const std::uint64_t place = slots.slots + (slot - slot / detail::k_hash_group) * row_.numbers[0];
    auto element = row_.numbers[1] != 0 ? result<std::uint64_t>(place) : reader_.linked(place);
    return element ? result<std::optional<std::uint64_t>>(*element) : element.error();
}

result<std::optional<element_place>> element_cursor::next_in_slots() {
    auto table = slots();
    if (!table)
        return table.error();
    for (; at_.next < table->controls; ++at_.next) {
        if (at_.next % detail::k_hash_group == 0)
            REM_TRY(step());
        auto place = slot_element(*table, at_.next);
        if (!place)
            return place.error();
        if (*place) {
            ++at_.next;
            return std::optional(reader_.element_at(of_.row, **place, row_.numbers[3]));
        }
    }
    return std::optional<element_place>();
}

/// Searches the groups in the order of H2 (containers/detail/hash_table.hpp).
result<std::optional<element_place>> element_cursor::find_in_slots(const wanted_key& key) {
    constexpr std::uint64_t k_seed_at = 4 * k_bytes_of_word;
    auto table = slots();
    auto seed = reader_.word<std::uint64_t>(of_.at + k_seed_at);
    if (!table || !seed)
        return !table ? table.error() : seed.error();
    if (table->buckets == 0)
        return std::optional<element_place>();
    const std::uint64_t hash = key.hash(*seed);
    const std::uint64_t mask = (table->buckets - 1) / detail::k_hash_group;
    std::uint64_t group = hash >> 8 & mask;
    for (std::uint64_t distance = 0;;) {
        REM_TRY(step());
        auto controls = reader_.bytes(table->block + group * detail::k_hash_group, detail::k_hash_group);
        if (!controls)
            return controls.error();
        const auto* const bytes = reinterpret_cast<const unsigned char*>(*controls);
        const bool goes_on = detail::hash_overflow::has(bytes, hash);
        for (std::uint32_t alike = detail::hash_group::alike(bytes, hash); alike != 0; alike &= alike - 1) {
            auto place = slot_element(*table, group * detail::k_hash_group + detail::first_in(alike));
            if (!place)
                return place.error();
            if (!*place)
                continue;
            const element_place element = reader_.element_at(of_.row, **place, row_.numbers[3]);
            auto is_equal = key.is_equal(key_of(element));
            if (!is_equal)
                return is_equal.error();
            if (*is_equal)
                return std::optional(element);
        }
        if (!goes_on || distance == mask)
            return std::optional<element_place>();
        group = (group + ++distance) & mask;
    }
}

result<std::optional<element_place>> element_cursor::next_in_buckets() {
    const auto& n = row_.numbers;
    auto count = reader_.word<std::uint64_t>(of_.at + n[2]);
    auto first = reader_.address_at(of_.at + n[1], of_);
    if (!count || !first)
        return (!count ? count : first).error();
    if (*first == 0)
        return std::optional<element_place>();
    for (;;) {
        if (at_.inside == 0) {
            if (at_.next >= *count)
                return std::optional<element_place>();
            REM_TRY(step());
            at_.inside = *first + at_.next++ * k_bytes_of_word;
        }
        auto node = reader_.address_at(at_.inside, of_);
        if (!node)
            return node.error();
        at_.inside = *node;
        if (*node != 0)
            return std::optional(reader_.element_at(of_.row, *node + n[3], n[4]));
    }
}

/// A container of libstdc++ has, in front of the link to its first node, the address and the number of its buckets. Each
/// bucket leads to the node before its first one.
result<std::optional<element_place>> element_cursor::find_in_chains(const wanted_key& key) {
    const auto& n = row_.numbers;
    auto buckets = reader_.address_at(of_.at + n[0] - 2 * k_bytes_of_word, of_);
    auto count = reader_.word<std::uint64_t>(of_.at + n[0] - k_bytes_of_word);
    if (!buckets || !count)
        return (!buckets ? buckets : count).error();
    if (*buckets == 0 || *count == 0)
        return reader_.damaged(of_, "with an impossible number of buckets");
    const std::uint64_t bucket = key.hash(0) % *count;
    auto before = reader_.address_at(*buckets + bucket * k_bytes_of_word, of_);
    if (!before)
        return before.error();
    for (std::uint64_t node = *before; node != 0;) {
        REM_TRY(step());
        auto next = reader_.address_at(node, of_);
        if (!next)
            return next.error();
        if (*next == 0)
            break;
        const element_place element = reader_.element_at(of_.row, *next + n[1], n[2]);
        auto is_equal = key.is_equal(key_of(element));
        if (!is_equal)
            return is_equal.error();
        if (*is_equal)
            return std::optional(element);
        auto hash = key.hash_of(key_of(element));
        if (!hash)
            return hash.error();
        if (*hash % *count != bucket)
            break;
        node = *next;
    }
    return std::optional<element_place>();
}

// Searches

bool element_cursor::is_tree() const {
    return row_.shape == shape_kind::tree || row_.shape == shape_kind::btree || row_.shape == shape_kind::packed;
}

result<void> element_cursor::seek(const wanted_key& key) {
    if (row_.shape == shape_kind::tree)
        return seek_in_binary_tree(key);
    if (row_.shape == shape_kind::packed)
        return seek_in_packed(key);
    return seek_in_btree(of_, [&](const element_place& each) { return key.is_before(key_of(each)); });
}

bool element_cursor::is_hash_table() const {
    constexpr std::uint64_t k_words_of_table = 5;
    return (row_.shape == shape_kind::hash_table && row_.size >= k_words_of_table * k_bytes_of_word) ||
           (row_.shape == shape_kind::hash_chain && row_.numbers[0] >= 2 * k_bytes_of_word);
}

result<std::optional<element_place>> element_cursor::find_hashed(const wanted_key& key) {
    return row_.shape == shape_kind::hash_table ? find_in_slots(key) : find_in_chains(key);
}

} // namespace remanence::inspect
