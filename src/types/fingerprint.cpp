// Structures and hashes of types. mangled_name_reader.cpp tells if a type can be named; name_shortener.cpp makes its
// readable name.
#include <remanence/types/detail/fingerprint.hpp>

#include "base/checksum.hpp"
#include "types/type_description.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::detail {

static constexpr std::uint64_t k_structure_seed = 0x7374727563747572; // "structur": hashes of structures only

structure_writer::structure_writer() = default;
structure_writer::~structure_writer() = default;

std::uint32_t structure_writer::write(write_type type) {
    type(*this);
    return last_;
}

/// Adds a row for a type that is identified by its parts and has no name of its own. Equal types share one row.
std::uint32_t structure_writer::intern(types::type_row row) {
    const auto known = std::find(rows_.begin(), rows_.end(), row);
    last_ = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end())
        rows_.push_back(std::move(row));
    return last_;
}

void structure_writer::plain(const std::type_info& type) {
    text_1_ += type.name();
    intern({.kind = types::type_kind::plain, .name = type.name()});
}

void structure_writer::reference(const std::type_info& type) {
    text_1_ += '&';
    text_1_ += type.name();
    intern({.kind = types::type_kind::reference, .name = type.name()});
}

void structure_writer::pointer(write_type pointee) {
    text_1_ += '*';
    intern({.kind = types::type_kind::pointer, .parts = {{.type = write(pointee)}}});
}

void structure_writer::array(std::size_t extent, write_type element) {
    text_1_ += extent == 0 ? "[] " : '[' + std::to_string(extent) + "] ";
    intern({.kind = types::type_kind::array, .extent = extent, .parts = {{.type = write(element)}}});
}

void structure_writer::object(const std::type_info& type, std::size_t size, std::size_t alignment,
                              std::uint32_t layout_number, write_type contents) {
    text_1_ += type.name();
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const types::type_row& row) {
        return (row.kind == types::type_kind::object || row.kind == types::type_kind::members) &&
               row.name == type.name();
    });
    const auto index = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end()) {
        text_1_ += ' ' + std::to_string(size) + '/' + std::to_string(alignment);
        rows_.push_back({.kind = types::type_kind::object,
                         .name = type.name(),
                         .size = size,
                         .alignment = alignment,
                         .number = layout_number});
        if (contents != nullptr) {
            const std::uint32_t outer = std::exchange(open_, index);
            contents(*this);
            open_ = outer;
        }
    }
    last_ = index;
}

/// `into` must not be an element of rows_, because rows_ may reallocate. Algorithm 1 writes `open` before the first
/// member and `next` before each other one.
void structure_writer::take(const member_table& members, std::string_view open, std::string_view next,
                            types::type_row& into) {
    std::uint32_t name_begin = 0;
    for (std::size_t i = 0; i != members.count; ++i) {
        types::type_part part;
        if (members.names != nullptr) {
            part.name.assign(members.names + name_begin, members.names + members.ends[i]);
            name_begin = members.ends[i];
        }
        text_1_ += i == 0 ? open : next;
        part.type = write(members.types[i]);
        into.parts.push_back(std::move(part));
    }
}

/// Calls `found` with the number and the offset of each member that has an offset.
template <class Found>
static void for_each_offset(const member_table& members, const Found& found) {
    if (members.locate == nullptr)
        return;
    constexpr std::uintptr_t k_place = std::uintptr_t{1} << 32; // aligned for anything; nothing is read there
    std::vector<const volatile void*> addresses(members.count);
    members.locate(k_place, addresses.data());
    for (std::size_t i = 0; i != members.count; ++i) {
        if (addresses[i] != nullptr)
            found(i, reinterpret_cast<std::uintptr_t>(addresses[i]) - k_place);
    }
}

static void locate(const member_table& members, std::vector<types::type_part>& parts) {
    for_each_offset(members, [&](std::size_t i, std::uint64_t offset) { parts[i].offset = offset; });
}

/// Returns three numbers for each bit-field whose bits can be found: the number of its member, its first bit counted
/// from the object's beginning, and its count of bits.
static std::vector<std::uint64_t> bits_of(const member_table& members, const std::vector<types::type_part>& parts,
                                          std::uint64_t object_bytes) {
    std::vector<std::uint64_t> numbers;
    std::size_t bit_field = 0;
    for (std::size_t i = 0; members.fill_bits != nullptr && i != parts.size(); ++i) {
        if (parts[i].offset)
            continue;
        std::vector<std::byte> image(object_bytes);
        members.fill_bits(image.data(), bit_field++);
        const auto is_one = [&](std::uint64_t bit) {
            return bit / 8 < object_bytes && (std::to_integer<unsigned>(image[bit / 8]) >> bit % 8 & 1U) != 0;
        };
        std::uint64_t first = 0;
        while (first / 8 != object_bytes && !is_one(first))
            ++first;
        std::uint64_t count = 0;
        while (is_one(first + count))
            ++count;
        if (count != 0)
            numbers.insert(numbers.end(), {i, first, count});
    }
    return numbers;
}

void structure_writer::shape(const type_shape& shape) {
    types::type_row& row = rows_[last_];
    if (row.shape != shape_kind::none)
        return;
    row.shape = shape.kind;
    shapes_.push_back({last_, &shape});
}

static void fill(const type_shape& shape, types::type_row& row) {
    if (shape.kind == shape_kind::members) // The numbers of this shape describe its bit-fields; they are set already.
        return;
    row.numbers.assign(shape.numbers, shape.numbers + shape.count);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; shape.labels != nullptr && i != shape.count; ++i) {
        row.labels.emplace_back(shape.labels + begin, shape.labels + shape.label_ends[i]);
        begin = shape.label_ends[i];
    }
}

void structure_writer::members(const member_table& members) {
    types::type_row taken;
    take(members, " {", ", ", taken);
    text_1_ += '}';
    locate(members, taken.parts);
    rows_[open_].kind = types::type_kind::members;
    rows_[open_].parts = std::move(taken.parts);
}

void structure_writer::serialised(const std::type_info& type, const member_table& members) {
    types::type_row row{.kind = types::type_kind::serialised, .name = type.name()};
    text_1_ += type.name();
    text_1_ += " {";
    take(members, " ", " ", row);
    text_1_ += " }";
    intern(std::move(row));
}

void structure_writer::list(std::string_view open, const write_type* types, std::size_t count, std::string_view close) {
    std::string_view separator = open;
    for (std::size_t i = 0; i != count; ++i) {
        if (types[i] == nullptr)
            continue;
        text_1_ += separator;
        separator = ", ";
        const std::uint32_t type = write(types[i]);
        rows_[open_].parts.push_back({.type = type});
    }
    if (separator != open)
        text_1_ += close;
}

void structure_writer::text(std::string_view text) {
    text_1_ += text;
    rows_[open_].note += text;
}

/// Hashes names, places and values: what changes when a class or an enumeration changes. FNV-1a; 0 only if there is
/// nothing to hash.
template <class Rows>
static std::uint32_t hash_of_classes(const Rows& shapes) {
    std::uint32_t hash = 0;
    const auto add = [&](std::uint64_t value) {
        constexpr std::uint32_t k_prime = 16777619;
        for (unsigned shift = 0; shift != 64; shift += 8)
            hash = (hash ^ static_cast<std::uint32_t>((value >> shift) & 0xff)) * k_prime;
    };
    for (const auto& each : shapes) {
        const member_table* const members = each.shape->members;
        const bool is_enumeration = each.shape->kind == shape_kind::enumeration;
        if (!is_enumeration && (members == nullptr || !members->is_own))
            continue;
        if (hash == 0)
            hash = 2166136261;
        if (is_enumeration) {
            const std::size_t count = each.shape->count;
            const std::uint32_t bytes = count == 0 ? 0 : each.shape->label_ends[count - 1];
            for (std::uint32_t i = 0; i != bytes; ++i)
                add(static_cast<unsigned char>(each.shape->labels[i]));
            for (std::size_t i = 0; i != count; ++i)
                add(each.shape->numbers[i]);
            continue;
        }
        const std::uint32_t bytes = members->count == 0 ? 0 : members->ends[members->count - 1];
        for (std::uint32_t i = 0; i != bytes; ++i)
            add(static_cast<unsigned char>(members->names[i]));
        for_each_offset(*members, [&](std::size_t i, std::uint64_t offset) { add(i << 32 ^ offset); });
    }
    return hash;
}

type_fingerprint structure_writer::finish(const std::type_info& type, std::size_t size, std::size_t alignment) && {
    types::type_description described{rows_, last_};
    type_fingerprint result;
    const std::string hashed = described.encode();
    result.hash = checksum64(std::as_bytes(std::span(hashed)), k_structure_seed);
    result.hash_1 = checksum64(std::as_bytes(std::span(text_1_)), k_structure_seed);
    for (types::type_row& row : described.rows) {
        if (!row.name.empty())
            row.name = readable_name(row.name.c_str());
        if (row.number != 0 && result.numbered.empty()) {
            result.numbered = row.name;
            result.layout_number = row.number;
        }
    }
    result.name = readable_name(type.name());
    result.size = size;
    result.alignment = alignment;
    result.nameable = is_nameable(type.name());
    result.description = described.encode();
    if (result.description.size() > types::k_description_bytes_max)
        result.description.clear();
    result.shapes = static_cast<std::uint32_t>(shapes_.size());
    take_members_of_classes();
    result.classes_hash = hash_of_classes(shapes_);
    result.virtual_functions = virtual_functions_;
    result.assumed = assumed_;
    return result;
}

/// Writes the members that classes declare (REM_REFLECT). This may meet new types, which are appended to shapes_.
void structure_writer::take_members_of_classes() {
    for (std::size_t i = 0; i != shapes_.size(); ++i) { // shapes_ grows meanwhile
        const row_with_shape each = shapes_[i];
        if (each.shape->members == nullptr)
            continue;
        types::type_row taken;
        open_ = each.row;
        take(*each.shape->members, {}, {}, taken);
        locate(*each.shape->members, taken.parts);
        types::type_row& row = rows_[each.row];
        row.numbers = bits_of(*each.shape->members, taken.parts, row.size);
        row.fields = std::move(taken.parts);
    }
}

std::string structure_writer::schema() && {
    const std::uint32_t root = last_;
    take_members_of_classes();
    for (const row_with_shape& each : shapes_)
        fill(*each.shape, rows_[each.row]);
    types::type_description described{std::move(rows_), root};
    for (types::type_row& row : described.rows) {
        if (!row.name.empty())
            row.name = readable_name(row.name.c_str());
    }
    std::string encoded = described.encode(types::row_contents::schema);
    if (encoded.size() > types::k_schema_bytes_max)
        encoded.clear();
    return encoded;
}

} // namespace remanence::detail
