// Roots of older types, for the public template: src/objects converts them.

#include <remanence/migrate.hpp>

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "objects/migration.hpp"

namespace remanence::detail {

migration_report migrate_root(heap& of, std::string_view name, const type_fingerprint& type,
                              const std::vector<class_maker>& makers, const migration_options& how) {
    heap_impl& impl = impl_of(of);
    objects::migration_request request{.root = name, .type = type, .only_says = how.dry_run};
    for (const class_maker& each : makers)
        request.makers[readable_name(each.type->name())] = each.make;
    for (const renamed_member& each : how.renamed)
        request.renamings.push_back({each.type, each.old_name, each.new_name});
    const auto run = [&] {
        auto done = objects::migrate_root(impl.memory(), request);
        if (!done)
            raise(done.why());
        migration_report report{done->is_needed, done->is_possible, {}};
        for (const objects::type_change& each : done->changes)
            report.changes.push_back({each.what, each.is_automatic});
        return report;
    };
    if (how.dry_run)
        return of.read(run);
    if (impl.options.read_only)
        impl.origin.raise_read_only();
    if (const auto elsewhere = impl.engine().why_elsewhere())
        raise(errc::base_taken, "cannot migrate a root of " + of.path().string() +
                                    ": the heap is mapped elsewhere, since opening it at its own addresses failed: " +
                                    elsewhere->message);
    request.only_says = true; // so that nothing is written when there is nothing to do
    if (migration_report report = of.read(run); !report.is_needed)
        return report;
    request.only_says = false;
    return of.write(run);
}

} // namespace remanence::detail
