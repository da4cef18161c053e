#include "objects/shared_objects.hpp"

#include "inspect/shape_walk.hpp"
#include "objects/object_blocks.hpp"
#include "types/root_directory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_kind;
using types::type_row;

namespace {

/// The last member on the path to an object, and the row of the object that has this member.
struct last_member {
    std::uint32_t owner;
    std::string_view name = {}; // empty if the last step leads to an element
};

/// Visits an object and everything in it.
template <class Visit>
result<void> visit_all(heap_source& objects, object_place of, last_member by, unsigned depth, const Visit& visit) {
    if (depth == inspect::k_depth_max)
        return objects.too_deep(of);
    REM_TRY(visit(of, by));
    if (is_character_array(objects.schema(), of.row)) // a text, which has no parts
        return {};
    return for_each_part(objects, of, [&](const inspect::object_part& each) -> result<bool> {
        last_member to = by;
        if (each.member != nullptr)
            to = {of.row, each.member->name.empty() ? objects.row(each.member->type).name : each.member->name};
        REM_TRY(visit_all(objects, each.place, to, depth + 1, visit));
        return true;
    });
}

/// Returns the names of all types in a schema, or only of those to which its pointers lead.
std::set<std::string> names_of_types(const type_description& schema, bool only_pointees) {
    std::set<std::string> names;
    for (std::uint32_t i = 0; i != schema.rows.size(); ++i) {
        if (!only_pointees && inspect::is_text(schema.rows[i]))
            names.insert("char"); // the row of a text does not name the type of its characters
        if (!only_pointees)
            names.insert(schema.name_of(i));
        else if (schema.rows[i].kind == type_kind::pointer)
            names.insert(schema.name_of(schema.rows[i].parts[0].type));
    }
    return names;
}

/// True if objects of this row, or objects in them or behind their pointers, hide bytes that may be an address.
// NOLINTNEXTLINE(misc-no-recursion): each row once
bool hides_addresses(const type_description& schema, std::uint32_t index, std::set<std::uint32_t>& seen) {
    if (!seen.insert(index).second)
        return false;
    const type_row& row = schema.rows[index];
    const bool is_hidden = form_of(row) == form::hidden && row.size >= k_word && !inspect::is_told_by_bytes(row);
    const std::vector<inspect::row_part> parts = inspect::parts_of(row);
    return is_hidden || inspect::is_foreign(row) ||
           std::any_of(parts.begin(), parts.end(), [&](const inspect::row_part& each) { // NOLINT(misc-no-recursion)
               return hides_addresses(schema, each.row, seen);
           });
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

namespace {

/// Adds the target of a pointer, and the object whose base it is.
result<void> add_pointee(heap_source& objects, const named_pointee& target, pointees_of_root& found) {
    if (!found.places.try_emplace(target, 0).second)
        return {};
    found.all.push_back(target);
    if (objects.classes() == nullptr || !inspect::has_vptr(objects.row(target.row)))
        return {};
    auto whole = objects.classes()->whole_of(objects.reader(), {target.row, target.at});
    if (!whole)
        return whole.error();
    if (whole->number)
        found.classes.insert(*whole->number);
    if (!whole->is_known) {
        const std::string name = objects.schema().name_of(target.owner);
        found.not_known.push_back(
            (target.member.empty() ? "an element of " + name : name + '.' + std::string(target.member)) +
            " leads to a " + objects.schema().name_of(target.row));
        return {};
    }
    const pointee key{whole->place.row, whole->place.at};
    if (key == pointee(target))
        return {};
    found.all.back().is_base = true;
    if (whole->number)
        found.derived[*whole->number].insert(target.row);
    if (found.places.try_emplace(key, 0).second)
        found.all.push_back({key, target.owner, target.member});
    return {};
}

} // namespace

result<void> collect_pointees(heap_source& objects, object_place root, pointees_of_root& found) {
    const auto visit = [&](object_place of, last_member by) -> result<void> {
        if (objects.classes() != nullptr && inspect::has_vptr(objects.row(of.row))) {
            auto whole = objects.classes()->whole_of(objects.reader(), of);
            if (!whole)
                return whole.error();
            if (whole->number)
                found.classes.insert(*whole->number);
        }
        if (form_of(objects.row(of.row)) != form::pointer)
            return {};
        auto to = objects.reader().target(of);
        if (!to)
            return to.error();
        if (*to == 0)
            return {};
        return add_pointee(objects, {{objects.row(of.row).parts[0].type, *to}, by.owner, by.name}, found);
    };
    REM_TRY(visit_all(objects, root, {root.row}, 0, visit));
    for (std::size_t i = 0; i != found.all.size(); ++i) { // found.all grows in this loop
        const object_place next{found.all[i].row, found.all[i].at};
        if (!found.all[i].is_base)
            REM_TRY(visit_all(objects, next, {next.row}, 0, visit));
    }
    return {};
}

result<bool> leads_to_hidden(heap_source& objects, std::uint64_t root) {
    std::set<std::uint32_t> seen;
    const type_description& schema = objects.schema();
    if (hides_addresses(schema, schema.root, seen))
        return true;
    if (objects.classes() == nullptr)
        return false;
    pointees_of_root reached;
    REM_TRY(collect_pointees(objects, {schema.root, root}, reached));
    return !reached.not_known.empty() ||
           std::any_of(reached.classes.begin(), reached.classes.end(), [&](std::size_t each) {
               const auto row = objects.classes()->row_of(each);
               return !row || hides_addresses(schema, *row, seen);
           });
}

bool search_words(txn::heap_memory& memory, std::vector<std::uint64_t> blocks,
                  const std::function<bool(std::uint64_t)>& is_block,
                  const std::function<bool(std::uint64_t)>& is_word) {
    std::unordered_set<std::uint64_t> seen;
    while (!blocks.empty()) {
        const std::uint64_t at = blocks.back();
        blocks.pop_back();
        const auto block = memory.block_of(memory.base() + at);
        if (!block || !seen.insert(memory.offset_of(block->start)).second)
            continue;
        if (is_block(memory.offset_of(block->start)))
            return true;
        const auto* const bytes = static_cast<const std::byte*>(block->start);
        for (std::uint64_t i = 0; i + k_word <= block->bytes; i += k_word) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + i, sizeof word);
            if (is_word(word))
                return true;
            const std::uint64_t to = word - reinterpret_cast<std::uintptr_t>(memory.base());
            if (to < memory.accessible_bytes())
                blocks.push_back(to);
        }
    }
    return false;
}

result<std::unordered_set<pointee, pointee_hash>> pointees_in_objects(heap_source& objects, object_place root,
                                                                      const pointees_of_root& all) {
    std::unordered_set<pointee, pointee_hash> found;
    const auto look = [&](object_place whole) {
        return visit_all(objects, whole, {whole.row}, 0, [&](object_place of, last_member) -> result<void> {
            const pointee key{of.row, of.at};
            if (key != pointee{whole.row, whole.at} && all.places.contains(key))
                found.insert(key);
            return {};
        });
    };
    REM_TRY(look(root));
    for (const named_pointee& each : all.all) {
        if (!each.is_base)
            REM_TRY(look({each.row, each.at}));
    }
    return found;
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
    for (const named_pointee& each : pointees.all) {
        if (!each.is_base)
            REM_TRY(add({each.row, each.at}));
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
}

namespace {

/// Implements root_with_common_objects(): compares the root with each other root.
class common_objects {
public:
    common_objects(txn::heap_memory& memory, const std::vector<types::stored_schema>& schemas,
                   const migrated_classes* classes, std::string_view root, heap_source& objects, std::uint64_t object)
        : memory_(memory),
          schemas_(schemas),
          classes_(classes),
          root_(root),
          objects_(objects),
          object_(object),
          bytes_(memory) {}

    result<std::string> find() {
        std::optional<unexpected> why;
        REM_TRY(types::root_directory(memory_).for_each([&](const types::root_view& other) {
            if (other.name == root_ || !found_.empty() || why)
                return;
            if (auto looked = look_at(other); !looked)
                why = looked.error();
        }));
        if (why)
            return std::move(*why);
        return std::move(found_);
    }

private:
    result<void> look_at(const types::root_view& other) {
        auto stored = types::schema_of(schemas_, other.fingerprint_hash, other.fingerprint_algorithm, memory_.path());
        if (!stored)
            return stored.error();
        if (!*stored)
            return compare_blocks(other, nullptr, {}, true);
        std::optional<class_rows> rows;
        if (classes_ != nullptr && inspect::have_vptrs(**stored))
            rows.emplace(*classes_, **stored);
        heap_source objects(bytes_, memory_.path(), reinterpret_cast<std::uintptr_t>(memory_.base()),
                            memory_.reserved_bytes(), **stored);
        if (rows)
            objects.know_classes(*rows);
        auto hides = leads_to_hidden(objects, memory_.offset_of(other.object));
        if (!hides)
            return hides.error();
        const std::optional<std::string> common = common_type(**stored);
        return common || *hides ? compare_blocks(other, &objects, common, *hides) : result<void>();
    }

    /// Returns the name of a type that one root has, and to which pointers of the other lead.
    [[nodiscard]] std::optional<std::string> common_type(const type_description& other) const {
        const auto common = first_in_both(own_pointees_, names_of_types(other, false));
        return common ? common : first_in_both(names_of_types(other, true), own_types_);
    }

    /// `objects` reads the other root; null if the heap does not have its schema.
    result<void> compare_blocks(const types::root_view& other, heap_source* objects,
                                const std::optional<std::string>& common, bool hides) {
        if (!own_blocks_) {
            auto blocks = blocks_of_all(memory_, objects_, {objects_.schema().root, object_});
            if (!blocks)
                return blocks.error();
            own_blocks_ = std::move(*blocks);
        }
        std::vector<std::uint64_t> others{memory_.offset_of(other.object)};
        if (objects != nullptr) {
            auto blocks = blocks_of_all(memory_, *objects, {objects->schema().root, others.front()});
            if (!blocks)
                return blocks.error();
            others = std::move(*blocks);
        }
        const std::string both = "the roots \"" + std::string(root_) + "\" and \"" + std::string(other.name) + "\"";
        const std::string advice = ": a root is converted by itself, and pointers of other roots would not follow. Set "
                                   "these pointers to null before, or keep both in one struct that is a root";
        const auto is_own = [&](std::uint64_t block) {
            return std::binary_search(own_blocks_->begin(), own_blocks_->end(), block);
        };
        const bool is_common = common && std::any_of(others.begin(), others.end(), is_own);
        if (is_common)
            found_ =
                both + " have objects in common, or one points at objects of the other, such as a " + *common + advice;
        else if (hides && search_words(memory_, std::move(others), is_own, [](std::uint64_t) { return false; }))
            found_ = both + " may have objects in common: \"" + std::string(other.name) +
                     "\" has a class that does not say its members (REM_REFLECT), or no schema, and a word in its "
                     "memory is an address of an object of \"" +
                     std::string(root_) + '"' + advice;
        return {};
    }

    txn::heap_memory& memory_;
    const std::vector<types::stored_schema>& schemas_;
    const migrated_classes* const classes_;
    const std::string_view root_;
    heap_source& objects_;
    const std::uint64_t object_;
    types::memory_bytes bytes_;
    const std::set<std::string> own_types_ = names_of_types(objects_.schema(), false);
    const std::set<std::string> own_pointees_ = names_of_types(objects_.schema(), true);
    std::optional<std::vector<std::uint64_t>> own_blocks_; // computed when first needed
    std::string found_;
};

} // namespace

result<std::string> root_with_common_objects(txn::heap_memory& memory, const std::vector<types::stored_schema>& schemas,
                                             const migrated_classes* classes, std::string_view root,
                                             heap_source& objects, std::uint64_t object) {
    return common_objects(memory, schemas, classes, root, objects, object).find();
}

} // namespace remanence::objects
