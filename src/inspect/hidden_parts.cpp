#include "inspect/hidden_parts.hpp"

#include "inspect/object_reader.hpp"

namespace remanence::inspect {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
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
        if (row.kind == type_kind::pointer) // to what no type describes: it may be null
            return schema_.rows[row.parts[0].type].kind == type_kind::plain ? void()
                                                                            : look_at(row.parts[0].type, way + "->");
        if (row.kind == type_kind::array)
            return row.extent == 0 ? hidden(index, way) : look_at(row.parts[0].type, way + "[]");
        if (row.shape == shape_kind::members || row.kind == type_kind::members) {
            for (const type_part& each : row.shape == shape_kind::members ? row.fields : row.parts) {
                if (each.offset) // bit-fields are told together
                    look_at(each.type, way + '.' + (each.name.empty() ? schema_.name_of(each.type) : each.name));
            }
            return;
        }
        if (is_foreign(row))
            return hidden(index, way);
        std::size_t held = 0;
        switch (row.shape) {
        case shape_kind::none:
            return is_told_by_bytes(row) ? void() : hidden(index, way);
        case shape_kind::same_as_part:
            return look_at(row.parts[row.numbers[0]].type, way);
        case shape_kind::variant:
            held = row.parts.size();
            break;
        case shape_kind::optional:
            held = 1;
            break;
        default:
            if (is_container(row))
                return is_map(row) ? look_at_pair(row, way) : look_at(row.parts[0].type, way + "[]");
            return;
        }
        for (std::size_t i = 0; i != held; ++i)
            look_at(row.parts[i].type, way);
    }
    [[nodiscard]] std::vector<std::string> found() && { return std::move(found_); }

private:
    void look_at_pair(const type_row& map, const std::string& way) { // NOLINT(misc-no-recursion)
        const element_rows rows = rows_of_elements(map);
        look_at(rows.key, way + "[] (a key)");
        look_at(rows.value, way + "[]");
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
