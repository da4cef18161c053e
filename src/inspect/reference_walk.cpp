#include "inspect/reference_walk.hpp"

#include "base/units.hpp"
#include "inspect/shape_walk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

// Of an iterator of a deque: the element, its block's begin and end, the block's place.
constexpr std::uint64_t k_words_of_iterator = 4;

/// Offsets from `first` of the words with addresses, and how many words there are.
struct own_words {
    std::uint64_t first = 0;
    std::uint64_t words = 0;
    std::uint32_t links = 0; // bit i: the word i is an address
};

/// Returns the words of a container itself; nothing if it stores distances, or is of another library.
std::optional<own_words> words_of(const type_row& row) {
    const auto& n = row.numbers;
    switch (row.shape) {
    case shape_kind::text: // an address, the length, and room for a short text
        return own_words{n[0], 4, 0b1};
    case shape_kind::contiguous: // begin, end, end of the memory
        return own_words{n[0], 3, 0b111};
    case shape_kind::bits: // begin and its bit, end and its bit, end of the memory
        return own_words{n[0], 5, 0b10101};
    case shape_kind::deque: // the array of blocks and its length, two iterators
        return own_words{n[0] - 2 * k_address_bytes, 2 + 2 * k_words_of_iterator, 0b1111111101};
    case shape_kind::ring: // next, previous, how many
        return own_words{n[0], 3, 0b11};
    case shape_kind::chain:
        return own_words{n[0], 1, 0b1};
    case shape_kind::tree: // colour, root, leftmost, rightmost, how many
        return own_words{n[0], 5, 0b1110};
    case shape_kind::hash_chain: // buckets, how many, first link, how many elements, load factor, limit, single bucket
        return own_words{n[0] - 2 * k_address_bytes, 7, 0b1000101};
    default:
        return {};
    }
}

/// Returns which of the words in front of an element in its node are addresses, as own_words::links.
std::uint32_t links_of_node(const type_row& row) {
    switch (row.shape) {
    case shape_kind::ring:
        return 0b11;
    case shape_kind::chain:
    case shape_kind::hash_chain:
        return 0b1;
    case shape_kind::tree: // colour, parent, left, right
        return 0b1110;
    default:
        return 0;
    }
}

/// True if a container begins with an allocator that stores an address, that of its heap.
bool begins_with_address(const object_reader& reader, const type_row& row, const own_words& words) {
    if (row.shape != shape_kind::tree)
        return words.first >= k_address_bytes;
    const std::size_t elements = is_map(row) ? 2 : 1; // then comes the comparator
    const std::uint64_t compare = elements < row.parts.size() ? reader.size_of(row.parts[elements].type) : 1;
    return words.first >= k_address_bytes + align_up(std::max<std::uint64_t>(compare, 1), k_address_bytes);
}

/// True if a container's function objects have room for a pointer.
bool may_have_state(const object_reader& reader, const type_row& row) {
    const std::size_t elements = is_map(row) ? 2 : 1;
    for (std::size_t i = elements; i < row.parts.size(); ++i) {
        if (reader.size_of(row.parts[i].type) >= k_address_bytes)
            return true;
    }
    return false;
}

} // namespace

bool referring_rows::ask(std::uint32_t index) { // NOLINT(misc-no-recursion): no type contains itself by value
    if (known_[index] == answer::unknown)
        known_[index] = find(index) ? answer::yes : answer::no;
    return known_[index] == answer::yes;
}

bool referring_rows::find(std::uint32_t index) { // NOLINT(misc-no-recursion)
    const type_row& row = reader_.row(index);
    const auto refers = [&](std::uint32_t part) { return ask(part); }; // NOLINT(misc-no-recursion)
    switch (form_of(row)) {
    case form::number:
        return false;
    case form::hidden:
        return reader_.size_of(index) >= k_address_bytes;
    case form::members: {
        const std::vector<type_part>& members = *members_of(row);
        return has_vptr(row) || leaves_out(index) ||
               std::any_of(members.begin(), members.end(),
                           [&](const type_part& each) { return each.offset && refers(each.type); });
    }
    case form::array:
        return refers(row.parts[0].type);
    case form::same:
    case form::optional:
    case form::variant: {
        const auto parts = parts_of(row);
        return std::any_of(parts.begin(), parts.end(), [&](const row_part& each) { return refers(each.row); });
    }
    default:
        return true;
    }
}

bool referring_rows::leaves_out(std::uint32_t index) const {
    const type_row& row = reader_.row(index);
    const auto is_unknown = [&](const type_part& each) {
        return each.offset ? reader_.size_of(each.type) == 0
                           : form_of(reader_.row(each.type)) != form::number; // references
    };
    const bool has_unknown =
        row.kind == type_kind::members && std::any_of(row.parts.begin(), row.parts.end(), is_unknown);
    if (!has_unknown && !may_leave_out(row))
        return false;
    const auto& rest = reader_.rest_of(index);
    return std::any_of(rest.begin(), rest.end(), [](const byte_range& each) { return each.count >= k_address_bytes; });
}

reference_walk::reference_walk(object_reader& reader, reference_listener& listener)
    : reader_(reader), listener_(listener), refer_(reader) {
    reader_.listen([this](std::uint64_t begin, std::uint64_t /*bytes*/) { listener_.owned(begin); });
}

result<void> reference_walk::own(object_place object) {
    containers_.clear();
    listener_.objects(object, 1);
    REM_TRY(look(object));
    while (!containers_.empty()) {
        const object_place next = containers_.back();
        containers_.pop_back();
        REM_TRY(look_into(next));
    }
    return {};
}

result<void> reference_walk::look(object_place of) { // NOLINT(misc-no-recursion): no type contains itself by value
    if (!refer_.ask(of.row))
        return {};
    const type_row& row = reader_.row(of.row);
    switch (form_of(row)) {
    case form::number:
        return {};
    case form::hidden:
        return listener_.opaque({of.at, reader_.size_of(of.row)}, of.row);
    case form::pointer:
        listener_.pointer(of);
        return {};
    case form::members:
        return look_at_members(of);
    case form::array:
    case form::same:
    case form::optional:
    case form::variant:
        // NOLINTNEXTLINE(misc-no-recursion)
        return for_each_part(reader_, of, [&](const object_part& each) -> result<bool> {
            REM_TRY(look(each.place));
            return true;
        });
    case form::packed:
        return look({row.parts[0].type, of.at}); // NOLINT(misc-no-recursion)
    case form::text:
    case form::serialised:
        return own_memory(of);
    case form::sequence:
    case form::set:
    case form::map:
        containers_.push_back(of);
        return {};
    }
    return {};
}

result<void> reference_walk::look_at_members(object_place of) { // NOLINT(misc-no-recursion)
    if (has_vptr(reader_.row(of.row)))
        listener_.vptr(of.at);
    for (const type_part& each : *members_of(reader_.row(of.row))) {
        if (each.offset)
            REM_TRY(look({each.type, of.at + *each.offset}));
    }
    if (refer_.leaves_out(of.row)) {
        for (const byte_range& each : reader_.rest_of(of.row))
            REM_TRY(listener_.opaque({of.at + each.at, each.count}, of.row));
    }
    return {};
}

result<void> reference_walk::look_into(object_place container) {
    const type_row& row = reader_.row(container.row);
    REM_TRY(own_memory(container));
    if (row.shape == shape_kind::bits)
        return {};
    const bool is_run = reader_.has_run(container.row);
    if (is_run) {
        auto elements = reader_.run_of(container);
        if (!elements)
            return elements.error();
        listener_.objects({row.parts[0].type, elements->first}, elements->count);
        if (!refer_.ask(row.parts[0].type))
            return {};
    }
    return reader_.for_each_element(container, [&](const element_place& each) -> result<bool> {
        if (!is_run)
            tell_node(container, each);
        REM_TRY(look(each.value));
        if (each.has_key)
            REM_TRY(look(each.key));
        return true;
    });
}

void reference_walk::tell_node(object_place container, const element_place& element) {
    const type_row& row = reader_.row(container.row);
    const std::uint64_t begin = element.has_key ? element.key.at : element.value.at;
    listener_.owned(begin);
    listener_.objects(element.value, 1);
    if (element.has_key)
        listener_.objects(element.key, 1);
    if (const std::uint32_t links = links_of_node(row); links != 0)
        tell_links(links, begin - row.numbers[1]);
}

/// Bit i of `links`: the word i from `begin` on is an address.
void reference_walk::tell_links(std::uint32_t links, std::uint64_t begin) {
    for (; links != 0; links &= links - 1)
        listener_.link(begin + static_cast<std::uint64_t>(std::countr_zero(links)) * k_address_bytes);
}

result<void> reference_walk::own_memory(object_place of) {
    const type_row& row = reader_.row(of.row);
    if (row.shape == shape_kind::packed_text) // its characters are those of the packed map
        return {};
    if (is_foreign(row))
        return listener_.opaque({of.at, reader_.size_of(of.row)}, of.row);
    const auto words = words_of(row);
    if (words) {
        if (begins_with_address(reader_, row, *words))
            listener_.link(of.at);
        tell_links(words->links, of.at + words->first);
    }
    if (may_have_state(reader_, row)) {
        // Containers that store distances keep their function objects behind their own words.
        const std::uint64_t first = words ? words->first : k_address_bytes;
        const std::uint64_t behind = words ? first + words->words * k_address_bytes : first;
        if (words)
            REM_TRY(listener_.opaque({of.at, first}, of.row));
        if (behind < row.size)
            REM_TRY(listener_.opaque({of.at + behind, row.size - behind}, of.row));
    }
    if (row.shape == shape_kind::deque)
        return own_deque(of);
    if (row.shape == shape_kind::hash_chain)
        return own_buckets(of);
    auto memory = reader_.memory_of(of);
    if (!memory)
        return memory.error();
    if (*memory != 0)
        listener_.owned(*memory);
    return {};
}

/// The array of blocks, and the blocks that may have no element.
result<void> reference_walk::own_deque(object_place of) {
    const std::uint64_t words = of.at + reader_.row(of.row).numbers[0] - 2 * k_address_bytes;
    auto map = reader_.address_at(words, of);
    auto first = reader_.address_at(words + (2 + 3) * k_address_bytes, of);
    auto last = reader_.address_at(words + (2 + k_words_of_iterator + 3) * k_address_bytes, of);
    for (auto* each : {&map, &first, &last}) {
        if (!*each)
            return each->error();
    }
    if (*map == 0)
        return {};
    listener_.owned(*map);
    for (std::uint64_t at = *first; at <= *last; at += k_address_bytes) {
        auto block = reader_.address_at(at, of);
        if (!block)
            return block.error();
        listener_.link(at);
        if (*block != 0)
            listener_.owned(*block);
    }
    return {};
}

result<void> reference_walk::own_buckets(object_place of) {
    const std::uint64_t words = of.at + reader_.row(of.row).numbers[0] - 2 * k_address_bytes;
    auto buckets = reader_.address_at(words, of);
    if (!buckets)
        return buckets.error();
    auto count = reader_.bytes(words + k_address_bytes, k_address_bytes);
    if (!count)
        return count.error();
    std::uint64_t left = 0;
    std::memcpy(&left, *count, sizeof left);
    if (*buckets == 0 || *buckets == words + 6 * k_address_bytes) // the single bucket in the object itself
        return {};
    listener_.owned(*buckets);
    if (left > k_size_max / k_address_bytes || !reader_.heap().contains(*buckets, left * k_address_bytes))
        return reader_.damaged(of, "whose buckets do not lie in the heap");
    for (std::uint64_t at = *buckets; left != 0; --left, at += k_address_bytes)
        listener_.link(at);
    return {};
}

std::uint64_t end_of_members(const type_description& schema, std::uint32_t index) { // NOLINT(misc-no-recursion)
    const type_row& row = schema.rows[index];
    const std::vector<type_part>* const members = members_of(row);
    if (members == nullptr)
        return size_of(schema, index);
    std::uint64_t end = 0;
    for (const type_part& each : *members) {
        if (!each.offset)
            continue;
        const std::uint64_t bytes = each.name.empty() ? end_of_members(schema, each.type) : size_of(schema, each.type);
        end = std::max(end, *each.offset + bytes);
    }
    return end;
}

// NOLINTNEXTLINE(misc-no-recursion): no type contains itself by value
bool has_part_at(const type_description& schema, std::uint32_t whole, std::uint64_t offset, const std::string& part) {
    const std::uint64_t bytes = size_of(schema, whole);
    if (offset >= std::max<std::uint64_t>(bytes, 1))
        return false;
    if (offset == 0 && schema.name_of(whole) == part)
        return true;
    const type_row& row = schema.rows[whole];
    switch (form_of(row)) {
    case form::members:
        return std::any_of(members_of(row)->begin(), members_of(row)->end(), [&](const type_part& each) {
            return each.offset && *each.offset <= offset && has_part_at(schema, each.type, offset - *each.offset, part);
        });
    case form::array: {
        const std::uint64_t each = size_of(schema, row.parts[0].type);
        return each != 0 && has_part_at(schema, row.parts[0].type, offset % each, part);
    }
    case form::same:
    case form::optional:
    case form::variant: {
        const auto parts = parts_of(row);
        return std::any_of(parts.begin(), parts.end(),
                           [&](const row_part& each) { return has_part_at(schema, each.row, offset, part); });
    }
    default:
        return false;
    }
}

} // namespace remanence::inspect
