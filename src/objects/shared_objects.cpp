#include "objects/shared_objects.hpp"

#include "inspect/object_text.hpp"
#include "objects/object_blocks.hpp"
#include "types/root_directory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_kind;
using types::type_row;

namespace {

struct collector final : inspect::object_walk::listener {
    collector(const type_description& of, pointees_of_root& to) : schema(of), found(to) {}
    void point(std::string& /*out*/, object_place pointer, std::uint64_t to) override {
        const pointee key{schema.rows[pointer.row].parts[0].type, to};
        if (to != 0 && found.places.try_emplace(key, 0).second)
            found.all.push_back(key);
    }
    const type_description& schema;
    pointees_of_root& found;
};

/// Names of the types that are in a schema, or only of those that its pointers lead to.
std::set<std::string> names_of_types(const type_description& schema, bool only_pointees) {
    std::set<std::string> names;
    for (std::uint32_t i = 0; i != schema.rows.size(); ++i) {
        if (!only_pointees)
            names.insert(schema.name_of(i));
        else if (schema.rows[i].kind == type_kind::pointer)
            names.insert(schema.name_of(schema.rows[i].parts[0].type));
    }
    return names;
}

std::optional<std::string> first_in_both(const std::set<std::string>& a, const std::set<std::string>& b) {
    const auto found = std::find_if(a.begin(), a.end(), [&](const std::string& each) { return b.contains(each); });
    return found == a.end() ? std::nullopt : std::optional(*found);
}

} // namespace

bool has_pointer(const type_description& schema) {
    return std::any_of(schema.rows.begin(), schema.rows.end(),
                       [](const type_row& row) { return row.kind == type_kind::pointer; });
}

result<void> collect_pointees(heap_source& objects, object_place root, pointees_of_root& found) {
    collector told(objects.schema(), found);
    inspect::object_walk walk(objects.reader(), told);
    const auto look = [&](object_place of) -> result<void> {
        std::string text;
        if (!inspect::is_container(objects.row(of.row)))
            return walk.put(text, of);
        return objects.for_each_element(of, [&](const element_place& each) -> result<bool> {
            text.clear();
            if (each.has_key)
                REM_TRY(walk.put(text, each.key));
            REM_TRY(walk.put(text, each.value));
            return true;
        });
    };
    REM_TRY(look(root));
    for (std::size_t i = 0; i != found.all.size(); ++i) // grows
        REM_TRY(look({found.all[i].row, found.all[i].at}));
    return {};
}

result<std::vector<std::uint64_t>> blocks_of_all(txn::heap_memory& memory, heap_source& objects, object_place root) {
    const auto base = reinterpret_cast<std::uintptr_t>(memory.base());
    pointees_of_root pointees;
    if (has_pointer(objects.schema()))
        REM_TRY(collect_pointees(objects, root, pointees));
    std::vector<std::uint64_t> blocks;
    const auto add = [&](object_place object) -> result<void> {
        const auto block = memory.block_of(memory.base() + object.at);
        blocks.push_back(block ? memory.offset_of(block->start) : object.at);
        return add_blocks_of(objects, base, object, blocks);
    };
    REM_TRY(add(root));
    for (const pointee& each : pointees.all)
        REM_TRY(add({each.row, each.at}));
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
}

result<std::string> root_with_common_objects(txn::heap_memory& memory, const std::vector<types::stored_schema>& schemas,
                                             std::string_view root, const type_description& schema,
                                             std::uint64_t object) {
    types::memory_bytes bytes(memory);
    const std::set<std::string> own = names_of_types(schema, false);
    const std::set<std::string> own_pointees = names_of_types(schema, true);
    std::optional<std::vector<std::uint64_t>> own_blocks;
    const auto blocks_of = [&](const type_description& by, std::uint64_t at) {
        heap_source objects(bytes, memory.path(), reinterpret_cast<std::uintptr_t>(memory.base()),
                            memory.reserved_bytes(), by);
        return blocks_of_all(memory, objects, {by.root, at});
    };
    std::string found;
    const auto look = [&](const types::root_view& other) -> result<void> {
        auto stored = types::schema_of(schemas, other.fingerprint_hash, other.fingerprint_algorithm, memory.path());
        if (!stored)
            return stored.error();
        if (!*stored)
            return {};
        auto common = first_in_both(own_pointees, names_of_types(**stored, false));
        if (!common)
            common = first_in_both(names_of_types(**stored, true), own);
        if (!common)
            return {};
        if (!own_blocks) {
            auto blocks = blocks_of(schema, object);
            if (!blocks)
                return blocks.error();
            own_blocks = std::move(*blocks);
        }
        auto blocks = blocks_of(**stored, memory.offset_of(other.object));
        if (!blocks)
            return blocks.error();
        const bool is_common = std::any_of(blocks->begin(), blocks->end(), [&](std::uint64_t each) {
            return std::binary_search(own_blocks->begin(), own_blocks->end(), each);
        });
        if (is_common)
            found = "the roots \"" + std::string(root) + "\" and \"" + std::string(other.name) +
                    "\" have objects in common, or one points at objects of the other, such as a " + *common +
                    ": a root is converted by itself, and pointers of other roots would not follow. Set these "
                    "pointers to null before, or keep both in one struct that is a root";
        return {};
    };
    std::optional<unexpected> why;
    REM_TRY(types::root_directory(memory).for_each([&](const types::root_view& other) {
        if (other.name == root || !found.empty() || why)
            return;
        if (auto looked = look(other); !looked)
            why = looked.error();
    }));
    if (why)
        return std::move(*why);
    return found;
}

} // namespace remanence::objects
