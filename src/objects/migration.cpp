// Decides what must be done to a root, and what cannot be done. root_conversion does the work.
#include "objects/migration.hpp"

#include "objects/conversion_size.hpp"
#include "objects/joined_schema.hpp"
#include "objects/lost_values.hpp"
#include "objects/place_plan.hpp"
#include "objects/root_conversion.hpp"
#include "objects/shared_objects.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_row;

namespace {

/// True if an enumeration of the stored schema has other enumerators than the program's enumeration of the same name.
/// Equal fingerprints do not exclude that, since they do not contain enumerators.
bool has_other_enumerators(const type_description& stored, const type_description& program) {
    return std::any_of(stored.rows.begin(), stored.rows.end(), [&](const type_row& was) {
        const auto is_namesake = [&](const type_row& is) { return is.shape == was.shape && is.name == was.name; };
        const auto is_same = [&](const type_row& is) {
            return is_namesake(is) && is.labels == was.labels && is.numbers == was.numbers;
        };
        const auto& rows = program.rows;
        return was.shape == detail::shape_kind::enumeration && std::any_of(rows.begin(), rows.end(), is_namesake) &&
               std::none_of(rows.begin(), rows.end(), is_same);
    });
}

/// True if the heap's schema for this fingerprint describes objects of another release. False if that schema is
/// damaged.
bool has_other_schema(txn::heap_memory& memory, const detail::type_fingerprint& type, const types::root_view& root) {
    if (root.fingerprint_algorithm == type.algorithm && types::look_up_schema(memory, type).has_changed)
        return true;
    types::memory_bytes bytes(memory);
    const auto schemas = types::read_schemas(bytes, memory.path(), memory.header().type_table);
    if (!schemas)
        return false;
    const auto stored = types::schema_of(*schemas, root.fingerprint_hash, root.fingerprint_algorithm, memory.path());
    if (!stored || !*stored)
        return false;
    const auto program = schema_of_program(type);
    return program && has_other_enumerators(**stored, *program);
}

/// True if objects of a class have this base, directly or not.
// NOLINTNEXTLINE(misc-no-recursion): no type contains itself by value
bool has_base(const type_description& schema, std::uint32_t index, std::uint32_t base) {
    const auto* const members = members_of(schema.rows[index]);
    return members != nullptr &&
           std::any_of(members->begin(), members->end(), [&](const auto& each) { // NOLINT(misc-no-recursion)
               return each.name.empty() && (each.type == base || has_base(schema, each.type, base));
           });
}

class root_migration {
public:
    root_migration(txn::heap_memory& memory, const migration_request& request)
        : memory_(memory),
          request_(request),
          bytes_(memory),
          base_(reinterpret_cast<std::uintptr_t>(memory.base())),
          directory_(memory) {}

    result<migration_outcome> run() {
        migration_outcome outcome;
        auto root = directory_.look_up(request_.root);
        if (!root)
            return root.error();
        if (!*root)
            return outcome;
        const bool is_of_type = has_fingerprint(**root);
        const bool has_type = is_of_type && !has_other_schema(memory_, request_.type, **root);
        if (has_type && (request_.classes == nullptr || !request_.classes->change()))
            return outcome;
        REM_TRY(describe(**root));
        heap_source old_objects(bytes_, memory_.path(), base_, memory_.reserved_bytes(), from_);
        const std::uint64_t object = memory_.offset_of((*root)->object);
        REM_TRY(find_classes(old_objects, object));
        if (has_type && !leads_to_change())
            return outcome;
        outcome.is_needed = true;
        outcome.is_readable = false;
        step_table steps;
        if (auto prepared = steps.prepare(request_.steps); !prepared)
            return refused(prepared.why().code, prepared.why().message);
        row_matching rows = match(steps, outcome);
        object_builder builder(memory_, to_, {.trusts_order = true});
        const bool stays = outcome.is_possible && rows.has_same_bytes();
        outcome.is_in_place = stays;
        outcome.is_readable = is_of_type && stays;
        std::optional<place_plan> plan;
        if (outcome.is_possible && !stays) {
            plan.emplace(rows, old_objects, builder);
            outcome.is_in_place = plan->is_possible();
            REM_TRY(find_obstacles(old_objects, builder, rows, object, outcome));
        }
        if (request_.only_says) {
            if (request_.estimates && outcome.is_possible && !outcome.is_in_place)
                REM_TRY(estimate(old_objects, builder, rows, object, outcome.memory));
            return outcome;
        }
        if (!outcome.is_possible)
            return refused(errc::type_mismatch, text_of(outcome.changes));
        if (stays)
            REM_TRY(outcome.is_readable ? store_schema() : become((*root)->object));
        else
            REM_TRY(convert(old_objects, builder, rows, outcome.is_in_place ? &*plan : nullptr, object));
        return outcome;
    }

private:
    [[nodiscard]] migrated_root names() const {
        return {std::string(request_.root), request_.type.name, memory_.path()};
    }
    [[nodiscard]] unexpected refused(errc code, const std::string& why) const { return names().refused(code, why); }
    [[nodiscard]] bool has_fingerprint(const types::root_view& root) const {
        const detail::type_fingerprint& type = request_.type;
        return root.fingerprint_algorithm == 1
                   ? root.fingerprint_hash == type.hash_1
                   : root.fingerprint_hash == type.hash && root.fingerprint_algorithm == type.algorithm;
    }

    /// Finds the schemas of the stored type and of the program's.
    result<void> describe(const types::root_view& root) {
        auto schemas = types::read_schemas(bytes_, memory_.path(), memory_.header().type_table);
        if (!schemas)
            return schemas.error();
        schemas_ = std::move(*schemas);
        auto stored = types::schema_of(schemas_, root.fingerprint_hash, root.fingerprint_algorithm, memory_.path());
        if (!stored)
            return stored.error();
        if (!*stored)
            return refused(
                errc::not_supported,
                "the heap does not have the schema of the type " + std::string(root.type) +
                    ": the release that wrote it opens the root and commits, with this library, to store it");
        from_ = std::move(**stored);
        auto described = schema_of_program(request_.type);
        if (!described)
            return refused(errc::not_supported, "the type " + request_.type.name + " is too large for a schema");
        to_ = std::move(*described);
        return {};
    }

    /// Finds the classes of the objects with virtual functions to which the root leads.
    result<void> find_classes(heap_source& old_objects, std::uint64_t object) {
        if (request_.classes == nullptr || !inspect::have_vptrs(from_))
            return {};
        classes_.emplace(*request_.classes, from_);
        old_objects.know_classes(*classes_);
        return collect_pointees(old_objects, {from_.root, object}, reached_);
    }
    [[nodiscard]] bool leads_to_change() const {
        return std::any_of(reached_.classes.begin(), reached_.classes.end(),
                           [&](std::size_t each) { return request_.classes->at(each).changes; });
    }

    /// Matches the classes of objects to which pointers to their bases lead.
    void match_classes(row_matching& rows, const std::map<std::size_t, std::uint32_t>& becomes,
                       migration_outcome& outcome) const {
        std::vector<std::string> why;
        for (const std::string& each : reached_.not_known)
            why.push_back(each +
                          " of a class that does not say its members (REM_REFLECT), has a virtual base, or was made "
                          "since the last commit");
        for (const auto& [number, bases] : reached_.derived) {
            const std::string& name = request_.classes->stored()[number].name;
            const std::string advice = ". If it has another name now, .rename(rem::renamed_class) says so";
            const auto to = becomes.find(number);
            if (to == becomes.end()) {
                why.push_back("there are objects of the class " + name + ", which this program does not have" + advice +
                              "; if not, a program that calls heap::make() for the class has it");
                continue;
            }
            const auto lost = std::find_if(bases.begin(), bases.end(), [&](std::uint32_t base) {
                const auto now = rows.pointee(base);
                return now && !has_base(to_, to->second, *now);
            });
            if (lost != bases.end())
                why.push_back("a pointer to " + from_.name_of(*lost) + " leads to an object of the class " + name +
                              ", which has no base " + to_.name_of(*rows.pointee(*lost)) + " in this program" + advice);
            else
                outcome.is_possible = rows.match_class(*classes_->row_of(number), to->second) && outcome.is_possible;
        }
        outcome.changes = rows.changes();
        outcome.is_possible = outcome.is_possible && why.empty();
        for (std::string& each : why)
            outcome.changes.push_back({std::move(each), false});
    }

    /// Adds the program's classes to its schema. Returns, for the numbers of the heap's classes, what rows they get.
    std::map<std::size_t, std::uint32_t> add_own_classes() {
        std::map<std::size_t, std::uint32_t> rows;
        for (const auto& [number, bases] : reached_.derived) {
            const types::program_class* const now = request_.classes->at(number).now;
            const auto schema = now == nullptr ? std::nullopt : schema_of_program(*now->type);
            if (schema)
                rows[number] = join_schema(to_, *schema)[schema->root];
        }
        return rows;
    }

    row_matching match(const step_table& steps, migration_outcome& outcome) {
        const std::map<std::size_t, std::uint32_t> own = add_own_classes();
        row_matching rows(from_, to_);
        rows.use(steps);
        for (const member_renaming& each : request_.renamings)
            rows.rename(each.type, each.old_name, each.new_name);
        for (const class_renaming& each : request_.renamed_classes)
            rows.rename_class(each.old_name, each.new_name);
        for (const std::string& each : request_.dropped)
            rows.drop(each);
        outcome.is_possible = rows.match(from_.root, to_.root);
        match_classes(rows, own, outcome);
        return rows;
    }

    /// Called if the types match. Checks that the objects can be converted, and that no value is lost without
    /// permission.
    result<void> find_obstacles(heap_source& old_objects, const object_builder& builder, const row_matching& rows,
                                std::uint64_t object, migration_outcome& outcome) {
        auto why = why_not_converted(old_objects, builder, rows, outcome.is_in_place, object);
        if (!why)
            return why.error();
        if (why->empty() && rows.may_lose() && (!request_.only_says || request_.estimates)) {
            auto lost = values_lost(old_objects, rows, object);
            if (!lost)
                return lost.error();
            *why = std::move(*lost);
        }
        for (const std::string& each : *why) {
            std::erase_if(outcome.changes, // the new sentence says more than "book.year is gone"
                          [&](const type_change& known) { return each.starts_with(known.what + ", and "); });
            outcome.changes.push_back({each, false});
        }
        outcome.is_possible = why->empty();
        return {};
    }

    /// Lists the changes; those that need a decision come first.
    static std::string text_of(const std::vector<type_change>& changes) {
        std::string text;
        for (const bool is_automatic : {false, true}) {
            for (const type_change& each : changes) {
                if (each.is_automatic == is_automatic)
                    text += (text.empty() ? "" : "; ") + each.what + (is_automatic ? " (automatic)" : "");
            }
        }
        return text;
    }

    /// Converts the objects in place by this plan, or makes them anew.
    result<void> convert(heap_source& old_objects, object_builder& builder, const row_matching& rows,
                         const place_plan* in_place, std::uint64_t object) {
        root_conversion converted(memory_, old_objects, builder, rows, request_.classes, names(), request_.makers());
        std::uint64_t now = object;
        if (in_place != nullptr) {
            REM_TRY(converted.change_in_place(*in_place, object));
        } else {
            auto made = converted.convert(object);
            if (!made)
                return made.error();
            now = *made;
        }
        REM_TRY(become(memory_.base() + now));
        return converted.free_garbage();
    }

    /// Returns why the objects cannot be made anew, or changed in place, although their types match; empty if they can.
    result<std::vector<std::string>> why_not_converted(heap_source& old_objects, const object_builder& builder,
                                                       const row_matching& rows, bool is_in_place,
                                                       std::uint64_t object) {
        std::vector<std::string> why;
        if (!is_in_place) {
            why = rows.only_in_place();
            if (auto shape = conversion::why_not(builder, to_.root))
                why.push_back(std::move(*shape));
            for (const auto& [from, to] : rows.pointees()) {
                auto shape = inspect::has_vptr(builder.row(to)) ? conversion::why_not(builder, to) : std::nullopt;
                if (shape && why.empty())
                    why.push_back(std::move(*shape));
            }
        }
        if (!why.empty() || (request_.only_says && !request_.estimates))
            return why; // the conversion itself checks the rest
        auto shared = root_with_common_objects(memory_, schemas_, request_.classes, request_.root, old_objects, object);
        if (!shared)
            return shared.error();
        if (!shared->empty())
            why.push_back(std::move(*shared));
        return why;
    }

    /// Returns the values that would be lost in the root's object, and in objects to which pointers lead.
    result<std::vector<std::string>> values_lost(heap_source& old_objects, const row_matching& rows,
                                                 std::uint64_t root) {
        const object_place old{from_.root, root};
        lost_values lost(old_objects, rows);
        REM_TRY(lost.look_at(old, to_.root));
        if (has_pointer(from_)) {
            pointees_of_root pointed;
            REM_TRY(collect_pointees(old_objects, old, pointed));
            for (const named_pointee& each : pointed.all) {
                if (const auto becomes = rows.pointee(each.row))
                    REM_TRY(lost.look_at({each.row, each.at}, *becomes));
            }
        }
        return lost.found("say .drop(), or .rename() if it has another name now; in C, name it in rem_migration");
    }

    /// Makes this object the root's object, with the program's type.
    result<void> become(void* object) {
        REM_TRY(directory_.replace(request_.root, request_.type, object));
        return store_schema();
    }
    result<void> store_schema() {
        if (request_.leaves_schema)
            return {};
        const detail::type_fingerprint* const types[] = {&request_.type};
        return types::store_schemas(memory_, types);
    }

    /// Estimates the memory for objects that are made anew.
    result<void> estimate(heap_source& old_objects, object_builder& builder, const row_matching& rows,
                          std::uint64_t root, memory_need& memory) {
        const object_place old{from_.root, root};
        conversion_size size(old_objects, builder, rows);
        REM_TRY(size.add(old, to_.root));
        if (has_pointer(from_)) {
            pointees_of_root pointed;
            REM_TRY(collect_pointees(old_objects, old, pointed));
            auto parts = pointees_in_objects(old_objects, old, pointed);
            if (!parts)
                return parts.error();
            for (const named_pointee& each : pointed.all) {
                const auto becomes = rows.pointee(each.row);
                if (becomes && each.at != root && !parts->contains(each))
                    REM_TRY(size.add({each.row, each.at}, *becomes));
            }
        }
        auto blocks = blocks_of_all(memory_, old_objects, old);
        if (!blocks)
            return blocks.error();
        std::uint64_t old_bytes = 0;
        for (const std::uint64_t each : *blocks) {
            const auto block = memory_.block_of(memory_.base() + each);
            if (block && block->start == memory_.base() + each)
                old_bytes += memory_.bytes_of_block(block->bytes, k_word);
        }
        memory = {size.bytes(), static_cast<std::int64_t>(size.bytes()) - static_cast<std::int64_t>(old_bytes)};
        return {};
    }

    txn::heap_memory& memory_;
    const migration_request& request_;
    types::memory_bytes bytes_;
    std::uint64_t base_;
    types::root_directory directory_;
    std::vector<types::stored_schema> schemas_;
    type_description from_;
    type_description to_;
    std::optional<class_rows> classes_; // if the root may lead to objects with virtual functions
    pointees_of_root reached_;          // then: what it leads to
};

} // namespace

result<migration_outcome> migrate_root(txn::heap_memory& memory, const migration_request& request) {
    // A fingerprint has only one schema in the heap. Once that is replaced, no schema describes other roots of the same
    // fingerprint. So these are converted first.
    std::vector<std::string> others;
    std::optional<bool> is_other;
    if (request.classes != nullptr && request.classes->change()) // whose objects lie in several roots
        is_other = true;
    REM_TRY(types::root_directory(memory).for_each([&](const types::root_view& each) {
        const bool is_alike = each.fingerprint_hash == request.type.hash &&
                              each.fingerprint_algorithm == request.type.algorithm && each.name != request.root;
        if (is_alike && !is_other)
            is_other = has_other_schema(memory, request.type, each);
        if (is_alike && *is_other)
            others.emplace_back(each.name);
    }));
    migration_outcome all;
    const auto add = [&](migration_outcome&& done) {
        if (!done.is_needed)
            return;
        all.is_in_place = done.is_in_place && (!all.is_needed || all.is_in_place);
        all.is_needed = true;
        all.is_possible = all.is_possible && done.is_possible;
        all.is_readable = all.is_readable && done.is_readable;
        all.memory.add(done.memory);
        std::move(done.changes.begin(), done.changes.end(), std::back_inserter(all.changes));
    };
    for (const std::string& each : others) {
        migration_request other = request;
        other.root = each;
        other.leaves_schema = true;
        auto done = root_migration(memory, other).run();
        if (!done)
            return done.error();
        add(std::move(*done));
    }
    auto done = root_migration(memory, request).run();
    if (!done)
        return done.error();
    if (!others.empty() && !done->is_needed && !request.only_says) {
        // The requested root does not exist, so no call of run() has stored the schema.
        const detail::type_fingerprint* const types[] = {&request.type};
        REM_TRY(types::store_schemas(memory, types));
    }
    add(std::move(*done));
    return all;
}

} // namespace remanence::objects
