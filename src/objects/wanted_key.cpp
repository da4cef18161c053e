#include "objects/wanted_key.hpp"

#include "inspect/row_forms.hpp"

#include <remanence/containers/detail/hash_bytes.hpp>

#include <bit>
#include <cmath>
#include <functional>
#include <string>

namespace remanence::objects {

using detail::shape_kind;
using inspect::form;
using types::type_row;

namespace {

key_function function_of(const types::type_description& schema, std::uint32_t container) {
    return schema.rows[container].shape == shape_kind::packed ? key_function::less
                                                              : function_of_keys(schema, container);
}

template <class T>
std::optional<int> order_of(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}

/// Converts a real number to a whole one of the same value; nothing if there is none.
std::optional<inspect::whole_or_real> as_whole(long double real) {
    constexpr long double k_end = 0x1p64L;
    if (!(real >= -k_end / 2 && real < k_end) || real != std::floor(real)) // also a NaN
        return {};
    if (real < 0)
        return inspect::whole_or_real{
            .is_negative = true, .bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(real)), .real = 0};
    return inspect::whole_or_real{.is_negative = false, .bits = static_cast<std::uint64_t>(real), .real = 0};
}

} // namespace

key_of_container::key_of_container(inspect::object_reader& reader, std::uint32_t container)
    : reader_(&reader),
      container_(container),
      key_(inspect::rows_of_elements(reader.row(container)).key),
      function_(function_of(reader.schema(), container)) {
    key_ = resolved({key_, 0}).row;
}

result<key_of_container> key_of_container::make(inspect::object_reader& reader, std::uint32_t row,
                                                const stated_key& key) {
    key_of_container made(reader, row);
    if (auto taken = made.take(key); !taken)
        return taken.error();
    return made;
}

result<void> key_of_container::take(const stated_key& key) {
    const type_row& row = reader_->row(key_);
    number_ = key.number;
    if (inspect::is_text(row) || inspect::is_character_array(reader_->schema(), key_)) {
        if (!key.text)
            return wrong_kind("texts");
        is_text_ = true;
        text_ = *key.text;
        return {};
    }
    if (row.kind == types::type_kind::pointer || inspect::form_of(row) != form::number ||
        (row.size > sizeof(std::uint64_t) && row.shape != shape_kind::floating))
        return wrong_kind("values that cannot be searched for");
    if (row.shape == shape_kind::floating) {
        if (key.text)
            return wrong_kind("numbers");
        if (!number_.is_real)
            number_.real = number_.is_negative ? static_cast<long double>(static_cast<std::int64_t>(number_.bits))
                                               : static_cast<long double>(number_.bits);
        number_.is_real = true;
        return {};
    }
    if (key.text) {
        if (row.shape == shape_kind::character && key.text->size() == 1) {
            const auto value = inspect::signed_at(reinterpret_cast<const std::byte*>(key.text->data()), 1);
            number_ = {.is_negative = value < 0, .bits = static_cast<std::uint64_t>(value), .real = 0};
            return {};
        }
        for (std::size_t i = 0; row.shape == shape_kind::enumeration && i != row.labels.size(); ++i) {
            if (row.labels[i] != *key.text)
                continue;
            const bool has_sign = inspect::is_signed(reader_->schema(), key_);
            number_ = {.is_negative = has_sign && static_cast<std::int64_t>(row.numbers[i]) < 0,
                       .bits = row.numbers[i],
                       .real = 0};
            return {};
        }
        return wrong_kind(row.shape == shape_kind::enumeration ? "enumerators, of which none has this name"
                          : row.shape == shape_kind::character ? "single characters"
                                                               : "numbers");
    }
    if (number_.is_real) {
        const auto whole = as_whole(number_.real);
        if (!whole)
            return wrong_kind("whole numbers");
        number_ = *whole;
    }
    return {};
}

unexpected key_of_container::wrong_kind(std::string_view keys) const {
    return fail(errc::invalid_argument, "the keys of a " + reader_->schema().name_of(container_) + " are " +
                                            std::string(keys) + ": they are of type " +
                                            reader_->schema().name_of(key_) + ". Give such a key.");
}

bool key_of_container::has_known_order() const {
    return function_ == key_function::less || function_ == key_function::greater;
}

bool key_of_container::has_known_hash() const {
    return function_ == key_function::seeded || function_ == key_function::standard_hash;
}

object_place key_of_container::resolved(object_place key) const {
    while (inspect::form_of(reader_->row(key.row)) == form::same) // ends, because no object contains itself
        key.row = reader_->row(key.row).parts[reader_->row(key.row).numbers[0]].type;
    return key;
}

result<std::string_view> key_of_container::text_of(object_place key) const {
    const type_row& row = reader_->row(key.row);
    if (inspect::is_text(row))
        return reader_->text(key);
    auto bytes = reader_->bytes(key.at, inspect::extent_of(row));
    if (!bytes)
        return bytes.error();
    const std::string_view text(reinterpret_cast<const char*>(*bytes), inspect::extent_of(row));
    return text.substr(0, text.find_last_not_of('\0') + 1); // if all are 0, npos + 1 is 0
}

result<std::optional<int>> key_of_container::order(object_place key) const {
    const object_place place = resolved(key);
    if (is_text_) {
        auto text = text_of(place);
        return text ? result<std::optional<int>>(order_of(*text, text_)) : text.error();
    }
    auto number = inspect::number_of(*reader_, place);
    if (!number)
        return number.error();
    if (number->is_real)
        return std::isnan(number->real) || std::isnan(number_.real) ? std::optional<int>()
                                                                    : order_of(number->real, number_.real);
    if (number->is_negative != number_.is_negative)
        return std::optional(number->is_negative ? -1 : 1);
    return order_of(number->bits, number_.bits); // right for two negative numbers, too
}

result<bool> key_of_container::is_before(object_place key) const {
    auto found = order(key);
    if (!found)
        return found.error();
    return *found && (function_ == key_function::greater ? **found > 0 : **found < 0);
}

result<bool> key_of_container::is_equal(object_place key) const {
    auto found = order(key);
    return found ? result<bool>(*found && **found == 0) : found.error();
}

std::uint64_t key_of_container::hash_of_number(const whole_or_real& number, std::uint64_t seed) const {
    if (!number.is_real)
        return objects::hash_of_number(function_, number.bits, seed);
    const bool is_float = reader_->row(key_).size == sizeof(float);
    if (function_ != key_function::seeded)
        return is_float ? std::hash<float>()(static_cast<float>(number.real))
                        : std::hash<double>()(static_cast<double>(number.real));
    const double hashed = number.real == 0 ? 0.0
                          : is_float       ? static_cast<double>(static_cast<float>(number.real))
                                           : static_cast<double>(number.real);
    return detail::hash_number(std::bit_cast<std::uint64_t>(hashed), seed);
}

std::uint64_t key_of_container::hash(std::uint64_t seed) const {
    return is_text_ ? hash_of_text(function_, text_, seed) : hash_of_number(number_, seed);
}

result<std::uint64_t> key_of_container::hash_of(object_place key) const {
    const object_place place = resolved(key);
    if (is_text_) {
        auto text = text_of(place);
        return text ? result<std::uint64_t>(hash_of_text(function_, *text, 0)) : text.error();
    }
    auto number = inspect::number_of(*reader_, place);
    return number ? result<std::uint64_t>(hash_of_number(*number, 0)) : number.error();
}

} // namespace remanence::objects
