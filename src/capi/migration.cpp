// Migration of roots of C programs. Apart from all else, so that its code is in programs that call it, and in no others.

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

} // namespace

} // namespace remanence::capi

rem_status rem_migrate(rem_heap* heap, const char* root, const char* type, const rem_migration* how) {
    return capi::guard([&] {
        remanence::heap& of = capi::opened(heap).of;
        if (root == nullptr || type == nullptr)
            capi::refuse_argument("rem_migrate needs the name of the root, and that of its type.");
        const detail::type_fingerprint* const described = capi::described_type(type);
        if (described == nullptr)
            capi::refuse_argument("rem_migrate needs a type that is described: call rem_describe() before.");
        const rem_migration given = capi::whole_struct(how, "rem_migration");
        (void)detail::migrate_roots(of, {{root, described, {}}}, capi::options_of(given));
        return REM_OK;
    });
}
