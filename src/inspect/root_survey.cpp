#include "inspect/root_survey.hpp"

#include "inspect/heap_schema.hpp"
#include "inspect/object_classes.hpp"
#include "inspect/root_walk.hpp"
#include "types/root_reader.hpp"
#include "types/schema_table.hpp"

#include <optional>
#include <span>
#include <utility>

namespace remanence::inspect {

namespace {

result<void> survey(inspection& heap, surveyed_root& root) {
    auto own = heap.read({root.object, root.bytes}, [](std::uint64_t, std::span<const std::byte>) {});
    if (!own && !is_damage(own.why().code))
        return own.error();
    if (!own) {
        root.state = root_state::damaged;
        root.damage_offset = own.why().offset;
        return {};
    }
    if (!heap.knows_blocks()) {
        root.state = root_state::object_whole;
        return {};
    }
    auto damage = root_walk(heap, links::addresses_and_distances).run(root.object);
    if (!damage)
        return damage.error();
    if (*damage) {
        root.state = root_state::reaches_damage;
        root.damage_offset = **damage;
    }
    return {};
}

} // namespace

result<std::vector<surveyed_root>> list_roots(inspection& heap) {
    std::vector<surveyed_root> roots;
    auto damaged = [&](const failure& why) -> result<void> {
        if (!is_damage(why.code))
            return unexpected(why);
        heap.note(why);
        return {};
    };
    auto header = heap.header();
    if (!header) {
        REM_TRY(damaged(header.why()));
        return roots;
    }
    if (*header == nullptr)
        return roots;
    const types::root_reader reader(heap, heap.path());
    auto directory = reader.directory((*header)->root_word);
    if (!directory) {
        failure why = directory.why();
        why.message = "the roots cannot be found: " + why.message;
        why.offset = error::k_no_offset;
        REM_TRY(damaged(why));
        return roots;
    }
    for (std::uint64_t i = 0; *directory != nullptr && i < (*directory)->count; ++i) {
        auto entry = reader.entry(**directory, i);
        if (!entry) {
            failure why = entry.why();
            why.message = "root " + std::to_string(i + 1) + " of " + std::to_string((*directory)->count) +
                          " cannot be read from the root directory: " + why.message;
            why.offset = error::k_no_offset; // no place, because the page itself is reported as a problem, too
            REM_TRY(damaged(why));
            continue;
        }
        surveyed_root root{};
        root.name = entry->name;
        root.type = entry->type;
        root.object = entry->object;
        root.bytes = entry->bytes;
        root.fingerprint_hash = entry->fingerprint_hash;
        root.fingerprint_algorithm = entry->fingerprint_algorithm;
        root.damage_offset = error::k_no_offset;
        if (auto described = reader.description(*entry); !described)
            heap.note(described.why());
        else if (*described)
            root.structure = (*described)->text();
        if (!roots.empty() && roots.back().name >= root.name) {
            heap.note(
                {errc::corrupt,
                 "the root directory of " + heap.path() + " is not in the order of names at \"" + root.name + "\"",
                 heap.path()});
        }
        roots.push_back(std::move(root));
    }
    return roots;
}

void check_roots(inspection& heap, const std::vector<surveyed_root>& roots) {
    for (const surveyed_root& root : roots) {
        if (!heap.knows_blocks())
            break;
        const auto block = heap.block_of(root.object);
        if (!block || block->end() < root.object + root.bytes) {
            heap.note({errc::corrupt,
                       "the root \"" + root.name + "\" of " + heap.path() + " does not lie in an allocated block",
                       heap.path()});
        }
    }
}

result<void> check_schemas(inspection& heap, const std::vector<surveyed_root>& roots) {
    auto header = heap.header();
    if (!header || *header == nullptr || (*header)->type_table == 0)
        return {}; // list_roots() has reported a damaged header
    const std::uint64_t table = (*header)->type_table;
    const auto damaged = [&](failure why, std::uint64_t heap_offset) -> result<void> {
        if (!is_damage(why.code))
            return unexpected(std::move(why));
        if (why.offset == error::k_no_offset)
            why.offset = heap.file_offset(heap_offset);
        heap.note(why);
        return {};
    };
    auto schemas = types::read_schemas(heap, heap.path(), table);
    if (!schemas)
        return damaged(schemas.why(), table);
    if (heap.knows_blocks() && !heap.block_of(table))
        REM_TRY(damaged({errc::corrupt,
                         "the type table of " + heap.path() +
                             " does not lie in an allocated block, but at heap offset " + std::to_string(table),
                         heap.path()},
                        table));
    for (const surveyed_root& root : roots) {
        const auto stored = types::find_schema(*schemas, root.fingerprint_hash, root.fingerprint_algorithm);
        if (stored == nullptr)
            continue;
        auto schema = types::schema_of(*schemas, root.fingerprint_hash, root.fingerprint_algorithm, heap.path());
        if (!schema) {
            failure why = schema.why();
            why.message = "the root \"" + root.name + "\" cannot be looked into: " + why.message;
            REM_TRY(damaged(std::move(why), stored->place));
        } else if (types::bytes_of_root(**schema) > root.bytes) {
            REM_TRY(damaged(types::smaller_than_schema(root.name, heap.path()), stored->place));
        }
    }
    return {};
}

result<void> check_classes(inspection& heap) {
    auto header = heap.header();
    if (!header || *header == nullptr || (*header)->class_table == 0)
        return {};
    const std::uint64_t table = (*header)->class_table;
    auto place = to_read(heap);
    if (!place)
        return place.error();
    const auto classes = object_classes::of(*place);
    if (!classes && !is_damage(classes.why().code))
        return unexpected(classes.why());
    if (!classes) {
        heap.note(classes.why());
    } else if (heap.knows_blocks() && !heap.block_of(table)) {
        heap.note({errc::corrupt,
                   "the table of classes of " + heap.path() +
                       " does not lie in an allocated block, but at heap offset " + std::to_string(table),
                   heap.path(), 0, heap.file_offset(table)});
    }
    return {};
}

result<void> survey_roots(inspection& heap, std::vector<surveyed_root>& roots) {
    check_roots(heap, roots);
    if (heap.problems().empty())
        return {};
    for (surveyed_root& root : roots)
        REM_TRY(survey(heap, root));
    return {};
}

} // namespace remanence::inspect
