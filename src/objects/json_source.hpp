// Reads objects from a line of the portable form (docs/reference/dump.md). Here `at` of a place is the index of a part
// in the parsed line.
#pragma once

#include "objects/json_document.hpp"
#include "objects/object_source.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace remanence::objects {

/// Decodes the digits of {"$bytes":"hex"}; returns nothing if they are malformed.
std::optional<std::string> bytes_of_hex(std::string_view hex);

/// Returns the parts of an element whose line was parsed; nothing if the line is not an element of a container of this
/// row.
std::optional<element_place> element_in(const json_document& line, const types::type_row& container);

class json_source final : public object_source {
public:
    /// `line` is the line's number, for messages. All arguments must outlive this object.
    json_source(const json_document& document, const types::type_description& schema, const std::uint64_t& line)
        : object_source(schema), document_(document), line_(line) {}

    result<scalar> number(object_place of) override;
    result<std::string_view> text(object_place of) override;
    result<std::optional<held_place>> held(object_place of) override;
    result<std::uint64_t> count(object_place of) override;
    result<void> for_each_element(object_place of, const visit_element& visit) override;
    result<std::optional<object_place>> member(object_place of, const types::type_part& part) override;
    result<std::string_view> hidden(object_place of) override;
    result<std::string_view> rest(object_place of, std::uint64_t room) override;
    result<void> check_members(object_place of) override;
    result<bool> is_null(object_place pointer) override;
    [[nodiscard]] unexpected damaged(object_place of, const std::string& what) const override;
    [[nodiscard]] unexpected too_deep(object_place of) const override;
    [[nodiscard]] std::string line() const override { return "line " + std::to_string(line_) + ": "; }
    /// Returns the list of a {"$ref":[...]}.
    result<std::uint32_t> reference(object_place pointer) const;
    [[nodiscard]] const json_document& document() const { return document_; }

private:
    [[nodiscard]] const json_part& part(object_place of) const {
        return document_.at(static_cast<std::uint32_t>(of.at));
    }
    /// True if the members have this order, as they do in a dump of an object without bases.
    [[nodiscard]] bool has_these_in_order(object_place of, const std::vector<types::type_part>& members) const;
    result<scalar> real(object_place of);
    template <class T>
    result<scalar> real_of(object_place of);
    result<std::uint64_t> bit_field(object_place of, const types::type_part& member, unsigned bits);
    result<std::string_view> hex_of(object_place of, std::string_view name);
    /// True if an object of this row may have "$rest".
    [[nodiscard]] bool may_have_rest(std::uint32_t row_index) const;
    [[nodiscard]] unexpected is_not(object_place of, std::string_view wanted) const;

    const json_document& document_;
    const std::uint64_t& line_;
    std::string decoded_;
    struct {
        std::uint64_t line = 0;
        std::uint32_t object = 0;
        std::uint32_t next = 0; // index behind the member that was found last, since members usually come in order
    } found_;
};

} // namespace remanence::objects
