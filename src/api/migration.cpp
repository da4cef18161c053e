// Migrates roots of older types, for the public templates. src/objects converts them.

#include <remanence/migrate.hpp>

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/virtual_part.hpp"
#include "objects/left_behind.hpp"
#include "objects/migration.hpp"
#include "types/type_description.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

/// Refuses if other processes have the heap open: their next sections would use objects of the root that no longer
/// exist.
void check_alone(heap_impl& impl, const heap& of) {
    const txn::sharing* const shared = impl.engine().shared();
    if (shared != nullptr && shared->protocol().attached_processes() > 1)
        raise(errc::in_use,
              "cannot migrate roots of " + of.path().string() +
                  " while other processes have the heap open and use their present types. Close it there first. "
                  "Nothing was changed.",
              of.path().string());
}

void check_named_once(const heap& of, const std::vector<root_to_migrate>& roots) {
    std::map<std::string, const type_fingerprint*> known;
    for (const root_to_migrate& each : roots) {
        const auto [found, is_new] = known.try_emplace(each.name, each.type);
        if (!is_new && found->second->hash != each.type->hash)
            raise(errc::invalid_argument,
                  "the root \"" + each.name + "\" of " + of.path().string() + " cannot become both a " +
                      found->second->name + " and a " + each.type->name + ". Name it once. Nothing was changed.",
                  of.path().string());
    }
}

/// Objects of C structs are made as zeros, since C has no constructors.
void add_zeros_of_c(const type_fingerprint& type, std::map<std::string, std::function<void(void*)>>& makers) {
    const auto schema = types::type_description::decode(type.schema, types::row_contents::schema);
    if (!schema)
        return; // the type is a C++ type
    for (const types::type_row& each : schema->rows) {
        if (each.kind == types::type_kind::members)
            makers[each.name] = [](void*) {};
    }
}

std::vector<objects::class_renaming> renamed_classes(const migration_options& how) {
    std::vector<objects::class_renaming> renamed;
    for (const class_with_other_name& each : how.renamed_classes)
        renamed.push_back({each.old_name, each.new_name});
    return renamed;
}

objects::migration_request request_for(const root_to_migrate& root, const migration_options& how,
                                       const std::vector<objects::conversion_step>& steps,
                                       objects::migrated_classes& classes) {
    objects::migration_request request{.root = root.name,
                                       .type = *root.type,
                                       .makers =
                                           [&] {
                                               std::map<std::string, std::function<void(void*)>> makers;
                                               for (const types::program_class& each : classes.all_own()) {
                                                   if (each.make != nullptr)
                                                       makers[each.name] = each.make;
                                               }
                                               const auto add = [&](const std::vector<class_maker>& all) {
                                                   for (const class_maker& each : all)
                                                       makers[readable_name(each.type->name())] = each.make;
                                               };
                                               add(root.makers);
                                               add_zeros_of_c(*root.type, makers);
                                               for (const migration_step& each : how.steps)
                                                   add(each.makers());
                                               return makers;
                                           },
                                       .steps = steps};
    for (const renamed_member& each : how.renamed)
        request.renamings.push_back({each.type, each.old_name, each.new_name});
    request.renamed_classes = renamed_classes(how);
    request.dropped = how.dropped;
    request.classes = &classes;
    return request;
}

/// Returns what the heap and the program have of classes with virtual functions.
objects::migrated_classes classes_for(heap_impl& impl, const migration_options& how) {
    std::vector<types::program_class> own;
    if (known_virtual_part != nullptr)
        own = known_virtual_part->classes();
    auto classes = objects::migrated_classes::of(impl.memory(), std::move(own), renamed_classes(how));
    if (!classes)
        raise(classes.why());
    return std::move(*classes);
}

/// If a class has changed, all roots that lead to its objects must be migrated together. Says which one is not.
std::string root_left_behind(heap_impl& impl, const objects::migrated_classes& classes,
                             const std::vector<root_to_migrate>& roots) {
    if (!classes.change())
        return {};
    auto left = objects::root_left_behind(impl.memory(), classes, [&](const types::root_view& root) {
        return std::any_of(roots.begin(), roots.end(), [&](const root_to_migrate& each) {
            return each.name == root.name ||
                   (root.fingerprint_hash == each.type->hash && root.fingerprint_algorithm == each.type->algorithm);
        });
    });
    if (!left)
        raise(left.why());
    return std::move(*left);
}

/// Makes what the heap records of classes fit the converted objects. Later calls, and the commit, replace their vptrs.
void finish_classes(heap_impl& impl, objects::migrated_classes& classes) {
    if (auto finished = classes.finish(); !finished)
        raise(finished.why());
    if (known_virtual_part != nullptr && (classes.has_made_objects() || impl.memory().header().class_table != 0))
        known_virtual_part->serve(impl, {}, assumption::none);
}

} // namespace

migration_report migrate_roots(heap& of, const std::vector<root_to_migrate>& roots, const migration_options& how) {
    objects::link_root_changes();
    check_named_once(of, roots);
    heap_impl& impl = impl_of(of);
    bool is_readable = true; // all roots that exist can be read with the program's types
    std::string first;       // the first root that needs a migration
    std::vector<objects::conversion_step> steps;
    steps.reserve(how.steps.size());
    for (const migration_step& each : how.steps)
        steps.push_back({each.was(), each.is(), each.fill(), [&each](void* object) { each.destroy(object); }});
    const auto run = [&](bool only_says) {
        migration_report report;
        objects::memory_need memory;
        objects::migrated_classes classes = classes_for(impl, how);
        report.is_needed = classes.change(); // also if it has no objects any more
        is_readable = is_readable && !classes.change();
        for (const root_to_migrate& each : roots) {
            objects::migration_request request = request_for(each, how, steps, classes);
            request.only_says = only_says;
            request.estimates = only_says && how.dry_run;
            auto done = objects::migrate_root(impl.memory(), request);
            if (!done)
                raise(done.why());
            if (done->is_needed && first.empty())
                first = each.name;
            report.is_needed = report.is_needed || done->is_needed;
            is_readable = is_readable && done->is_readable;
            report.is_possible = report.is_possible && done->is_possible;
            report.is_in_place = report.is_in_place && (!done->is_needed || done->is_in_place);
            memory.add(done->memory);
            for (const objects::type_change& change : done->changes)
                report.changes.push_back({change.what, change.is_automatic});
        }
        // The refusal of a root says more, so it comes first.
        const std::string left = report.is_possible ? root_left_behind(impl, classes, roots) : std::string();
        if (!left.empty() && !only_says)
            raise(errc::type_mismatch,
                  "the roots of " + of.path().string() + " cannot be migrated: " + left + ". Nothing was changed.",
                  of.path().string());
        if (!left.empty()) {
            report.is_possible = false;
            report.changes.push_back({left, false});
        }
        if (!only_says)
            finish_classes(impl, classes);
        report.peak_bytes = memory.peak_bytes;
        return report;
    };
    migration_report report = of.read([&] { return run(true); }); // dry run: if there is nothing to do, writes nothing
    if (how.dry_run || !report.is_needed)
        return report;
    if (impl.options.read_only) {
        if (is_readable)
            return report;
        raise(errc::read_only,
              (first.empty() ? "a class of objects in " : "the root \"" + first + "\" of ") + of.path().string() +
                  " is of an older type and cannot be migrated, since the heap is open read-only. Open it for writing "
                  "once, with the same heap_options::migrate; or read it with the release that wrote it.",
              of.path().string());
    }
    if (const auto elsewhere = impl.engine().why_elsewhere())
        raise(errc::base_taken, "cannot migrate a root of " + of.path().string() +
                                    ": the heap is mapped elsewhere, since opening it at its own addresses failed: " +
                                    elsewhere->message);
    return of.write([&] {
        check_alone(impl, of);
        migration_report done = run(false);
        check_alone(impl, of);
        if (impl.engine().has_history()) // an undo would restore objects of the old types
            check(impl.engine().history()->let_next_commit_migrate());
        return done;
    });
}

} // namespace remanence::detail
