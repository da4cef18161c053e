#include "inspect/hidden_parts.hpp"

#include "inspect/row_forms.hpp"

namespace remanence::inspect {

using types::type_description;
using types::type_kind;
using types::type_row;

namespace {

class search {
public:
    explicit search(const type_description& schema) : schema_(schema), seen_(schema.rows.size(), false) {}

    // NOLINTNEXTLINE(misc-no-recursion): each row once
    void look_at(std::uint32_t index, const std::string& way) {
        if (seen_[index])
            return;
        seen_[index] = true;
        const type_row& row = schema_.rows[index];
        if (is_foreign(row) || (form_of(row) == form::hidden && !is_told_by_bytes(row)))
            return hidden(index, way);
        for (const row_part& each : parts_of(row)) {
            // Skips pointers to types without a description, since such pointers may be null. Also skips bit-fields
            // (they have no offset), which are always numbers.
            const bool leads_nowhere =
                each.role == part_role::pointee && schema_.rows[each.row].kind == type_kind::plain;
            if (!leads_nowhere && (each.member == nullptr || each.member->offset))
                look_at(each.row, way + step_to(each));
        }
    }
    [[nodiscard]] std::vector<std::string> found() && { return std::move(found_); }

private:
    [[nodiscard]] std::string step_to(const row_part& part) const {
        switch (part.role) {
        case part_role::pointee:
            return "->";
        case part_role::member:
            return '.' + member_name(schema_, *part.member);
        case part_role::key:
            return "[] (a key)";
        case part_role::element:
            return "[]";
        case part_role::same:
        case part_role::held:
            break;
        }
        return {};
    }
    void hidden(std::uint32_t index, const std::string& way) {
        const type_row& row = schema_.rows[index];
        found_.push_back(way + " is a " + schema_.name_of(index) +
                         (is_foreign(row)                 ? ", which only a program with its library makes"
                          : row.kind == type_kind::object ? ", which does not say its members (REM_REFLECT)"
                                                          : ""));
    }

    const type_description& schema_;
    std::vector<bool> seen_;
    std::vector<std::string> found_;
};

} // namespace

std::vector<std::string> hidden_parts(const type_description& schema, const std::string& root) {
    search all(schema);
    all.look_at(schema.root, root);
    return std::move(all).found();
}

} // namespace remanence::inspect
