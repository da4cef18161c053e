// Objects that are read so that others can be made from them. They lie in the memory of a heap, or in a line of the
// portable form. Each object has a row of a schema; the meaning of `at` depends on the source.
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
/// In the text of an object, the name of the member that contains the bytes outside of all members.
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
    bool is_negative = false; // of a whole number
    std::uint64_t bits = 0;   // of a whole number, as two's complement
    long double real = 0;     // of a real number
    // The bytes and size of the original real number, so that a target of the same size gets every bit of a NaN.
    std::array<std::byte, sizeof(long double)> real_bits = {};
    std::size_t real_size = 0;
    std::string_view bytes = {}; // the bytes of a number of more than 8 bytes
    std::string_view label = {}; // name of an enumeration's value, if it has one

    /// Reads a float, a double or a long double from its bytes. Returns false if `size` is that of none of them.
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
    /// Returns a text, a serialised object, or an array of characters without zeros at its end. Valid until the next
    /// call.
    virtual result<std::string_view> text(object_place of) = 0;
    /// Returns the value of an optional or a variant; nothing if it is empty.
    virtual result<std::optional<held_place>> held(object_place of) = 0;
    /// Returns the number of elements of a container or an array.
    virtual result<std::uint64_t> count(object_place of) = 0;
    using visit_element = inspect::object_reader::visit_element;
    virtual result<void> for_each_element(object_place of, const visit_element& visit) = 0;
    /// Returns the place of one of row.parts or row.fields; nothing for a bit-field that the object does not have.
    virtual result<std::optional<object_place>> member(object_place of, const types::type_part& part) = 0;
    /// Returns the object's bytes if the object lies in memory; else null.
    virtual result<const std::byte*> bytes(object_place /*of*/) { return nullptr; }
    /// Returns the bytes of an object whose class hides its members, if it is written as bytes. Valid until the next
    /// call.
    virtual result<std::string_view> hidden(object_place of) = 0;
    /// Returns the bytes outside of all members (object_reader::rest()), up to offset `room`; empty if all are 0. Valid
    /// until the next call.
    virtual result<std::string_view> rest(object_place of, std::uint64_t room) = 0;
    /// Fails if the object has a member that its row lacks.
    virtual result<void> check_members(object_place /*of*/) { return {}; }
    virtual result<bool> is_null(object_place pointer) = 0;

    /// If the source consists of lines, returns the beginning of a message that names the line.
    [[nodiscard]] virtual std::string line() const { return {}; }
    /// Returns the error for an object that cannot be used: errc::corrupt in a heap, errc::invalid_argument in a text.
    [[nodiscard]] virtual unexpected damaged(object_place of, const std::string& what) const = 0;
    /// Returns errc::not_supported, for an object that is nested more than k_depth_max levels deep.
    [[nodiscard]] virtual unexpected too_deep(object_place of) const = 0;

private:
    const types::type_description& schema_;
};

class class_rows;

/// Reads objects from the memory of a heap.
class heap_source final : public object_source {
public:
    /// All arguments must outlive this object.
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
    /// From now on, objects with virtual functions are found by pointers to their bases. `by` must outlive this object.
    void know_classes(const class_rows& by) { classes_ = &by; }
    /// Returns null if know_classes() was not called.
    [[nodiscard]] const class_rows* classes() const { return classes_; }

private:
    inspect::object_reader reader_;
    const class_rows* classes_ = nullptr;
};

/// Returns a template's name without arguments: "std::vector" for "std::vector<int>". Returns other names unchanged.
[[nodiscard]] inline std::string_view without_arguments(std::string_view name) {
    return name.substr(0, name.find('<'));
}
/// True if the order of keys of this row is known here, because it is that of std::less.
[[nodiscard]] bool has_known_order(const types::type_description& schema, std::uint32_t row);
/// Compares two keys: returns a negative number, 0, or a positive one. Returns nothing if they cannot be compared (a
/// NaN). Precondition: has_known_order().
result<std::optional<int>> compare(object_source& source, object_place a, object_place b);

} // namespace remanence::objects
