// Migrates roots of older types, for the public templates. src/objects converts them.

#include <remanence/migrate.hpp>

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "objects/migration.hpp"
#include "types/type_description.hpp"

#include <functional>
#include <map>
#include <string>
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

objects::migration_request request_for(const root_to_migrate& root, const migration_options& how,
                                       const std::vector<objects::conversion_step>& steps) {
    objects::migration_request request{.root = root.name,
                                       .type = *root.type,
                                       .makers =
                                           [&] {
                                               std::map<std::string, std::function<void(void*)>> makers;
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
    for (const class_with_other_name& each : how.renamed_classes)
        request.renamed_classes.push_back({each.old_name, each.new_name});
    request.dropped = how.dropped;
    return request;
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
        for (const root_to_migrate& each : roots) {
            objects::migration_request request = request_for(each, how, steps);
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
              "the root \"" + first + "\" of " + of.path().string() +
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
