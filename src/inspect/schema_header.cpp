// Makes the output of `rem schema --cpp`: a C++ header with the structs and enumerations of a schema, in which each
// type comes after the types that it contains.
#include "base/units.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/object_text.hpp"
#include "types/number_shapes.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

/// True if the name consists of identifiers only, and so is no template, local class or part of an unnamed namespace.
bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}
bool is_plain_name(std::string_view name) { return !name.empty() && std::all_of(name.begin(), name.end(), is_of_name); }
bool is_of_library(std::string_view name) { return name.starts_with("std::") || name.starts_with("rem::"); }
bool is_word_of_language(std::string_view word) {
    constexpr std::string_view k_words[] = {"void",     "bool",     "char",   "wchar_t",  "char8_t",
                                            "char16_t", "char32_t", "short",  "int",      "long",
                                            "float",    "double",   "signed", "unsigned", "const"};
    return std::ranges::find(k_words, word) != std::end(k_words);
}
bool is_class(const type_row& row) { return row.kind == type_kind::members || row.shape == shape_kind::members; }
bool is_number(const type_row& row) { return types::is_number(row.shape) && row.shape != shape_kind::enumeration; }
std::pair<std::string, std::string> split(const std::string& name) {
    const std::size_t colon = name.rfind("::");
    return colon == std::string::npos ? std::pair(std::string(), name)
                                      : std::pair(name.substr(0, colon), name.substr(colon + 2));
}

/// Declares the structs and enumerations of one schema, each after the types that it contains. A class that does not
/// state its members is declared with its size and alignment only. If a member's type cannot be named, the member is
/// declared as an array of bytes.
class header_writer {
public:
    explicit header_writer(const type_description& schema) : schema_(schema), done_(schema.rows.size(), false) {
        for (const type_row& row : schema.rows) {
            if (!row.name.empty()) // pointers and arrays have no name
                names_.insert(row.name);
        }
    }

    std::string run(std::set<std::string>& declared) {
        for (std::uint32_t i = 0; i != schema_.rows.size(); ++i)
            forward(i, declared);
        for (std::uint32_t i = 0; i != schema_.rows.size(); ++i)
            write(i, declared, 0);
        return std::move(text_);
    }

private:
    static constexpr unsigned k_depth_max = 1000;

    struct layout {
        std::uint64_t bytes, alignment;
    };
    [[nodiscard]] layout layout_of(std::uint32_t index) const {
        const type_row& row = schema_.rows[index];
        if (row.kind == type_kind::pointer)
            return {sizeof(void*), alignof(void*)};
        if (row.kind == type_kind::array) { // an array's row comes after that of its elements
            const layout element = layout_of(row.parts[0].type);
            return {row.extent * element.bytes, element.alignment};
        }
        return {row.size, std::has_single_bit(row.alignment) ? row.alignment : 1};
    }
    /// True if the header declares this type. It must belong to the program and not to a library. It must not be a
    /// template, since each instance would declare the template again; nor nested in a class, since the class is no
    /// namespace.
    [[nodiscard]] bool is_declared_here(const type_row& row) const {
        const bool is_declarable = row.kind == type_kind::object || row.kind == type_kind::members;
        return is_declarable && !is_number(row) && row.size != 0 && is_plain_name(row.name) &&
               !is_of_library(row.name) && !names_.contains(split(row.name).first);
    }
    /// True if the header knows the types in the name of a function's type, which has no rows of them.
    [[nodiscard]] bool knows_names_in(std::string_view function) const {
        while (!function.empty()) {
            const auto end = std::ranges::find_if_not(function, is_of_name);
            const std::string_view word = function.substr(0, static_cast<std::size_t>(end - function.begin()));
            const auto is_it = [&](const type_row& row) { return row.name == word && is_declared_here(row); };
            if (!word.empty() && !is_word_of_language(word) && !is_of_library(word) &&
                std::ranges::none_of(schema_.rows, is_it))
                return false;
            function.remove_prefix(std::min(word.size() + 1, function.size()));
        }
        return true;
    }
    [[nodiscard]] bool can_be_named(std::uint32_t index, unsigned depth) const { // NOLINT(misc-no-recursion): bounded
        const type_row& row = schema_.rows[index];
        if (depth == k_depth_max)
            return false;
        const auto part_can = [&](const type_part& part) { // NOLINT(misc-no-recursion)
            return can_be_named(part.type, depth + 1);
        };
        switch (row.kind) {
        case type_kind::pointer:
        case type_kind::array:
            return part_can(row.parts[0]);
        case type_kind::plain:
            return row.name.ends_with(')') ? knows_names_in(row.name) : row.name == "void" || is_of_library(row.name);
        case type_kind::object:
        case type_kind::members:
            return is_number(row) || is_declared_here(row) ||
                   (is_of_library(row.name) && std::all_of(row.parts.begin(), row.parts.end(), part_can));
        default:
            return false;
        }
    }
    void within(const std::string& space, const std::string& what) {
        text_ += space.empty() ? what : "namespace " + space + " {\n" + what + "}\n";
    }
    void forward(std::uint32_t index, const std::set<std::string>& declared) {
        const type_row& row = schema_.rows[index];
        if (!is_declared_here(row) || declared.contains(row.name) || row.shape == shape_kind::enumeration)
            return;
        const auto [space, name] = split(row.name);
        within(space, "struct " + name + ";\n");
    }
    [[nodiscard]] std::string declaration(const type_part& part) const {
        const std::string type = schema_.name_of(part.type);
        if (!can_be_named(part.type, 0)) {
            if (schema_.rows[part.type].kind == type_kind::pointer)
                return "void* " + part.name + "; // " + type;
            return bytes(part.type, part.name) + " // " + type;
        }
        const std::size_t extent = type.find('['); // for example "int[3]" or "int (*)[3]"
        const std::size_t star = type.find("(*");
        if (star != std::string::npos)
            return type.substr(0, star + 2) + part.name + type.substr(star + 2) + ';';
        return (extent == std::string::npos || type.find('<', 0) != std::string::npos
                    ? type + ' ' + part.name
                    : type.substr(0, extent) + ' ' + part.name + type.substr(extent)) +
               ';';
    }
    [[nodiscard]] std::string bytes(std::uint32_t index, const std::string& name) const {
        const layout is = layout_of(index);
        return "alignas(" + std::to_string(is.alignment) + ") unsigned char " + name + '[' + std::to_string(is.bytes) +
               "];";
    }
    /// True if a compiler would lay out these members, in this order, at the offsets that the row states.
    [[nodiscard]] bool is_laid_out_in_order(const type_row& row) const {
        std::uint64_t end = 0;
        std::uint64_t alignment = 1;
        for (const type_part& each : row.parts) {
            const layout is = layout_of(each.type);
            end = align_up(end, is.alignment);
            if (!each.offset || *each.offset != end)
                return false;
            end += is.bytes;
            alignment = std::max(alignment, is.alignment);
        }
        return align_up(end, alignment) == row.size && alignment == row.alignment;
    }
    void write(std::uint32_t index, std::set<std::string>& declared, unsigned depth) { // NOLINT(misc-no-recursion)
        if (done_[index] || depth == k_depth_max)
            return;
        done_[index] = true;
        const type_row& row = schema_.rows[index];
        if (row.kind == type_kind::pointer)
            return;
        for (const auto* parts : {&row.parts, &row.fields}) {
            for (const type_part& part : *parts)
                write(part.type, declared, depth + 1);
        }
        if (!is_declared_here(row) || !declared.insert(row.name).second)
            return;
        if (row.shape == shape_kind::enumeration)
            write_enumeration(row);
        else if (is_class(row))
            write_class(row);
        else
            write_hidden(index);
    }
    void write_enumeration(const type_row& row) {
        const auto [space, name] = split(row.name);
        std::string body = "enum class " + name + " : " + schema_.name_of(row.parts[0].type) + " {";
        for (std::size_t i = 0; i != row.labels.size(); ++i)
            body += (i == 0 ? " " : ", ") + row.labels[i] + " = " +
                    std::to_string(static_cast<std::int64_t>(row.numbers[i]));
        within(space, body + " };\n");
    }
    void write_class(const type_row& row) {
        const auto [space, name] = split(row.name);
        const bool says_it = row.shape == shape_kind::members;
        bool has_bit_fields = false;
        std::string bases;
        std::string lines;
        const std::vector<type_part>& members = says_it ? row.fields : row.parts;
        const auto has_its_vptr = [&](const type_part& base) {
            return base.name.empty() && base.offset == 0 && has_vptr(schema_.rows[base.type]);
        };
        if (has_vptr(row) && std::none_of(members.begin(), members.end(), has_its_vptr))
            lines += "    virtual ~" + name + "() = default; // besides other virtual functions\n";
        for (std::size_t i = 0; i != members.size(); ++i) {
            const type_part& each = members[i];
            const auto place = place_of_member(row, members, i, 0);
            const bool is_base = says_it && each.name.empty() && each.offset;
            if (is_base && can_be_named(each.type, 0))
                bases += (bases.empty() ? " : " : ", ") + schema_.name_of(each.type);
            else if (is_base)
                lines += "    " + bytes(each.type, "base_at_" + std::to_string(*each.offset)) + " // " +
                         schema_.name_of(each.type) + '\n';
            else if (each.name.empty() || !place)
                has_bit_fields = true;
            else if (place->bits != 0)
                lines += "    " + schema_.name_of(each.type) + ' ' + each.name + " : " +
                         std::to_string(unsigned{place->bits}) + ";\n";
            else
                lines += "    " + declaration(each) + '\n';
        }
        std::string body = "struct " + name + bases + " {\n" + lines;
        if (has_bit_fields)
            body += "    // and bit-fields, whose places are not known\n";
        body += "};\n";
        if (!says_it && is_laid_out_in_order(row))
            body += "static_assert(sizeof(" + name + ") == " + std::to_string(row.size) + ");\n";
        within(space, body);
    }
    void write_hidden(std::uint32_t index) {
        const auto [space, name] = split(schema_.rows[index].name);
        within(space, "// It hides its members (no REM_REFLECT).\nstruct " + name + " {\n    " +
                          bytes(index, "hidden") + "\n};\nstatic_assert(sizeof(" + name +
                          ") == " + std::to_string(schema_.rows[index].size) + ");\n");
    }

    const type_description& schema_;
    std::vector<bool> done_;
    std::set<std::string_view> names_;
    std::string text_;
};

} // namespace

std::string schema_header(const std::vector<root_with_schema>& roots, const std::string& path) {
    std::string text = "// The types of the roots of " + on_one_line(path.substr(path.rfind('/') + 1)) +
                       ", as the heap's schema has them.\n#pragma once\n\n#include <remanence/remanence.hpp>\n\n"
                       "namespace rem = remanence;\n\n";
    std::set<std::string> declared;
    std::set<const type_description*> written;
    for (const root_with_schema& root : roots) {
        if (root.schema && written.insert(root.schema.get()).second)
            text += header_writer(*root.schema).run(declared);
    }
    text += '\n';
    for (const root_with_schema& root : roots)
        text +=
            "// root \"" + on_one_line(root.name) + "\": " + root.type + (root.schema ? "" : " (not stored)") + '\n';
    return text;
}

} // namespace remanence::inspect
