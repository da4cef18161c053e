#include "inspect/heap_schema.hpp"

#include "inspect/object_text.hpp"
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
        if (const auto* const stored = types::find_schema(*schemas, key.first, key.second))
            root.stored = *stored;
        root.stored.encoded = {}; // empty, because a view of the bytes may become invalid
        if (root.schema && types::bytes_of_root(*root.schema) > entry->bytes)
            return unexpected(types::smaller_than_schema(root.name, heap.path));
        roots.push_back(std::move(root));
    }
    return roots;
}

std::string schema_text(const std::vector<root_with_schema>& roots) {
    std::string text;
    std::set<const type_description*> printed;
    for (const root_with_schema& root : roots) {
        text += on_one_line(root.name) + ": " + root.type + '\n';
        if (!root.schema) {
            text += root.type.starts_with("C ")
                        ? "    not stored: a program in C that describes this type (rem_describe) sets the root, or "
                          "asks for it and commits\n"
                        : "    not stored: a program that knows this type and commits to the heap adds it\n";
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

} // namespace remanence::inspect
