#include "inspect/object_reader.hpp"

#include "base/units.hpp"

#include <remanence/containers/detail/packed_leaf.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace remanence::inspect {

using detail::foreign_way;
using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::uint64_t k_word = 8;
constexpr std::size_t k_numbers_of_bits = 3; // of each bit-field: which member, first bit, bits
constexpr std::uint64_t k_size_max = std::uint64_t{1} << 47;
constexpr std::uint64_t k_text_by_link_bytes = 24;
constexpr unsigned k_is_long = 0x80; // in the last of them

/// Bits have no place of their own. An element of std::vector<bool> is told to lie at the one of these that has its value.
constexpr std::array k_values_of_bits = {std::byte{0}, std::byte{1}};
constexpr std::uint64_t k_place_of_bits = ~std::uint64_t{0} - 64; // behind all heaps

} // namespace

unexpected object_reader::damaged(object_place where, std::string_view what) const {
    return fail(errc::corrupt,
                path_ + " has at heap offset " + std::to_string(where.at) + " a " + schema_.name_of(where.row) + " " +
                    std::string(what) + ". Restore the heap from a copy.",
                path_);
}

unexpected object_reader::cannot_carry(object_place where, std::string_view what) const {
    return fail(errc::not_supported,
                path_ + " has at heap offset " + std::to_string(where.at) + " a " + schema_.name_of(where.row) +
                    " with " + std::string(what) + '.',
                path_);
}

unexpected object_reader::too_deep(object_place where) const {
    return fail(
        errc::not_supported,
        path_ + " has at heap offset " + std::to_string(where.at) + " a " + schema_.name_of(where.row) +
            " that lies more than " + std::to_string(k_depth_max) +
            " levels deep in other objects, which is the most that can be read by the schema. Let pointers lead to "
            "objects that lie so deep.",
        path_);
}

bool is_told_by_bytes(const type_row& row) {
    return row.kind == type_kind::object && row.shape == shape_kind::none && row.alignment < k_word && row.size != 0;
}

std::uint64_t alignment_of(const types::type_description& schema, std::uint32_t index) {
    while (schema.rows[index].kind == type_kind::array)
        index = schema.rows[index].parts.front().type;
    const type_row& row = schema.rows[index];
    return row.kind == type_kind::pointer ? k_word : std::max<std::uint64_t>(row.alignment, 1);
}

bool has_bit_fields(const type_row& row) {
    return row.kind == type_kind::members &&
           std::any_of(row.parts.begin(), row.parts.end(), [](const type_part& each) { return !each.offset; });
}

bool has_unknown_bits(const type_row& row) {
    if (row.shape != shape_kind::members)
        return has_bit_fields(row);
    const auto without_place =
        std::count_if(row.fields.begin(), row.fields.end(), [](const type_part& each) { return !each.offset; });
    return static_cast<std::size_t>(without_place) != row.numbers.size() / k_numbers_of_bits;
}

std::optional<object_place> place_of_member(const type_row& row, const std::vector<type_part>& members,
                                            std::size_t index, std::uint64_t of) {
    const type_part& member = members[index];
    if (member.offset)
        return object_place{member.type, of + *member.offset};
    if (row.shape != shape_kind::members)
        return {};
    for (std::size_t i = 0; i != row.numbers.size(); i += k_numbers_of_bits) {
        const std::uint64_t first = row.numbers[i + 1];
        if (row.numbers[i] == index)
            return object_place{member.type, of + first / 8, static_cast<std::uint8_t>(first % 8),
                                static_cast<std::uint8_t>(row.numbers[i + 2])};
    }
    return {};
}

namespace {

/// The members of a class, of either kind; null: it has none that are known.
const std::vector<type_part>* known_members(const type_row& row) {
    return row.shape == shape_kind::members ? &row.fields : row.kind == type_kind::members ? &row.parts : nullptr;
}

bool is_empty_class(const type_row& row) { return row.shape == shape_kind::members && row.fields.empty(); }

} // namespace

bool may_leave_out(const type_row& row) {
    return row.shape == shape_kind::members && !row.fields.empty() && !row.name.starts_with("std::");
}

std::vector<byte_range> rest_of(const types::type_description& schema, std::uint32_t index) {
    const type_row& row = schema.rows[index];
    std::vector<byte_range> taken;
    for (const type_part& each : *known_members(row)) {
        if (each.offset && !is_empty_class(schema.rows[each.type]))
            taken.push_back({*each.offset, size_of(schema, each.type)});
    }
    std::sort(taken.begin(), taken.end(), [](const byte_range& a, const byte_range& b) { return a.at < b.at; });
    taken.push_back({row.size, 0});
    std::vector<byte_range> rest;
    std::uint64_t end = 0;
    for (const byte_range& each : taken) {
        if (each.at > end)
            rest.push_back({end, each.at - end});
        end = std::max(end, each.at + each.count);
    }
    return rest;
}

void put_bits(std::string& rest, const std::vector<byte_range>& ranges, const type_row& row,
              const std::function<bool(std::size_t member, std::uint64_t bit)>& is_one) {
    if (row.shape != shape_kind::members)
        return;
    for (std::size_t i = 0; i != row.numbers.size(); i += k_numbers_of_bits) {
        for (std::uint64_t bit = 0; bit != row.numbers[i + 2]; ++bit) {
            const std::uint64_t place = row.numbers[i + 1] + bit;
            std::uint64_t begin = 0; // of a range, in `rest`
            for (const byte_range& each : ranges) {
                if (place / 8 >= each.at && place / 8 - each.at < each.count) {
                    char& byte = rest[begin + place / 8 - each.at];
                    const auto mask = static_cast<unsigned char>(1U << place % 8);
                    byte = static_cast<char>(is_one(row.numbers[i], bit) ? byte | mask : byte & ~mask);
                }
                begin += each.count;
            }
        }
    }
}

bool has_address(const type_row& row, const std::vector<byte_range>& ranges, std::string_view rest) {
    if (!may_leave_out(row) || row.alignment < k_word)
        return false;
    std::uint64_t begin = 0; // of a range, in `rest`
    for (const byte_range& each : ranges) {
        for (std::uint64_t at = align_up(each.at, k_word); at + k_word <= each.at + each.count; at += k_word) {
            const std::string_view word = rest.substr(begin + at - each.at, k_word);
            if (word.find_first_not_of('\0') != std::string_view::npos)
                return true;
        }
        begin += each.count;
    }
    return false;
}

std::uint64_t room_of(const types::type_description& schema, std::uint32_t index, const type_part& member) {
    std::uint64_t room = k_all_room;
    for (const type_part& each : *known_members(schema.rows[index])) {
        if (each.offset && *each.offset > *member.offset && !is_empty_class(schema.rows[each.type]))
            room = std::min(room, *each.offset - *member.offset);
    }
    return room < size_of(schema, member.type) ? room : k_all_room;
}

std::uint64_t size_of(const types::type_description& schema, std::uint32_t index) {
    std::uint64_t times = 1;
    for (;;) {
        const type_row& each = schema.rows[index];
        if (each.kind == type_kind::pointer)
            return times * k_word;
        if (each.kind != type_kind::array)
            return each.size > k_size_max / times ? 0 : times * each.size;
        if (each.extent > k_size_max / times)
            return 0;
        times *= std::max<std::uint64_t>(each.extent, 1);
        index = each.parts.front().type;
    }
}

const std::vector<byte_range>& object_reader::rest_of(std::uint32_t index) const {
    if (!rests_[index])
        rests_[index] = inspect::rest_of(schema_, index);
    return *rests_[index];
}

bool object_reader::has_rest(std::uint32_t index) const {
    const type_row& row = schema_.rows[index];
    return has_bit_fields(row) || (may_leave_out(row) && !rest_of(index).empty());
}

result<std::string_view> object_reader::rest(object_place of, std::uint64_t room) {
    gathered_.clear();
    for (const byte_range& each : rest_of(of.row)) {
        const std::uint64_t own = each.at >= room ? 0 : std::min(each.count, room - each.at);
        auto found = bytes(of.at + each.at, each.count);
        if (!found)
            return found.error();
        gathered_.append(reinterpret_cast<const char*>(*found), own);
        gathered_.append(each.count - own, '\0');
    }
    return std::string_view(gathered_);
}

result<const std::byte*> object_reader::bytes(std::uint64_t at, std::uint64_t count) {
    if (near_.have(at, count))
        return near_.bytes + (at - near_.begin);
    return bytes_from_heap(at, count);
}

result<const std::byte*> object_reader::bytes_from_heap(std::uint64_t at, std::uint64_t count) {
    if (count == 1 && at >= k_place_of_bits && at - k_place_of_bits < k_values_of_bits.size())
        return &k_values_of_bits[at - k_place_of_bits];
    if (!heap_.contains(at, count)) {
        return fail(errc::corrupt,
                    "an object of " + path_ + " leads to heap offset " + std::to_string(at) +
                        ", which does not lie in the heap. Restore the heap from a copy.",
                    path_);
    }
    auto found = heap_.at(at, count);
    if (!found)
        return found.error();
    const std::uint64_t begin = align_down(at, k_page_bytes);
    const std::uint64_t end = align_up(at + count, k_page_bytes);
    if (heap_.contains(begin, end - begin))
        near_ = {*found - (at - begin), begin, end};
    return *found;
}

template <class T>
result<T> object_reader::word(std::uint64_t at) {
    auto found = bytes(at, sizeof(T));
    if (!found)
        return found.error();
    T value;
    std::memcpy(&value, *found, sizeof value);
    return value;
}

result<std::uint64_t> object_reader::followed(std::uint64_t address, object_place from) {
    const std::uint64_t at = address - base_;
    if (address < base_ || (!near_.have(at, 1) && !heap_.contains(at, 1)))
        return damaged(from, "with an address that does not lie in the heap");
    return at;
}

result<std::uint64_t> object_reader::linked(std::uint64_t at) {
    auto distance = word<std::uint64_t>(at);
    if (!distance)
        return distance.error();
    return *distance == 0 ? 0 : at + *distance; // modulo 2^64; bytes() checks it
}

result<void> object_reader::count_one(object_place of) {
    if (budget_ == 0)
        return damaged(of, "that leads in a circle");
    --budget_;
    return {};
}

result<std::uint64_t> object_reader::count(object_place container) {
    std::uint64_t elements = 0;
    REM_TRY(for_each_element(container, [&](const element_place&) -> result<bool> {
        ++elements;
        return true;
    }));
    return elements;
}

bool is_map(const type_row& of) {
    switch (of.shape) {
    case shape_kind::tree:
    case shape_kind::hash_chain:
    case shape_kind::btree:
    case shape_kind::hash_table:
        return of.numbers.back() != 0;
    case shape_kind::packed:
        return true;
    case shape_kind::foreign:
        return !is_text(of) && of.numbers.back() != 0;
    default:
        return false;
    }
}

element_rows rows_of_elements(const type_row& container) {
    if (container.shape == shape_kind::packed)
        return {container.fields[0].type, container.fields[1].type};
    const std::uint32_t first = container.parts[0].type;
    return {first, is_map(container) ? container.parts[1].type : first};
}

bool is_foreign(const type_row& row) { return row.shape == shape_kind::foreign; }

bool is_text(const type_row& row) {
    switch (row.shape) {
    case shape_kind::text:
    case shape_kind::text_by_link:
    case shape_kind::packed_text:
        return true;
    case shape_kind::foreign:
        return row.numbers[0] == static_cast<std::uint64_t>(foreign_way::text);
    default:
        return false;
    }
}

bool has_several_of_a_key(const type_row& container) {
    return container.name.substr(0, container.name.find('<')).find("multi") != std::string::npos;
}

bool is_container(const type_row& of) {
    switch (of.shape) {
    case shape_kind::array:
    case shape_kind::contiguous:
    case shape_kind::linked_block:
    case shape_kind::deque:
    case shape_kind::ring:
    case shape_kind::chain:
    case shape_kind::tree:
    case shape_kind::hash_chain:
    case shape_kind::btree:
    case shape_kind::hash_table:
    case shape_kind::bits:
    case shape_kind::packed:
        return true;
    case shape_kind::foreign:
        return !is_text(of);
    default:
        return of.kind == type_kind::array;
    }
}

/// `mapped`: where the mapped value lies in the element; 0: there is none.
result<bool> object_reader::give(object_place container, std::uint64_t at, std::uint64_t mapped,
                                 const visit_element& visit) {
    REM_TRY(count_one(container));
    const type_row& of = schema_.rows[container.row];
    element_place element;
    element.value = {of.parts[0].type, at};
    if (mapped != 0)
        element = {.value = {of.parts[1].type, at + mapped}, .has_key = true, .key = {of.parts[0].type, at}};
    return visit(element);
}

bool object_reader::has_run(std::uint32_t row) const {
    const type_row& of = schema_.rows[row];
    return of.kind == type_kind::array || of.shape == shape_kind::array || of.shape == shape_kind::contiguous ||
           of.shape == shape_kind::linked_block;
}

result<object_reader::run> object_reader::run_of(object_place container) {
    const type_row& of = schema_.rows[container.row];
    const auto& n = of.numbers;
    if (of.kind == type_kind::array)
        return run{container.at, of.extent};
    if (of.shape == shape_kind::array)
        return run{container.at, n[0]};
    if (of.shape == shape_kind::linked_block) {
        auto first = linked(container.at + n[0]);
        auto count = word<std::uint64_t>(container.at + n[1]);
        if (!first || !count)
            return (!first ? first : count).error();
        return run{*first, *count};
    }
    auto begin = word<std::uint64_t>(container.at + n[0]);
    auto end = word<std::uint64_t>(container.at + n[1]);
    if (!begin || !end)
        return (!begin ? begin : end).error();
    if (*begin == *end)
        return run{0, 0};
    auto first = followed(*begin, container);
    if (!first)
        return first.error();
    const std::uint64_t size = size_of(of.parts[0].type);
    if (*end < *begin || size == 0 || (*end - *begin) % size != 0)
        return damaged(container, "that ends before it begins");
    return run{*first, (*end - *begin) / size};
}

result<std::uint64_t> object_reader::memory_of(object_place of) {
    const type_row& row = schema_.rows[of.row];
    const auto& n = row.numbers;
    switch (row.shape) {
    case shape_kind::contiguous:
    case shape_kind::text: {
        auto address = word<std::uint64_t>(of.at + n[0]);
        if (!address || *address == 0)
            return address;
        auto place = followed(*address, of);
        if (place && row.shape == shape_kind::text && *place - of.at < row.size)
            return std::uint64_t{0};
        return place;
    }
    case shape_kind::text_by_link:
    case shape_kind::serialised: {
        auto last = word<unsigned char>(of.at + n[0] + k_text_by_link_bytes - 1);
        if (!last)
            return last.error();
        return (*last & k_is_long) == 0 ? 0 : linked(of.at + n[0]);
    }
    case shape_kind::linked_block:
        return linked(of.at + n[0]);
    case shape_kind::bits: {
        auto address = word<std::uint64_t>(of.at + n[0]);
        return !address || *address == 0 ? std::move(address) : followed(*address, of);
    }
    default:
        return std::uint64_t{0};
    }
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
        if (!more)
            return more.error();
        if (!*more)
            break;
    }
    return {};
}

result<void> object_reader::deque(object_place of, const deque_numbers& numbers, const visit_element& visit) {
    const std::uint64_t size = size_of(schema_.rows[of.row].parts[0].type);
    const std::uint64_t start = of.at + numbers.begin; // element, first, last, block
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
    if (*last != 0) // Boost's has no block at first
        tell(*last - base_ - numbers.in_block * size, numbers.in_block * size);
    while (*at != *end) {
        auto place = followed(*at, of);
        if (!place)
            return place.error();
        auto more = give(of, *place, 0, visit);
        if (!more)
            return more.error();
        if (!*more)
            return {};
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

/// Rings end where they began, chains with null.
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
        if (!more)
            return more.error();
        if (!*more)
            return {};
        node = *place;
    }
}

/// A red-black tree of libstdc++: colour, parent, left, right. The header's parent is the root.
result<void> object_reader::tree(object_place of, const visit_element& visit) {
    const auto& n = schema_.rows[of.row].numbers;
    auto root = word<std::uint64_t>(of.at + n[0] + k_word);
    return root ? binary_tree(of, *root, {2 * k_word, 3 * k_word, n[1], n[2]}, visit) : root.error();
}

result<void> object_reader::binary_tree(object_place of, std::uint64_t root, const tree_numbers& numbers,
                                        const visit_element& visit) {
    constexpr std::size_t k_height_max = 128; // of 2^64 nodes
    std::vector<std::uint64_t> open;          // whose left side has been visited, or is being
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
        if (!more)
            return more.error();
        if (!*more)
            return {};
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
    constexpr unsigned char k_slot_end = 2; // what is greater is an element's
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
        if (i % k_group == k_group - 1)
            continue;
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
        if (!more)
            return more.error();
        if (!*more)
            break;
    }
    return {};
}

result<void> object_reader::bits(object_place of, const visit_element& visit) {
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
        return {};
    auto at = followed(*first, of);
    if (!at)
        return at.error();
    for (std::uint64_t i = *first_bit; i != end; ++i) {
        auto byte = word<unsigned char>(*at + i / 8);
        if (!byte)
            return byte.error();
        auto more = give(of, k_place_of_bits + (*byte >> i % 8 & 1U), 0, visit);
        if (!more)
            return more.error();
        if (!*more)
            break;
    }
    return {};
}

/// The elements of its tree are leaves (containers/detail/packed_leaf.hpp).
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
        const element_rows rows = rows_of_elements(row);
        const std::uint64_t alignment = std::max(alignment_of(schema_, rows.key), alignment_of(schema_, rows.value));
        return contiguous(of, *first, *count, align_up(n[3] + size_of(rows.value), alignment), n[3], visit);
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
        constexpr std::uint64_t k_colour = 1; // in an address
        return root ? binary_tree(of, *root & ~k_colour, {n[3], n[4], n[5], n[6]}, visit) : root.error();
    }
    case foreign_way::buckets:
        return foreign_buckets(of, visit);
    case foreign_way::text:
        break;
    }
    return {};
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
        if (!more)
            return more.error();
        if (!*more)
            return {};
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
        if (!more)
            return more.error();
        if (!*more)
            break;
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
            if (!more)
                return more.error();
            if (!*more)
                return {};
            link = *node;
        }
    }
    return {};
}

result<std::string_view> object_reader::text(object_place of) {
    auto range = range_of_text(of);
    if (!range)
        return range.error();
    if (range->bytes == 0)
        return std::string_view();
    if (!heap_.contains(range->first, range->bytes))
        return damaged(of, "whose characters do not lie in the heap");
    auto found = bytes(range->first, range->bytes);
    if (!found)
        return found.error();
    return std::string_view(reinterpret_cast<const char*>(*found), range->bytes);
}

result<object_reader::text_range> object_reader::range_of_text(object_place of) {
    const type_row& row = schema_.rows[of.row];
    switch (row.shape) {
    case shape_kind::text: {
        auto address = word<std::uint64_t>(of.at + row.numbers[0]);
        auto count = word<std::uint64_t>(of.at + row.numbers[1]);
        if (!address || !count)
            return (!address ? address : count).error();
        auto place = followed(*address, of);
        return place ? result<text_range>({*place, *count}) : place.error();
    }
    case shape_kind::packed_text:
        return range_in_record(of);
    case shape_kind::foreign:
        return range_of_foreign(of);
    default:
        return range_of_link(of);
    }
}

result<object_reader::text_range> object_reader::range_of_link(object_place of) {
    const std::uint64_t at = of.at + schema_.rows[of.row].numbers[0];
    auto last = word<unsigned char>(at + k_text_by_link_bytes - 1);
    if (!last)
        return last.error();
    if ((*last & k_is_long) == 0) {
        if (*last >= k_text_by_link_bytes)
            return damaged(of, "of an impossible length");
        return text_range{at, k_text_by_link_bytes - 1 - *last};
    }
    auto place = linked(at);
    auto count = word<std::uint64_t>(at + k_word);
    if (!place || !count)
        return (!place ? place : count).error();
    return text_range{*place, *count};
}

/// Two lengths in LEB128, the key, the value.
result<object_reader::text_range> object_reader::range_in_record(object_place of) {
    std::array<std::uint64_t, 2> lengths{};
    std::uint64_t at = of.at;
    for (std::uint64_t& length : lengths) {
        for (unsigned shift = 0;; shift += 7) {
            auto digit = word<unsigned char>(at++);
            if (!digit)
                return digit.error();
            if (shift > 35) // of records of 4 GiB
                return damaged(of, "of an impossible length");
            length |= std::uint64_t{*digit & 0x7fU} << shift;
            if ((*digit & 0x80U) == 0)
                break;
        }
    }
    const bool is_value = schema_.rows[of.row].numbers[0] != 0;
    return text_range{is_value ? at + lengths[0] : at, lengths[is_value ? 1 : 0]};
}

/// Boost's: the lowest bit is 1 if it is short, then its length and the characters follow; else length, capacity, address.
result<object_reader::text_range> object_reader::range_of_foreign(object_place of) {
    constexpr std::uint64_t k_short_max = 22;
    const std::uint64_t at = of.at + schema_.rows[of.row].numbers[1];
    auto length = word<std::uint64_t>(at);
    if (!length)
        return length.error();
    if ((*length & 1U) != 0) {
        const std::uint64_t bytes = *length >> 1 & 0x7fU;
        return bytes <= k_short_max ? result<text_range>({at + 1, bytes}) : damaged(of, "of an impossible length");
    }
    auto address = word<std::uint64_t>(at + 2 * k_word);
    auto place = address ? followed(*address, of) : std::move(address);
    return place ? result<text_range>({*place, *length >> 1}) : place.error();
}

result<std::optional<held_place>> object_reader::held(object_place of) {
    const type_row& row = schema_.rows[of.row];
    auto mark = word<unsigned char>(of.at + row.numbers[0]);
    if (!mark)
        return mark.error();
    if (row.shape == shape_kind::optional)
        return *mark == 0 ? std::optional<held_place>() : held_place{{row.parts[0].type, of.at}, 0};
    if (*mark == 255)
        return std::optional<held_place>();
    if (*mark >= row.parts.size())
        return damaged(of, "that holds none of its alternatives");
    return std::optional(held_place{{row.parts[*mark].type, of.at}, *mark});
}

result<std::uint64_t> object_reader::target(object_place pointer) {
    auto address = word<std::uint64_t>(pointer.at);
    if (!address)
        return address.error();
    if (*address == 0)
        return std::uint64_t{0};
    auto place = followed(*address, pointer);
    if (!place)
        return place.error();
    const std::uint64_t size = size_of(schema_.rows[pointer.row].parts.front().type);
    if (!heap_.contains(*place, size))
        return damaged(pointer, "to what does not lie in the heap");
    return *place;
}

} // namespace remanence::inspect
