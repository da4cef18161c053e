// Checks that the rows of a schema fit each other. Code that reads objects by a schema relies on nothing else (I7).
#include "types/schema_table.hpp"

#include "base/plain_text.hpp"
#include "types/number_shapes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace remanence::types {

namespace {

using detail::shape_kind;

constexpr std::uint64_t k_object_bytes_max = std::uint64_t{1} << 47;

/// Returns the length of the UTF-8 sequence at the beginning; 0 if there is none.
std::size_t sequence_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80)
            return 0;
    }
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
        (first == 0xf4 && byte(1) > 0x8f)) // too long, surrogates, beyond U+10FFFF
        return 0;
    return length;
}

class soundness {
public:
    explicit soundness(const type_description& schema) : rows_(schema.rows), state_(schema.rows.size(), untouched) {}

    bool run() {
        for (std::uint32_t i = 0; i != rows_.size(); ++i) {
            if (!is_sound(rows_[i]))
                return false;
        }
        for (std::uint32_t i = 0; i != rows_.size(); ++i) {
            if (!is_finite(i, 0))
                return false;
        }
        taken_.resize(rows_.size());
        return std::all_of(rows_.begin(), rows_.end(), [&](const type_row& row) { return has_parts_apart(row); });
    }

private:
    enum state : char { untouched, under_way, done };

    static bool is_number(const type_row& row, std::uint64_t bytes_max) {
        return row.kind == type_kind::object && row.size >= 1 && row.size <= bytes_max;
    }
    [[nodiscard]] bool has_part(const type_row& row, std::uint64_t index) const { return index < row.parts.size(); }
    [[nodiscard]] bool lies_within(std::uint64_t offset, std::uint64_t bytes, const type_row& row) const {
        return offset <= row.size && bytes <= row.size - offset;
    }
    /// True if the part `part` at this offset lies within the object itself.
    [[nodiscard]] bool holds(const type_row& row, std::uint64_t offset, std::uint32_t part) const {
        return lies_within(offset, size_of(part), row);
    }

    static bool is_offset(std::uint64_t number) { return number < k_object_bytes_max; }
    [[nodiscard]] bool has_word(const type_row& row, std::uint64_t offset) const {
        return lies_within(offset, sizeof(std::uint64_t), row);
    }
    static bool lie_apart(std::uint64_t a, std::uint64_t b, std::uint64_t bytes) {
        return a < b ? b - a >= bytes : a - b >= bytes;
    }

    /// Returns the size of an object of this row. Computes it for arrays and pointers, whose rows have no size. 0 if it
    /// is not known.
    [[nodiscard]] std::uint64_t size_of(std::uint32_t index) const {
        std::uint64_t times = 1;
        for (;;) { // ends, since rows of arrays refer only to rows before them
            const type_row& row = rows_[index];
            if (row.kind == type_kind::pointer)
                return times * sizeof(std::uint64_t);
            if (row.kind != type_kind::array)
                return times * row.size;
            if (row.extent > k_object_bytes_max / times)
                return std::numeric_limits<std::uint64_t>::max();
            times *= std::max<std::uint64_t>(row.extent, 1);
            index = row.parts.front().type;
            if (const type_row& element = rows_[index]; element.size > k_object_bytes_max / times)
                return std::numeric_limits<std::uint64_t>::max();
        }
    }

    [[nodiscard]] bool is_sound(const type_row& row) const {
        if (row.size > k_object_bytes_max || !is_utf8(row.name) ||
            !std::all_of(row.labels.begin(), row.labels.end(), is_utf8))
            return false;
        for (const auto* parts : {&row.parts, &row.fields}) {
            if (!std::all_of(parts->begin(), parts->end(), [](const type_part& part) { return is_utf8(part.name); }))
                return false;
        }
        if (row.kind == type_kind::members) {
            for (const type_part& part : row.parts) {
                if (part.offset && !holds(row, *part.offset, part.type))
                    return false;
            }
        }
        for (const type_part& field : row.fields) {
            if ((row.shape != shape_kind::members && row.shape != shape_kind::packed) ||
                (field.offset && !holds(row, *field.offset, field.type)))
                return false;
        }
        return row.shape == shape_kind::none || has_sound_shape(row);
    }

    [[nodiscard]] bool has_sound_shape(const type_row& row) const {
        const auto& n = row.numbers;
        switch (row.shape) {
        case shape_kind::none:
            return true;
        case shape_kind::signed_number:
        case shape_kind::unsigned_number:
        case shape_kind::floating:
            return n.empty() && is_number(row, 16);
        case shape_kind::boolean:
        case shape_kind::character:
            return n.empty() && is_number(row, 1);
        case shape_kind::enumeration:
            return n.size() == row.labels.size() && is_number(row, 8) && has_part(row, 0) &&
                   rows_[row.parts[0].type].size == row.size;
        case shape_kind::members:
            return has_sound_bits(row);
        case shape_kind::same_as_part:
            return n.size() == 1 && has_part(row, n[0]) && holds(row, 0, row.parts[n[0]].type);
        case shape_kind::array:
            return n.size() == 1 && has_part(row, 0) &&
                   (n[0] == 0 || (size_of(row.parts[0].type) <= row.size / n[0] && n[0] <= row.size));
        case shape_kind::optional:
            return n.size() == 1 && has_part(row, 0) && lies_within(n[0], 1, row) && size_of(row.parts[0].type) <= n[0];
        case shape_kind::variant:
            return has_sound_alternatives(row);
        case shape_kind::text:
            return n.size() == 2 && has_two_apart(row, sizeof(std::uint64_t));
        case shape_kind::text_by_link:
        case shape_kind::serialised:
            return n.size() == 1 && lies_within(n[0], 24, row);
        case shape_kind::contiguous:
        case shape_kind::linked_block:
            return n.size() == 2 && has_two_apart(row, sizeof(std::uint64_t)) && has_part(row, 0);
        case shape_kind::deque:
            return n.size() == 3 && has_two_apart(row, 32) && n[2] != 0 && is_offset(n[2]) && has_part(row, 0);
        case shape_kind::ring:
            return n.size() == 2 && lies_within(n[0], 16, row) && is_offset(n[1]) && n[1] >= 16 && has_part(row, 0);
        case shape_kind::chain:
            return n.size() == 2 && has_word(row, n[0]) && is_offset(n[1]) && n[1] >= 8 && has_part(row, 0);
        case shape_kind::tree:
            return n.size() == 3 && lies_within(n[0], 40, row) && is_offset(n[1]) && n[1] >= 32 && has_element(row, 2);
        case shape_kind::hash_chain:
            return n.size() == 3 && lies_within(n[0], 16, row) && is_offset(n[1]) && n[1] >= 8 && has_element(row, 2);
        case shape_kind::btree:
            return has_sound_btree(row);
        case shape_kind::hash_table:
            return has_sound_table(row);
        case shape_kind::bits:
            return n.size() == 2 && has_two_apart(row, 12) && has_part(row, 0) &&
                   rows_[row.parts[0].type].shape == shape_kind::boolean;
        case shape_kind::packed:
            return has_sound_records(row);
        case shape_kind::packed_text:
            return n.size() == 1 && n[0] <= 1;
        case shape_kind::foreign:
            return has_sound_way(row);
        }
        return false;
    }

    [[nodiscard]] bool has_sound_alternatives(const type_row& row) const {
        const auto& n = row.numbers;
        return n.size() == 2 && n[1] == 1 && lies_within(n[0], n[1], row) && !row.parts.empty() &&
               std::all_of(row.parts.begin(), row.parts.end(),
                           [&](const type_part& part) { return size_of(part.type) <= n[0]; });
    }
    /// True if the first two numbers are offsets of places of this many bytes, which lie in the object and do not
    /// overlap.
    [[nodiscard]] bool has_two_apart(const type_row& row, std::uint64_t bytes) const {
        const auto& n = row.numbers;
        return lies_within(n[0], bytes, row) && lies_within(n[1], bytes, row) && lie_apart(n[0], n[1], bytes);
    }
    /// True if an element has one part, or two of which the second lies at the offset numbers[mapped].
    [[nodiscard]] bool has_element(const type_row& row, std::size_t mapped) const {
        return row.numbers[mapped] == 0 ? has_part(row, 0)
                                        : has_part(row, 1) && is_offset(row.numbers[mapped]) &&
                                              size_of(row.parts[0].type) <= row.numbers[mapped];
    }
    /// True if an element fits into its slot or, if the slot holds an address, the slot is as large as an address.
    [[nodiscard]] bool has_room(const type_row& row, std::size_t mapped, bool holds_element,
                                std::uint64_t slot_bytes) const {
        const std::uint64_t value_offset = row.numbers[mapped];
        const std::uint64_t last = size_of(row.parts[value_offset == 0 ? 0 : 1].type);
        return holds_element ? value_offset <= slot_bytes && last <= slot_bytes - value_offset
                             : slot_bytes == sizeof(std::uint64_t);
    }
    [[nodiscard]] bool has_sound_btree(const type_row& row) const {
        const auto& n = row.numbers;
        return n.size() == 6 && lies_within(0, 32, row) && n[0] != 0 && n[0] < 65536 && n[1] <= 1 && n[2] >= 16 &&
               is_offset(n[2]) && n[3] != 0 && is_offset(n[3]) && is_offset(n[4]) && n[4] >= n[2] &&
               (n[4] - n[2]) / n[3] >= n[0] && has_element(row, 5) && has_room(row, 5, n[1] == 1, n[3]);
    }
    [[nodiscard]] bool has_sound_table(const type_row& row) const {
        const auto& n = row.numbers;
        return n.size() == 4 && lies_within(0, 24, row) && n[0] != 0 && n[0] < k_object_bytes_max && n[1] <= 1 &&
               n[2] != 0 && n[2] <= 4096 && has_element(row, 3) && has_room(row, 3, n[1] == 1, n[0]);
    }
    [[nodiscard]] bool has_sound_records(const type_row& row) const {
        return row.numbers.size() == 1 && has_word(row, row.numbers[0]) && has_part(row, 0) &&
               holds(row, 0, row.parts[0].type) && has_leaves(rows_[row.parts[0].type]) && row.fields.size() == 2 &&
               is_text_of_record(row, 0) && is_text_of_record(row, 1);
    }

    /// True if the numbers are sound: the member, the first bit and the count of bits of each bit-field, in the order
    /// of members.
    [[nodiscard]] bool has_sound_bits(const type_row& row) const {
        const auto& n = row.numbers;
        if (n.size() % 3 != 0)
            return false;
        for (std::size_t i = 0; i != n.size(); i += 3) {
            if ((i != 0 && n[i] <= n[i - 3]) || n[i] >= row.fields.size() || row.fields[n[i]].offset)
                return false;
            const type_row& field = rows_[row.fields[n[i]].type];
            if (!types::is_number(field.shape) || field.size > sizeof(std::uint64_t) || n[i + 2] == 0 ||
                n[i + 2] > 8 * field.size || n[i + 1] > 8 * row.size || n[i + 2] > 8 * row.size - n[i + 1])
                return false;
        }
        return true;
    }
    /// True if the elements of this tree are leaves: blocks of bytes.
    [[nodiscard]] bool has_leaves(const type_row& tree) const {
        if (tree.shape != shape_kind::btree || tree.numbers.size() != 6 || tree.numbers[5] == 0 || !has_part(tree, 1))
            return false;
        const type_row& leaf = rows_[tree.parts[1].type];
        return leaf.shape == shape_kind::linked_block && has_part(leaf, 0) && size_of(leaf.parts[0].type) == 1;
    }
    [[nodiscard]] bool is_text_of_record(const type_row& row, std::size_t which) const {
        const type_row& text = rows_[row.fields[which].type];
        return text.shape == shape_kind::packed_text && text.numbers.size() == 1 && text.numbers[0] == which;
    }
    [[nodiscard]] bool has_sound_way(const type_row& row) const {
        using detail::foreign_way;
        const auto& n = row.numbers;
        const auto word_at = [&](std::size_t i) { return lies_within(n[i], sizeof(std::uint64_t), row); };
        const auto is_distance = [&](std::size_t i) { // a distance may be negative
            return n[i] < k_object_bytes_max || 0 - n[i] < k_object_bytes_max;
        };
        const auto has_elements = [&] {
            return n.back() == 0
                       ? has_part(row, 0)
                       : has_part(row, 1) && n.back() < k_object_bytes_max && size_of(row.parts[0].type) <= n.back();
        };
        const auto has_header = [&] {
            return n[1] == 0 ? word_at(2) : lies_within(n[1] - 1, 8, row) && is_distance(2);
        };
        if (n.empty())
            return false;
        switch (static_cast<foreign_way>(n[0])) {
        case foreign_way::run:
            return n.size() == 4 && word_at(1) && word_at(2) && has_elements();
        case foreign_way::blocks:
            return n.size() == 5 && lies_within(n[1], 32, row) && lies_within(n[2], 32, row) && n[3] != 0 &&
                   n[3] < k_object_bytes_max && has_elements();
        case foreign_way::pointers:
            return n.size() == 6 && word_at(1) && word_at(2) && is_distance(3) && is_distance(4) && has_elements();
        case foreign_way::ring:
            return n.size() == 6 && has_header() && is_distance(3) && is_distance(4) && has_elements();
        case foreign_way::tree:
            return n.size() == 7 && has_header() && is_distance(3) && is_distance(4) && is_distance(5) &&
                   has_elements();
        case foreign_way::buckets:
            return n.size() == 5 && word_at(1) && word_at(2) && is_distance(3) && has_elements();
        case foreign_way::text:
            return n.size() == 2 && lies_within(n[1], 24, row);
        }
        return false;
    }

    /// True if an object of this row is finite: it does not contain itself by value.
    bool is_finite(std::uint32_t index, unsigned depth) { // NOLINT(misc-no-recursion): bounded
        constexpr unsigned k_depth_max = 500;
        if (state_[index] == done)
            return true;
        if (state_[index] == under_way || depth > k_depth_max)
            return false;
        state_[index] = under_way;
        const type_row& row = rows_[index];
        const auto all = [&](const std::vector<type_part>& parts) {
            return std::all_of(parts.begin(), parts.end(),
                               [&](const type_part& part) { return is_finite(part.type, depth + 1); });
        };
        bool ends = true;
        if (row.kind == type_kind::members || row.kind == type_kind::array)
            ends = all(row.parts);
        ends = ends && all(row.fields);
        switch (row.shape) {
        case shape_kind::array:
        case shape_kind::optional:
        case shape_kind::variant:
        case shape_kind::same_as_part:
        case shape_kind::enumeration:
            ends = ends && all(row.parts);
            break;
        default:
            break;
        }
        state_[index] = done;
        return ends;
    }

    /// Returns the end of the words that every container or text of this shape has. Precondition: its shape is sound.
    static std::uint64_t end_of_words(const type_row& row) {
        constexpr std::uint64_t k_word = sizeof(std::uint64_t);
        const auto& n = row.numbers;
        switch (row.shape) {
        case shape_kind::text:
        case shape_kind::contiguous:
        case shape_kind::linked_block:
            return std::max(n[0], n[1]) + k_word;
        case shape_kind::text_by_link:
        case shape_kind::serialised:
            return n[0] + 3 * k_word;
        case shape_kind::deque:
            return std::max(n[0], n[1]) + 4 * k_word;
        case shape_kind::ring:
        case shape_kind::hash_chain:
            return n[0] + 2 * k_word;
        case shape_kind::chain:
            return n[0] + k_word;
        case shape_kind::tree:
            return n[0] + 5 * k_word;
        case shape_kind::btree:
            return 4 * k_word;
        case shape_kind::hash_table:
            return 3 * k_word;
        case shape_kind::bits:
            return std::max(n[0], n[1]) + k_word + sizeof(std::uint32_t);
        case shape_kind::packed:
            return n[0] + k_word;
        default:
            return 0;
        }
    }

    /// Returns how many bytes at the beginning of an object certainly belong to it. Other members may lie in the
    /// padding at its end, if it is a base or a member that is [[no_unique_address]]; and an empty class occupies no
    /// bytes. A class that is not larger than its alignment and hides its members may be empty.
    std::uint64_t taken_by(std::uint32_t index) { // NOLINT(misc-no-recursion): finite
        if (taken_[index])
            return *taken_[index];
        const type_row& row = rows_[index];
        const auto& n = row.numbers;
        const std::uint64_t alignment = std::max<std::uint64_t>(row.alignment, 1);
        std::uint64_t taken = row.size > alignment ? row.size - alignment + 1 : 0; // padding is less than the alignment
        const auto add_parts = [&](const std::vector<type_part>& parts) {          // NOLINT(misc-no-recursion)
            for (const type_part& part : parts) {
                if (part.offset)
                    taken = std::max(taken, *part.offset + taken_by(part.type));
            }
        };
        if (row.kind == type_kind::pointer || row.kind == type_kind::array) {
            taken = size_of(index);
        } else if (row.kind == type_kind::members) {
            add_parts(row.parts);
        } else {
            switch (row.shape) {
            case shape_kind::none:
                break;
            case shape_kind::signed_number:
            case shape_kind::unsigned_number:
            case shape_kind::floating:
            case shape_kind::boolean:
            case shape_kind::character:
            case shape_kind::enumeration:
                taken = row.size;
                break;
            case shape_kind::members:
                add_parts(row.fields);
                break;
            case shape_kind::same_as_part:
                taken = std::max(taken, taken_by(row.parts[n[0]].type));
                break;
            case shape_kind::array:
                taken = std::max(taken, n[0] * size_of(row.parts[0].type));
                break;
            case shape_kind::optional:
            case shape_kind::variant: // the flag or index lies behind the value
                taken = std::max(taken, n[0] + 1);
                break;
            default:
                taken = std::max(taken, end_of_words(row));
                break;
            }
        }
        taken_[index] = taken;
        return taken;
    }

    [[nodiscard]] bool has_numbers_only(std::uint32_t index) const { // NOLINT(misc-no-recursion): finite
        const type_row& row = rows_[index];
        const bool is_array = row.kind == type_kind::array || row.shape == shape_kind::array;
        return types::is_number(row.shape) || (is_array && has_numbers_only(row.parts[0].type));
    }

    /// Returns the alignment that the compiler gives to pointers and containers; 1 for anything else, and if it is not
    /// known.
    [[nodiscard]] std::uint64_t alignment_to_keep(std::uint32_t index) const {
        while (rows_[index].kind == type_kind::array)
            index = rows_[index].parts.front().type;
        const type_row& row = rows_[index];
        if (row.kind == type_kind::pointer)
            return sizeof(std::uint64_t);
        return has_numbers_only(index) ? 1 : std::max<std::uint64_t>(row.alignment, 1);
    }

    /// True if no two members overlap. A class with REM_REFLECT may name members of a union, if these are numbers.
    bool has_parts_apart(const type_row& row) {
        return (row.kind != type_kind::members || lie_apart(row.parts, false)) && lie_apart(row.fields, true);
    }
    bool lie_apart(const std::vector<type_part>& parts, bool may_have_unions) {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> places; // offset, row
        for (const type_part& part : parts) {
            if (!part.offset)
                continue;
            if (*part.offset % alignment_to_keep(part.type) != 0)
                return false;
            if (taken_by(part.type) != 0)
                places.emplace_back(*part.offset, part.type);
        }
        std::sort(places.begin(), places.end());
        std::uint64_t end = 0;
        std::uint64_t end_of_objects = 0; // the end of the objects that are not numbers
        for (const auto& [offset, row] : places) {
            const bool may_share = may_have_unions && has_numbers_only(row);
            if (offset < (may_share ? end_of_objects : end))
                return false;
            end = std::max(end, offset + taken_by(row));
            if (!may_share)
                end_of_objects = end;
        }
        return true;
    }

    const std::vector<type_row>& rows_;
    std::vector<state> state_;
    std::vector<std::optional<std::uint64_t>> taken_; // results of taken_by(), by row
};

} // namespace

bool is_utf8(std::string_view text) {
    for (;;) {
        text.remove_prefix(ascii_prefix(text));
        if (text.empty())
            return true;
        const std::size_t bytes = sequence_bytes(text);
        if (bytes == 0)
            return false;
        text.remove_prefix(bytes);
    }
}

bool is_sound_schema(const type_description& schema) { return soundness(schema).run(); }

} // namespace remanence::types
