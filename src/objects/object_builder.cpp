#include "objects/object_builder.hpp"

#include "base/units.hpp"
#include "inspect/object_text.hpp"
#include "objects/packed_filler.hpp"
#include "objects/shaped_filler.hpp"

#include <remanence/containers/detail/hash_bytes.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::uint64_t k_short_text_max = 15; // capacity of a std::string without a block
constexpr std::uint64_t k_short_link_max = 23; // capacity of a string_pi without a block
// The sizes in a schema are input. With this limit, products of sizes stay below 2^64.
constexpr std::uint64_t k_object_bytes_max = std::uint64_t{1} << 46;
constexpr std::uint64_t k_alignment_max = 4096;
constexpr std::uint64_t k_elements_max = std::uint64_t{1} << 32;
constexpr std::uint64_t k_element_bytes_max = std::uint64_t{1} << 27;
constexpr std::uint64_t k_offset_max = std::uint64_t{1} << 20; // the largest offset within a node, and the largest slot

/// True if elements are found by keys, in a set or map. False for packed containers.
bool has_keys(const type_row& row) { return form_of(row) == form::set || form_of(row) == form::map; }

/// Returns which part of a keyed container is its comparator or hash.
std::size_t part_of_function(const type_row& container) { return inspect::is_map(container) ? 2 : 1; }

/// True if the words of a text or container lie where begin() and put_text() write them (OB3). Returns nothing for
/// other objects.
std::optional<bool> has_words_as_here(const types::type_description& schema, const type_row& is) {
    const auto& n = is.numbers;
    switch (is.shape) {
    case shape_kind::text:
        return n[0] == k_word && n[1] == 2 * k_word && is.size == 5 * k_word;
    case shape_kind::text_by_link:
    case shape_kind::serialised:
        return n[0] == k_word && is.size == 4 * k_word;
    case shape_kind::contiguous:
    case shape_kind::linked_block:
        return n[0] == k_word && n[1] == 2 * k_word && is.size == 4 * k_word;
    case shape_kind::deque:
        return n[0] == 3 * k_word && n[1] == 7 * k_word && is.size == 11 * k_word;
    case shape_kind::ring:
        return n[0] == k_word && is.size == 4 * k_word;
    case shape_kind::chain:
        return n[0] == k_word && is.size == 2 * k_word;
    case shape_kind::tree:
        return n[0] == 2 * k_word && is.size == 7 * k_word;
    case shape_kind::hash_chain:
        return n[0] == 3 * k_word && is.size == 8 * k_word;
    case shape_kind::btree:
        return is.size == 5 * k_word;
    case shape_kind::hash_table:
        return is.size == 6 * k_word;
    case shape_kind::bits:
        return n[0] == k_word && n[1] == 3 * k_word && is.size == 6 * k_word;
    case shape_kind::packed:
        return is_packed_as_here(schema, is);
    default:
        return {};
    }
}

bool can_hash(const types::type_description& schema, std::uint32_t index) {
    const type_row& is = schema.rows[index];
    const bool is_long_double = is.shape == shape_kind::floating && is.size > k_word;
    return has_known_order(schema, index) && !is_long_double;
}

} // namespace

bool is_ordered(const type_row& container) {
    return container.shape == shape_kind::tree || container.shape == shape_kind::btree;
}

std::string names_of_key_functions(const types::type_description& schema, std::uint32_t index) {
    const type_row& is = schema.rows[index];
    const bool is_hashed = is.shape == shape_kind::hash_chain || is.shape == shape_kind::hash_table;
    if (!is_hashed && !is_ordered(is))
        return {};
    std::string all;
    const std::size_t first = part_of_function(is);
    for (std::size_t i = first; i != first + (is_hashed ? 2 : 1) && i < is.parts.size(); ++i) {
        std::string name = schema.name_of(is.parts[i].type);
        if (name.starts_with("std::") || name.starts_with("rem::"))
            name.resize(without_arguments(name).size());
        all.append(all.empty() ? "" : ", ").append(name);
    }
    return all;
}

key_function function_of_keys(const types::type_description& schema, std::uint32_t index) {
    const type_row& is = schema.rows[index];
    const std::size_t at_part = part_of_function(is);
    if (is.parts.size() <= at_part)
        return key_function::own;
    const std::string name = schema.name_of(is.parts[at_part].type);
    const std::uint32_t key = is.parts[0].type;
    if (is_ordered(is)) {
        if (!has_known_order(schema, key))
            return key_function::own;
        return name.starts_with("std::less<")      ? key_function::less
               : name.starts_with("std::greater<") ? key_function::greater
                                                   : key_function::own;
    }
    if (!can_hash(schema, key) || is.parts.size() <= at_part + 1 ||
        !schema.name_of(is.parts[at_part + 1].type).starts_with("std::equal_to<"))
        return key_function::own;
    if (is.shape == shape_kind::hash_table && name.starts_with("rem::seeded_hash<"))
        return key_function::seeded;
    const bool is_pair = schema.rows[key].shape == shape_kind::members; // std::hash does not exist for pairs
    if (is.shape == shape_kind::hash_chain && !is_pair &&
        (name.starts_with("rem::hash<") || name.starts_with("std::hash<")))
        return key_function::standard_hash;
    return key_function::own;
}

std::uint64_t hash_of_text(key_function function, std::string_view text, std::uint64_t seed) {
    return function == key_function::seeded ? detail::hash_bytes(text.data(), text.size(), seed)
                                            : std::hash<std::string_view>()(text);
}

std::uint64_t hash_of_number(key_function function, std::uint64_t bits, std::uint64_t seed) {
    return function == key_function::seeded ? detail::hash_number(bits, seed) : bits;
}

std::string_view fault_of_order(const detail::key_functions& by, bool has_several, const void* before,
                                const void* next) {
    const bool is_behind = has_several ? !by.less(next, before) : by.less(before, next);
    if (is_behind)
        return {};
    return has_several || by.less(next, before) ? "a key that does not come behind the one before it"
                                                : "a key that is there already";
}

object_builder::object_builder(txn::heap_memory& memory, const types::type_description& schema,
                               program_functions functions)
    : memory_(memory),
      schema_(schema),
      bytes_(memory),
      base_(reinterpret_cast<std::uintptr_t>(memory.base())),
      trusts_order_(functions.trusts_order),
      built_(bytes_, memory.path(), base_, memory.reserved_bytes(), schema) {
    for (const detail::key_functions& each : functions.known)
        known_.emplace(detail::readable_name(each.container->name()), &each);
}

void object_builder::put_word(std::uint64_t at_offset, std::uint64_t value) {
    std::memcpy(at(at_offset), &value, sizeof value);
}

std::uint64_t object_builder::word(std::uint64_t at_offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, at(at_offset), sizeof value);
    return value;
}

result<std::uint64_t> object_builder::allocate(std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes > k_object_bytes_max || alignment > k_alignment_max)
        return fail(errc::exhausted,
                    "an object of " + std::to_string(bytes) + " bytes does not fit into " + memory_.path());
    std::optional<unexpected> why;
    void* const block = memory_.allocate(bytes, alignment, why);
    if (block == nullptr)
        return std::move(*why);
    std::memset(block, 0, bytes);
    return memory_.offset_of(block);
}

result<std::uint64_t> object_builder::allocate_object(std::uint32_t index, std::uint64_t behind) {
    return allocate(std::max<std::uint64_t>(size_of(index), 1) + behind, alignment_of(schema_, index));
}

std::optional<std::uint64_t> object_builder::bits_for(std::uint32_t index, const scalar& value) const {
    const type_row& is = row(index);
    const shape_kind shape = is.shape == shape_kind::enumeration ? row(is.parts[0].type).shape : is.shape;
    if (value.what != scalar::form::whole || is.size > k_word)
        return {};
    const auto bits = static_cast<unsigned>(8 * is.size);
    const bool is_signed = shape == shape_kind::signed_number || shape == shape_kind::character;
    if (shape == shape_kind::boolean && (value.is_negative || value.bits > 1))
        return {};
    if (value.is_negative) {
        const auto number = static_cast<std::int64_t>(value.bits);
        if (!is_signed || number < std::numeric_limits<std::int64_t>::min() >> (64 - bits))
            return {};
        return value.bits;
    }
    const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max() >> (64 - bits + (is_signed ? 1 : 0));
    // A character is written as a signed number. If it was read as an unsigned one, its byte is the same.
    if (value.bits > largest)
        return {};
    return value.bits;
}

bool object_builder::put_number(object_place to, const scalar& value) {
    const type_row& is = row(to.row);
    if (is.shape == shape_kind::floating) {
        if (value.what == scalar::form::real && value.real_size == is.size) {
            put_bytes(to.at, value.real_bits.data(), inspect::real_bytes(is.size));
            return true;
        }
        const long double real = value.what == scalar::form::real ? value.real
                                 : value.is_negative ? static_cast<long double>(static_cast<std::int64_t>(value.bits))
                                                     : static_cast<long double>(value.bits);
        const auto put = [&]<class T>(T number) {
            if (std::isinf(number) && !std::isinf(real))
                return false;
            std::memcpy(at(to.at), &number, inspect::real_bytes(sizeof number));
            return true;
        };
        if (is.size == sizeof(float))
            return put(static_cast<float>(real));
        return is.size == sizeof(double) ? put(static_cast<double>(real)) : is.size == sizeof(long double) && put(real);
    }
    if (is.size > k_word) {
        if (value.what != scalar::form::bytes || value.bytes.size() != is.size)
            return false;
        std::memcpy(at(to.at), value.bytes.data(), is.size);
        return true;
    }
    const auto bits = bits_for(to.row, value);
    if (!bits)
        return false;
    std::memcpy(at(to.at), &*bits, is.size); // little-endian
    return true;
}

bool object_builder::put_characters(object_place to, std::string_view text) {
    if (text.size() > extent_of(row(to.row)))
        return false;
    std::memcpy(at(to.at), text.data(), text.size());
    return true;
}

std::uint64_t object_builder::block_of_text(const type_row& is, std::uint64_t bytes) {
    if (is.shape == shape_kind::text)
        return bytes > k_short_text_max ? bytes + 1 : 0;
    return bytes > k_short_link_max ? (bytes | 7U) + 1 : 0;
}

result<void> object_builder::put_text(object_place to, std::string_view text) {
    const type_row& is = row(to.row);
    const auto& n = is.numbers;
    if (is.shape == shape_kind::packed_text) {
        texts_of_record_[n[0]] = text;
        return {};
    }
    if (is.shape == shape_kind::text) {
        put_word(to.at, base_);
        const std::uint64_t buffer = to.at + n[1] + k_word;
        std::uint64_t place = buffer;
        if (const std::uint64_t bytes = block_of_text(is, text.size())) {
            auto block = allocate(bytes, 1);
            if (!block)
                return block.error();
            place = *block;
            put_word(buffer, text.size()); // the buffer's capacity
        }
        put_word(to.at + n[0], base_ + place);
        put_word(to.at + n[1], text.size());
        if (!text.empty()) // the address of an empty text may be null
            std::memcpy(at(place), text.data(), text.size());
        return {};
    }
    const std::uint64_t place = to.at + n[0];
    put_link(place - k_word, 0);
    put_word(place - k_word, 0 - (place - k_word)); // the allocator: its distance to the heap's header
    const std::uint64_t bytes = block_of_text(is, text.size());
    if (bytes == 0) {
        std::memcpy(at(place), text.data(), text.size());
        at(place + k_short_link_max)[0] = static_cast<std::byte>(k_short_link_max - text.size());
        return {};
    }
    auto block = allocate(bytes, 1);
    if (!block)
        return block.error();
    std::memcpy(at(*block), text.data(), text.size());
    put_link(place, *block);
    put_word(place + k_word, text.size());
    put_word(place + 2 * k_word, (bytes - 1) | std::uint64_t{1} << 63);
    return {};
}

object_builder::layout object_builder::element_of(const type_row& container, std::uint64_t mapped) {
    const std::uint32_t key = container.parts[0].type;
    if (mapped == 0)
        return {size_of(key), alignment_of(schema_, key)};
    const std::uint32_t value = container.parts[1].type;
    const std::uint64_t alignment = std::max(alignment_of(schema_, key), alignment_of(schema_, value));
    return {align_up(mapped + size_of(value), alignment), alignment};
}

element_place object_builder::element_at(const type_row& container, std::uint64_t place, std::uint64_t mapped) const {
    if (mapped == 0)
        return {.value = {container.parts[0].type, place}, .has_key = false, .key = {}};
    return {
        .value = {container.parts[1].type, place + mapped}, .has_key = true, .key = {container.parts[0].type, place}};
}

key_function object_builder::function_of(std::uint32_t index) const {
    auto [known, is_new] = functions_.try_emplace(index);
    if (is_new)
        known->second = function_of_keys(schema_, index);
    return known->second;
}

const detail::key_functions* object_builder::functions_of(std::uint32_t index) const {
    if (function_of(index) != key_function::own)
        return nullptr;
    const auto found = known_.find(schema_.name_of(index));
    return found == known_.end() ? nullptr : found->second;
}

bool object_builder::has_pointers_in_keys(std::uint32_t index) const {
    std::vector<std::uint32_t> rows{row(index).parts[0].type};
    for (std::size_t i = 0; i != rows.size(); ++i) { // `rows` grows in this loop
        const type_row& each = row(rows[i]);
        if (each.kind == types::type_kind::pointer)
            return true;
        for (const auto* parts : {&each.parts, &each.fields}) {
            for (const type_part& part : *parts) {
                if (std::find(rows.begin(), rows.end(), part.type) == rows.end())
                    rows.push_back(part.type);
            }
        }
    }
    return false;
}

std::optional<std::string> object_builder::why_not(std::uint32_t index) const {
    const type_row& is = row(index);
    const std::string name = schema_.name_of(index);
    const auto is_known = has_words_as_here(schema_, is);
    if (!is_known)
        return {};
    if (!*is_known || is.alignment != k_word)
        return "a " + name + " has a comparator, hash or allocator of the program's, which is not known here";
    if (!has_keys(is) || function_of(index) != key_function::own)
        return {};
    const bool is_function_known = functions_of(index) != nullptr;
    if (is_ordered(is)) {
        if (trusts_order_ || is_function_known)
            return {};
        return "the order of a " + name +
               " is made by a function of the program's. A program that has this type loads it, by rem::load()";
    }
    if (!is_function_known)
        return "the places of elements of a " + name +
               " are made by a function of the program's. A program that has this type loads a dump of it, by "
               "rem::load()";
    if (has_pointers_in_keys(index))
        return "the places of elements of a " + name +
               " are made by a function of the program's, of keys with pointers, which lead nowhere before all "
               "objects are made";
    return {};
}

result<std::unique_ptr<container_filler>> object_builder::begin(object_place container, std::uint64_t count) {
    const type_row& is = row(container.row);
    const auto fits = [&](const type_part& part) { return size_of(part.type) <= k_element_bytes_max; };
    const auto is_small = [](std::uint64_t number) { return number <= k_offset_max; };
    if (count > k_elements_max || !std::all_of(is.parts.begin(), is.parts.end(), fits) ||
        !std::all_of(is.numbers.begin(), is.numbers.end(), is_small))
        return fail(errc::exhausted, "a " + schema_.name_of(container.row) + " of " + std::to_string(count) +
                                         " elements does not fit into " + memory_.path());
    if (is.shape == shape_kind::packed)
        return make_packed_filler(*this, container, count);
    if (!has_keys(is))
        return make_sequence_filler(*this, container, count);
    return is_ordered(is) ? make_ordered_filler(*this, container, count) : make_hash_filler(*this, container, count);
}

} // namespace remanence::objects
