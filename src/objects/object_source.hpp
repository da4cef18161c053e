// Objects to be made anew, wherever they are read from: the memory of a heap, or a line of the portable form. Each has a row of a schema;
// what `at` means is the source's own business.
#pragma once

#include "base/result.hpp"
#include "inspect/object_reader.hpp"
#include "types/type_description.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::objects {

inline constexpr std::uint64_t k_word = 8; // bytes of an address
/// The member of an object's text that has the bytes in which no member lies.
inline constexpr std::string_view k_rest = "$rest";

using inspect::alignment_of;
using inspect::element_place;
using inspect::extent_of;
using inspect::form;
using inspect::form_of;
using inspect::held_place;
using inspect::is_character_array;
using inspect::member_name;
using inspect::members_of;
using inspect::object_place;

/// The value of a number, an enumeration, a character or a bool.
struct scalar {
    enum class form : std::uint8_t { whole, real, bytes };
    form what = form::whole;
    bool is_negative = false; // whole
    std::uint64_t bits = 0;   // whole, as two's complement
    long double real = 0;     // real
    // real: what the number itself looks like, and its size, so that one of the same size has every bit of a NaN.
    std::array<std::byte, sizeof(long double)> real_bits = {};
    std::size_t real_size = 0;
    std::string_view bytes = {}; // of numbers of more than 8 bytes
    std::string_view label = {}; // of an enumeration, if it has one

    /// Takes a float, a double or a long double from its bytes. False: it has another size than these.
    [[nodiscard]] bool take_real(const std::byte* from, std::uint64_t size);
};

class object_source {
public:
    explicit object_source(const types::type_description& schema) : schema_(schema) {}
    object_source(const object_source&) = delete;
    object_source& operator=(const object_source&) = delete;
    virtual ~object_source() = default;

    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }

    virtual result<scalar> number(object_place of) = 0;
    /// Of a text, of an array of characters (without zeros at its end), and what is serialised. Valid until the next call.
    virtual result<std::string_view> text(object_place of) = 0;
    /// What an optional or a variant holds; nothing when it is empty.
    virtual result<std::optional<held_place>> held(object_place of) = 0;
    /// Of a container or an array.
    virtual result<std::uint64_t> count(object_place of) = 0;
    using visit_element = inspect::object_reader::visit_element;
    virtual result<void> for_each_element(object_place of, const visit_element& visit) = 0;
    /// One of row.parts or row.fields; nothing when the object does not have it (bit-fields).
    virtual result<std::optional<object_place>> member(object_place of, const types::type_part& part) = 0;
    /// The object itself, if it lies in memory; null: it does not.
    virtual result<const std::byte*> bytes(object_place /*of*/) { return nullptr; }
    /// Of a class that hides its members, if it is told by its bytes. Valid until the next call.
    virtual result<std::string_view> hidden(object_place of) = 0;
    /// What lies where no member is (object_reader::rest()), which has the bytes up to `room`. Likewise; empty: they are all 0.
    virtual result<std::string_view> rest(object_place of, std::uint64_t room) = 0;
    /// Fails when an object has what its row does not have.
    virtual result<void> check_members(object_place /*of*/) { return {}; }
    virtual result<bool> is_null(object_place pointer) = 0;

    /// What a message about an object begins with, if its text is known by lines.
    [[nodiscard]] virtual std::string line() const { return {}; }
    /// Of an object that cannot be used: errc::corrupt of a heap, errc::invalid_argument of a text.
    [[nodiscard]] virtual unexpected damaged(object_place of, const std::string& what) const = 0;
    /// errc::not_supported, of an object that lies more than k_depth_max levels deep in others.
    [[nodiscard]] virtual unexpected too_deep(object_place of) const = 0;

private:
    const types::type_description& schema_;
};

/// The memory of a heap.
class heap_source final : public object_source {
public:
    /// All must outlive it.
    heap_source(types::heap_bytes& heap, const std::string& path, std::uint64_t base, std::uint64_t bytes,
                const types::type_description& schema)
        : object_source(schema), reader_(heap, path, base, bytes, schema) {}

    result<scalar> number(object_place of) override;
    result<std::string_view> text(object_place of) override;
    result<std::optional<held_place>> held(object_place of) override { return reader_.held(of); }
    result<std::uint64_t> count(object_place of) override { return reader_.count(of); }
    result<void> for_each_element(object_place of, const visit_element& visit) override {
        return reader_.for_each_element(of, visit);
    }
    result<std::optional<object_place>> member(object_place of, const types::type_part& part) override {
        return part.offset ? std::optional(object_place{part.type, of.at + *part.offset}) : std::nullopt;
    }
    result<const std::byte*> bytes(object_place of) override { return reader_.bytes(of.at, row(of.row).size); }
    result<std::string_view> hidden(object_place of) override;
    result<std::string_view> rest(object_place of, std::uint64_t room) override { return reader_.rest(of, room); }
    result<bool> is_null(object_place pointer) override;
    [[nodiscard]] unexpected damaged(object_place of, const std::string& what) const override {
        return reader_.damaged(of, what);
    }
    [[nodiscard]] unexpected too_deep(object_place of) const override { return reader_.too_deep(of); }
    [[nodiscard]] inspect::object_reader& reader() { return reader_; }

private:
    inspect::object_reader reader_;
};

/// The name of a template without its arguments: "std::vector" of "std::vector<int>". Other names as they are.
[[nodiscard]] inline std::string_view without_arguments(std::string_view name) {
    return name.substr(0, name.find('<'));
}
/// True if keys of this row have an order that is known here, that of std::less.
[[nodiscard]] bool has_known_order(const types::type_description& schema, std::uint32_t row);
/// Less than 0, 0, or more. Precondition: has_known_order(). Nothing: they cannot be compared (a number that is none).
result<std::optional<int>> compare(object_source& source, object_place a, object_place b);

} // namespace remanence::objects
