#include "inspect/object_reader.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <array>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_kind;
using types::type_row;

namespace {

constexpr std::uint64_t k_text_by_link_bytes = 24;
constexpr unsigned k_is_long = 0x80; // bit in the last byte of a text, if it has a block
constexpr std::array k_values_of_bits = {std::byte{0}, std::byte{1}};

/// Returns the offset of the word in which a container of this shape counts its elements; nothing if there is none.
std::optional<std::uint64_t> place_of_count(const type_row& row) {
    constexpr std::uint64_t k_word = 8;
    switch (row.shape) {
    case shape_kind::ring:
        return row.numbers[0] + 2 * k_word; // behind the first and the last link
    case shape_kind::tree:
        return row.numbers[0] + 4 * k_word; // behind colour, root, first and last node
    case shape_kind::hash_chain:
        return row.numbers[0] + k_word; // behind the first link
    case shape_kind::btree:
        return 3 * k_word;
    case shape_kind::hash_table:
        return 2 * k_word;
    default:
        return {};
    }
}

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

unexpected object_reader::out_of_steps(object_place where) const {
    return fail(
        errc::limit_reached,
        "a call that reads a " + schema_.name_of(where.row) + " of " + path_ +
            " has taken as many steps as it may. Allow it more, or read the elements by a cursor, which goes on "
            "where it stopped.",
        path_);
}

const std::vector<byte_range>& object_reader::rest_of(std::uint32_t index) const {
    rests_.resize(schema_.rows.size());
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
        near_ = {*found - (at - begin), begin, end, moves_};
    return *found;
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
    return *distance == 0 ? 0 : at + *distance; // bytes() refuses an offset that wrapped
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

result<std::optional<std::uint64_t>> object_reader::stated_count(object_place container) {
    if (has_run(container.row)) {
        auto elements = run_of(container);
        return elements ? result<std::optional<std::uint64_t>>(elements->count) : elements.error();
    }
    const auto place = place_of_count(schema_.rows[container.row]);
    if (!place)
        return std::optional<std::uint64_t>();
    auto stated = word<std::uint64_t>(container.at + *place);
    return stated ? result<std::optional<std::uint64_t>>(*stated) : stated.error();
}

result<std::uint64_t> object_reader::count(object_place container) {
    auto stated = stated_count(container);
    if (!stated)
        return stated.error();
    if (*stated) {
        // checked, since the caller may allocate memory for so many
        const std::uint64_t bytes = std::max<std::uint64_t>(size_of(schema_.rows[container.row].parts[0].type), 1);
        if (**stated > k_size_max / bytes || !heap_.contains(0, **stated * bytes))
            return damaged(container, "with more elements than fit into the heap");
        return **stated;
    }
    std::uint64_t elements = 0;
    REM_TRY(for_each_element(container, [&](const element_place&) -> result<bool> {
        ++elements;
        return true;
    }));
    return elements;
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

/// Finds a text in a record of a packed map. A record consists of two lengths in LEB128, the key and the value.
result<object_reader::text_range> object_reader::range_in_record(object_place of) {
    std::array<std::uint64_t, 2> lengths{};
    std::uint64_t at = of.at;
    for (std::uint64_t& length : lengths) {
        for (unsigned shift = 0;; shift += 7) {
            auto digit = word<unsigned char>(at++);
            if (!digit)
                return digit.error();
            if (shift > 35) // the length exceeds that of any record, 4 GiB
                return damaged(of, "of an impossible length");
            length |= std::uint64_t{*digit & 0x7fU} << shift;
            if ((*digit & 0x80U) == 0)
                break;
        }
    }
    const bool is_value = schema_.rows[of.row].numbers[0] != 0;
    return text_range{is_value ? at + lengths[0] : at, lengths[is_value ? 1 : 0]};
}

/// Finds the characters of a text of Boost. If its lowest bit is 1, the text is short, and length and characters
/// follow. Otherwise it consists of length, capacity and address.
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

result<std::uint64_t> object_reader::address_at(std::uint64_t at, object_place of) {
    auto address = word<std::uint64_t>(at);
    return !address || *address == 0 ? std::move(address) : followed(*address, of);
}

result<std::uint64_t> object_reader::target(object_place pointer) {
    auto place = address_at(pointer.at, pointer);
    if (!place || *place == 0)
        return place;
    const std::uint64_t size = size_of(schema_.rows[pointer.row].parts.front().type);
    if (!heap_.contains(*place, size))
        return damaged(pointer, "to what does not lie in the heap");
    return *place;
}

} // namespace remanence::inspect
