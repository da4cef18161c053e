#include "objects/element_line.hpp"

#include "base/plain_text.hpp"
#include "base/real_text.hpp"
#include "inspect/object_text.hpp"
#include "objects/json_document.hpp"
#include "objects/pair_walk.hpp"
#include "types/number_shapes.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace remanence::objects {

using detail::shape_kind;
using types::type_part;
using types::type_row;

namespace {

bool is_whole(const type_row& row) {
    return (row.shape == shape_kind::signed_number || row.shape == shape_kind::unsigned_number) && row.size <= k_word;
}

/// Removes `literal` from the beginning of the text. Returns false if the text does not begin with it.
bool skip(std::string_view& text, std::string_view literal) {
    if (!text.starts_with(literal))
        return false;
    text.remove_prefix(literal.size());
    return true;
}

} // namespace

std::optional<element_line> element_line::of(const row_matching& rows, object_builder& builder, std::uint32_t from,
                                             std::uint32_t to, bool is_binary) {
    const type_row& was = rows.from().rows[from];
    const type_row& is = rows.to().rows[to];
    const bool are_containers = inspect::is_container(was) && inspect::is_container(is);
    const bool is_map = are_containers && inspect::is_map(was);
    if (!are_containers || is_map != inspect::is_map(is) || form_of(was) == form::packed || form_of(is) == form::packed)
        return {};
    const inspect::element_rows were = inspect::rows_of_elements(was);
    const inspect::element_rows are = inspect::rows_of_elements(is);
    element_line line(rows, builder, to, is_binary);
    line.begin(form::members, is_map ? 2 : 1);
    line.is_in_key_ = is_map || form_of(is) == form::set;
    if (is_map) {
        line.name("k");
        if (!line.add(were.key, are.key, 0))
            return {};
        line.separate(1);
        line.is_in_key_ = false;
    }
    line.name("v");
    if (!line.add(were.value, are.value, 0))
        return {};
    line.end(form::members);
    const bool is_hashed = is.shape == shape_kind::hash_chain || is.shape == shape_kind::hash_table;
    const auto cannot_hash = [](const leaf& each) { return each.is_in_key && each.what == kind::real; };
    if (is_hashed &&
        (line.function_ == key_function::own || std::any_of(line.leaves_.begin(), line.leaves_.end(), cannot_hash)))
        return {};
    return line;
}

void element_line::begin(form what, std::uint64_t count) {
    if (is_binary_)
        put_item_head(literal_, what == form::members ? cbor::k_object : cbor::k_list, count);
    else
        literal_ += what == form::members ? '{' : '[';
}

void element_line::separate(std::uint64_t index) {
    if (!is_binary_ && index != 0)
        literal_ += ',';
}

void element_line::name(std::string_view member) {
    if (is_binary_) {
        put_item_head(literal_, cbor::k_text, member.size());
        literal_ += member;
    } else {
        inspect::put_json_text(literal_, member);
        literal_ += ':';
    }
}

void element_line::end(form what) {
    if (!is_binary_)
        literal_ += what == form::members ? '}' : ']';
}

// NOLINTBEGIN(misc-no-recursion): bounded by k_parts_max

/// Appends what the line has for an object of these rows. Returns false if this class does not read it.
bool element_line::add(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
    const type_row& was = rows_->from().rows[from];
    const type_row& is = rows_->to().rows[to];
    if (++parts_ > k_parts_max || rows_->chain(from, to) != nullptr)
        return false;
    if (form_of_pair(*rows_, from, to) == form::same) {
        const auto [old_row, new_row] = unwrapped(*rows_, from, to);
        return add(old_row, new_row, at);
    }
    if (const auto what = kind_of(from, to)) {
        add_leaf(*what, to, at);
        return true;
    }
    if (form_of(was) != form_of(is) || inspect::has_vptr(is))
        return false;
    if (form_of(is) == form::members)
        return add_members(from, to, at);
    return form_of(is) == form::array && add_array(from, to, at);
}

/// Returns the kind of a leaf; nothing for other objects.
std::optional<element_line::kind> element_line::kind_of(std::uint32_t from, std::uint32_t to) const {
    const type_row& was = rows_->from().rows[from];
    const type_row& is = rows_->to().rows[to];
    if (is_character_array(rows_->from(), from) && is_character_array(rows_->to(), to))
        return kind::characters;
    if (form_of(was) == form::text && form_of(is) == form::text)
        return kind::text;
    if (is_whole(was) && is_whole(is))
        return kind::whole;
    if (was.shape != is.shape || was.size != is.size || is.size > k_word)
        return {};
    return is.shape == shape_kind::boolean    ? std::optional(kind::truth)
           : is.shape == shape_kind::floating ? std::optional(kind::real)
                                              : std::nullopt;
}

/// The two rows must have the same members, though not in the same order.
bool element_line::add_members(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
    const std::vector<type_part>& were = *members_of(rows_->from().rows[from]);
    const std::vector<type_part>& are = *members_of(rows_->to().rows[to]);
    const auto& origins = rows_->origins(from, to);
    if (were.size() != are.size())
        return false;
    begin(form::members, were.size());
    for (const type_part& each : were) {
        const auto found = std::find(origins.begin(), origins.end(), &each);
        if (!each.offset || found == origins.end())
            return false;
        const type_part& becomes = are[static_cast<std::size_t>(found - origins.begin())];
        separate(static_cast<std::uint64_t>(&each - were.data()));
        name(member_name(rows_->from(), each));
        if (!becomes.offset || !add(each.type, becomes.type, at + *becomes.offset))
            return false;
    }
    end(form::members);
    return true;
}

bool element_line::add_array(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
    const type_row& was = rows_->from().rows[from];
    const type_row& is = rows_->to().rows[to];
    if (extent_of(was) != extent_of(is))
        return false;
    const std::uint64_t bytes = builder_->size_of(is.parts[0].type);
    begin(form::array, extent_of(is));
    for (std::uint64_t i = 0; i != extent_of(is); ++i) {
        separate(i);
        if (!add(was.parts[0].type, is.parts[0].type, at + i * bytes))
            return false;
    }
    end(form::array);
    return true;
}

// NOLINTEND(misc-no-recursion)

void element_line::add_leaf(kind what, std::uint32_t to, std::uint64_t at) {
    const type_row& is = rows_->to().rows[to];
    const std::uint64_t size = what == kind::characters ? extent_of(is) : is.size;
    leaf made{what, is_in_key_, std::move(literal_), {to, at}, size, 0, 0};
    if (what == kind::whole) {
        const auto unused = static_cast<unsigned>(64 - 8 * is.size);
        const bool is_signed = types::is_signed(is.shape);
        made.least = is_signed ? std::uint64_t{1} << (63 - unused) : 0;
        made.greatest = std::numeric_limits<std::uint64_t>::max() >> (unused + (is_signed ? 1 : 0));
    }
    leaves_.push_back(std::move(made));
    literal_.clear();
}

bool element_line::parse(std::string_view line) {
    for (leaf& each : leaves_) {
        if (!skip(line, each.before) || !(is_binary_ ? parse_item(each, line) : parse_leaf(each, line)))
            return false;
    }
    return line == literal_;
}

bool element_line::parse_leaf(leaf& into, std::string_view& rest) {
    switch (into.what) {
    case kind::whole:
        return parse_whole(into, rest);
    case kind::real:
        return parse_real(into, rest);
    case kind::truth:
        into.bits = rest.starts_with('t') ? 1 : 0;
        return skip(rest, into.bits != 0 ? "true" : "false");
    case kind::text:
        return parse_text(into, rest);
    case kind::characters:
        return parse_text(into, rest) && into.text.size() <= into.size;
    }
    return false;
}

/// Takes a number, given by its absolute value. Returns false if it is out of range.
bool element_line::take_whole(leaf& into, std::uint64_t value, bool is_negative) {
    into.bits = is_negative ? 0 - value : value;
    return value <= (is_negative ? into.least : into.greatest);
}

bool element_line::parse_whole(leaf& into, std::string_view& rest) {
    constexpr std::size_t k_digits_max = 19; // so many digits do not overflow
    const bool is_negative = rest.starts_with('-');
    const std::string_view digits = rest.substr(is_negative ? 1 : 0);
    std::uint64_t value = 0;
    std::size_t count = 0;
    for (; count != digits.size() && digits[count] >= '0' && digits[count] <= '9' && count <= k_digits_max; ++count)
        value = 10 * value + static_cast<std::uint64_t>(digits[count] - '0');
    if (count == 0 || count > k_digits_max || (digits[0] == '0' && count != 1))
        return false;
    if (!take_whole(into, value, is_negative))
        return false;
    rest = digits.substr(count);
    return true;
}

bool element_line::parse_real(leaf& into, std::string_view& rest) {
    std::size_t end = 0;
    if (rest.empty() || fault_of_number(rest, end) != nullptr)
        return false;
    const auto read = [&](auto value) {
        const bool is_read = read_real(rest.substr(0, end), value);
        if constexpr (sizeof value == sizeof(float))
            into.bits = std::bit_cast<std::uint32_t>(value);
        else
            into.bits = std::bit_cast<std::uint64_t>(value);
        return is_read;
    };
    if (into.size == sizeof(float) ? !read(float{}) : !read(double{}))
        return false;
    rest.remove_prefix(end);
    return true;
}

bool element_line::parse_text(leaf& into, std::string_view& rest) {
    if (!skip(rest, "\""))
        return false;
    std::size_t end = plain_prefix(rest);
    const bool is_plain = end != rest.size() && rest[end] == '"';
    while (end != rest.size() && rest[end] != '"') {
        if (rest[end] == '\\' || static_cast<unsigned char>(rest[end]) < 0x20)
            return false;
        ++end;
        end += plain_prefix(rest.substr(end));
    }
    if (end == rest.size() || (!is_plain && !types::is_utf8(rest.substr(0, end))))
        return false;
    into.text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
}

bool element_line::parse_item(leaf& into, std::string_view& rest) {
    const auto item = take_item_head(rest);
    if (!item)
        return false;
    const bool is_simple = item->kind == cbor::k_simple;
    switch (into.what) {
    case kind::whole:
        if (item->kind == cbor::k_negative)
            return item->value < into.least && take_whole(into, item->value + 1, true);
        return item->kind == cbor::k_unsigned && take_whole(into, item->value, false);
    case kind::real: // one that is written in another size, or as a whole number, is read as JSON
        into.bits = item->value;
        if (into.size == sizeof(float))
            return is_simple && item->info == cbor::k_float &&
                   std::isfinite(std::bit_cast<float>(static_cast<std::uint32_t>(item->value)));
        if (is_simple && item->info == cbor::k_float)
            into.bits = std::bit_cast<std::uint64_t>(
                static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(item->value))));
        return is_simple && (item->info == cbor::k_float || item->info == cbor::k_double) &&
               std::isfinite(std::bit_cast<double>(into.bits));
    case kind::truth:
        into.bits = item->info == cbor::k_true ? 1 : 0;
        return is_simple && (item->info == cbor::k_true || item->info == cbor::k_false);
    case kind::text:
        return parse_item_text(into, rest, *item);
    case kind::characters:
        return parse_item_text(into, rest, *item) && into.text.size() <= into.size;
    }
    return false;
}

bool element_line::parse_item_text(leaf& into, std::string_view& rest, const item_head& item) {
    if (item.kind != cbor::k_text || item.value > rest.size())
        return false;
    into.text = rest.substr(0, item.value);
    rest.remove_prefix(item.value);
    return types::is_utf8(into.text);
}

std::uint64_t element_line::hash(std::uint64_t seed) const {
    for (const leaf& each : leaves_) {
        if (each.is_in_key)
            seed = each.what == kind::text ? hash_of_text(function_, each.text, seed)
                                           : hash_of_number(function_, each.bits, seed);
    }
    return seed;
}

result<void> element_line::put(const element_place& to) const {
    for (const leaf& each : leaves_) {
        const std::uint64_t at = (each.is_in_key && to.has_key ? to.key : to.value).at + each.to.at;
        if (each.what == kind::text)
            REM_TRY(builder_->put_text({each.to.row, at}, each.text));
        else if (each.what == kind::characters)
            static_cast<void>(builder_->put_characters({each.to.row, at}, each.text)); // fits, since it was parsed
        else
            builder_->put_bytes(at, reinterpret_cast<const std::byte*>(&each.bits), each.size); // little-endian
    }
    return {};
}

} // namespace remanence::objects
