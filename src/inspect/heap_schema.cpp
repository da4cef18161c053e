#include "inspect/heap_schema.hpp"

#include "types/root_reader.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

result<heap_to_read> to_read(inspection& heap) {
    auto header = heap.header();
    if (!header)
        return header.error();
    return heap_to_read{heap, heap.path(), heap.super().base, heap.heap_bytes_end(), heap.version(), *header};
}

result<std::vector<root_with_schema>> roots_with_schema(inspection& heap) {
    auto place = to_read(heap);
    return place ? roots_with_schema(*place) : place.error();
}

result<std::vector<root_with_schema>> roots_with_schema(const heap_to_read& heap) {
    std::vector<root_with_schema> roots;
    if (heap.header == nullptr)
        return roots;
    const types::root_reader reader(heap.bytes, heap.path);
    auto directory = reader.directory(heap.header->root_word);
    if (!directory)
        return directory.error();
    auto schemas = types::read_schemas(heap.bytes, heap.path, heap.header->type_table);
    if (!schemas)
        return schemas.error();
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::shared_ptr<const type_description>> decoded;
    for (std::uint64_t i = 0; *directory != nullptr && i < (*directory)->count; ++i) {
        auto entry = reader.entry(**directory, i);
        if (!entry)
            return entry.error();
        const std::pair key(entry->fingerprint_hash, entry->fingerprint_algorithm);
        auto [known, is_new] = decoded.try_emplace(key);
        if (is_new) {
            auto schema = types::schema_of(*schemas, key.first, key.second, heap.path);
            if (!schema)
                return schema.error();
            if (*schema)
                known->second = std::make_shared<const type_description>(std::move(**schema));
        }
        root_with_schema root{std::string(entry->name),
                              std::string(entry->type),
                              entry->object,
                              entry->position_independent,
                              known->second,
                              {},
                              {}};
        root.description = entry->description;
        const auto stored = std::find_if(schemas->begin(), schemas->end(), [&](const types::stored_schema& each) {
            return each.hash == key.first && each.algorithm == key.second;
        });
        if (stored != schemas->end())
            root.stored = *stored;
        root.stored.encoded = {}; // it does not stay where it is
        const auto& schema = root.schema;
        const bool has_size = schema && (schema->rows[schema->root].kind == type_kind::object ||
                                         schema->rows[schema->root].kind == type_kind::members);
        if (has_size && schema->rows[schema->root].size > entry->bytes) {
            return fail(errc::corrupt,
                        "the root \"" + root.name + "\" of " + heap.path +
                            " is smaller than its schema says. Restore the heap from a copy.",
                        heap.path);
        }
        roots.push_back(std::move(root));
    }
    return roots;
}

std::string schema_text(const std::vector<root_with_schema>& roots) {
    std::string text;
    std::set<const type_description*> printed;
    for (const root_with_schema& root : roots) {
        text += root.name + ": " + root.type + '\n';
        if (!root.schema) {
            text += "    not stored: a program that knows this type and commits to the heap adds it\n";
            continue;
        }
        if (!printed.insert(root.schema.get()).second)
            continue;
        std::string rows = types::with_own_members(*root.schema).text();
        for (const type_row& row : root.schema->rows) {
            if (row.labels.empty())
                continue;
            rows += '\n' + row.name + " =";
            for (std::size_t i = 0; i != row.labels.size(); ++i)
                rows += (i == 0 ? " " : ", ") + row.labels[i] + ' ' +
                        std::to_string(static_cast<std::int64_t>(row.numbers[i]));
        }
        for (std::size_t at = 0; at < rows.size();) {
            const std::size_t end = std::min(rows.find('\n', at), rows.size());
            text += "    " + rows.substr(at, end - at) + '\n';
            at = end + 1;
        }
    }
    return text;
}

namespace {

/// A header that declares what a schema has of structs and enumerations, each after those that it holds.
class header_writer {
public:
    explicit header_writer(const type_description& schema) : schema_(schema), done_(schema.rows.size(), false) {}

    std::string run(std::set<std::string>& declared) {
        for (std::uint32_t i = 0; i != schema_.rows.size(); ++i)
            forward(i, declared);
        for (std::uint32_t i = 0; i != schema_.rows.size(); ++i)
            write(i, declared, 0);
        return std::move(text_);
    }

private:
    /// Of the program, and not of a library; no template, whose other instances would be declared again.
    [[nodiscard]] bool is_declared_here(const type_row& row) const {
        const bool is_class = row.kind == type_kind::members || row.shape == shape_kind::members;
        return (is_class || row.shape == shape_kind::enumeration) && row.name.find('<') == std::string::npos &&
               !row.name.starts_with("std::") && !row.name.starts_with("rem::");
    }
    static std::pair<std::string, std::string> split(const std::string& name) {
        const std::size_t colon = name.rfind("::");
        return colon == std::string::npos ? std::pair(std::string(), name)
                                          : std::pair(name.substr(0, colon), name.substr(colon + 2));
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
        const std::size_t extent = type.find('['); // "int[3]", "int (*)[3]"
        const std::size_t star = type.find("(*");
        if (star != std::string::npos)
            return type.substr(0, star + 2) + part.name + type.substr(star + 2);
        return extent == std::string::npos || type.find('<', 0) != std::string::npos
                   ? type + ' ' + part.name
                   : type.substr(0, extent) + ' ' + part.name + type.substr(extent);
    }
    void write(std::uint32_t index, std::set<std::string>& declared, unsigned depth) { // NOLINT(misc-no-recursion)
        constexpr unsigned k_depth_max = 1000;
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
        const auto [space, name] = split(row.name);
        std::string body;
        if (row.shape == shape_kind::enumeration) {
            body = "enum class " + name + " : " + schema_.name_of(row.parts[0].type) + " {";
            for (std::size_t i = 0; i != row.labels.size(); ++i)
                body += (i == 0 ? " " : ", ") + row.labels[i] + " = " +
                        std::to_string(static_cast<std::int64_t>(row.numbers[i]));
            within(space, body + " };\n");
            return;
        }
        const bool says_it = row.shape == shape_kind::members;
        const auto& members = says_it ? row.fields : row.parts;
        body = "struct " + name;
        bool has_hidden = false;
        std::string bases;
        std::string lines;
        for (const type_part& each : members) {
            if (says_it && each.name.empty() && each.offset)
                bases += (bases.empty() ? " : " : ", ") + schema_.name_of(each.type);
            else if (each.name.empty() || !each.offset)
                has_hidden = true;
            else
                lines += "    " + declaration(each) + ";\n";
        }
        body += bases + " {\n" + lines;
        if (has_hidden)
            body += "    // and members that are not known: bit-fields\n";
        body += "};\n";
        if (!has_hidden && !says_it)
            body += "static_assert(sizeof(" + name + ") == " + std::to_string(row.size) + ");\n";
        within(space, body);
    }

    const type_description& schema_;
    std::vector<bool> done_;
    std::string text_;
};

} // namespace

std::string schema_header(const std::vector<root_with_schema>& roots, const std::string& path) {
    std::string text = "// The types of the roots of " + path.substr(path.rfind('/') + 1) +
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
        text += "// root \"" + root.name + "\": " + root.type + (root.schema ? "" : " (not stored)") + '\n';
    return text;
}

} // namespace remanence::inspect
