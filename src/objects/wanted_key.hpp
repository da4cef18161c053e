// A key that a caller states, in the form in which a container keeps its keys.
#pragma once

#include "base/result.hpp"
#include "inspect/element_cursor.hpp"
#include "inspect/object_number.hpp"
#include "objects/object_builder.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace remanence::objects {

/// A key as a caller states it.
struct stated_key {
    inspect::whole_or_real number = {};
    std::optional<std::string_view> text = {}; // if the key is not a number
};

class key_of_container final : public inspect::wanted_key {
public:
    /// `row` must be that of a set or a map. errc::invalid_argument if its keys are no such values.
    static result<key_of_container> make(inspect::object_reader& reader, std::uint32_t row, const stated_key& key);

    /// True if the library knows the order or the hash by which the container places its keys.
    [[nodiscard]] bool has_known_order() const;
    [[nodiscard]] bool has_known_hash() const;

    result<bool> is_before(object_place key) const override;
    result<bool> is_equal(object_place key) const override;
    [[nodiscard]] std::uint64_t hash(std::uint64_t seed) const override;
    result<std::uint64_t> hash_of(object_place key) const override;

private:
    using whole_or_real = inspect::whole_or_real;
    key_of_container(inspect::object_reader& reader, std::uint32_t container);
    result<void> take(const stated_key& key);
    [[nodiscard]] unexpected wrong_kind(std::string_view keys) const;
    [[nodiscard]] object_place resolved(object_place key) const;
    result<std::string_view> text_of(object_place key) const;
    [[nodiscard]] std::uint64_t hash_of_number(const whole_or_real& number, std::uint64_t seed) const;
    /// Compares an element's key with this one. Returns nothing if they cannot be compared (a NaN).
    result<std::optional<int>> order(object_place key) const;

    inspect::object_reader* reader_;
    std::uint32_t container_;
    std::uint32_t key_; // the row of keys
    key_function function_;
    bool is_text_ = false;
    std::string_view text_ = {};
    whole_or_real number_ = {};
};

} // namespace remanence::objects
