// Migrates roots of C programs. A separate file, so that only programs that migrate roots link it.

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/structs.hpp"
#include "capi/types.hpp"

#include <remanence/migrate.hpp>

#include <span>
#include <string>
#include <string_view>

using namespace remanence;

namespace remanence::capi {

namespace {

migration_options options_of(const rem_migration& given) {
    if ((given.renamed == nullptr && given.renamed_count != 0) ||
        (given.dropped == nullptr && given.dropped_count != 0))
        refuse_argument("rem_migrate needs as many names as its options say.");
    migration_options how;
    for (const rem_renamed_member& each : std::span(given.renamed, given.renamed_count)) {
        if (each.type == nullptr || each.old_name == nullptr || each.new_name == nullptr)
            refuse_argument("rem_migrate needs the type, the old and the new name of a member that was renamed.");
        how.renamed.push_back({std::string(name_in_schema(each.type)), each.old_name, each.new_name});
    }
    for (const char* const each : std::span(given.dropped, given.dropped_count)) {
        if (each == nullptr)
            refuse_argument("rem_migrate needs the names of members that are to be dropped.");
        how.dropped.emplace_back(name_in_schema(each));
    }
    return how;
}

[[noreturn]] void raise_impossible(const heap& of, std::string_view root, std::string_view type,
                                   const migration_report& report) {
    std::string why;
    for (const migration_change& each : report.changes) {
        if (!each.is_automatic)
            why += (why.empty() ? "" : "; ") + each.what;
    }
    throw error(errc::type_mismatch,
                "the root \"" + std::string(root) + "\" of " + of.path().string() + " cannot become a " +
                    std::string(type) + ": " + why +
                    ". Members that were renamed, or may go, are named in rem_migration. Nothing was changed.",
                of.path().string());
}

} // namespace

} // namespace remanence::capi

rem_status rem_migrate(rem_heap* heap, const char* root, const char* type, const rem_migration* how) {
    return capi::guard([&] {
        remanence::heap& of = capi::opened(heap).of;
        if (root == nullptr || type == nullptr)
            capi::refuse_argument("rem_migrate needs the name of the root, and that of its type.");
        const capi::described_types* const all = capi::all_described.load(std::memory_order_acquire);
        const detail::type_fingerprint* const described = all == nullptr ? nullptr : all->find(type);
        if (described == nullptr)
            capi::refuse_argument("rem_migrate needs a type that is described: call rem_describe() before.");
        migration_options options = capi::options_of(capi::whole_struct(how, "rem_migration"));
        const auto is_to_migrate = [&] {
            detail::heap_impl& impl = detail::impl_of(of);
            const detail::read_section section(&impl);
            return all->is_to_migrate(impl, root, *described);
        };
        if (!is_to_migrate())
            return REM_OK;
        // A dry run first, since a failure in a write section would also undo earlier uncommitted changes.
        options.dry_run = true;
        const migration_report report = detail::migrate_roots(of, {{root, described, {}}}, options);
        if (!report.is_possible)
            capi::raise_impossible(of, root, type, report);
        options.dry_run = false;
        (void)detail::migrate_roots(of, {{root, described, {}}}, options);
        return REM_OK;
    });
}
