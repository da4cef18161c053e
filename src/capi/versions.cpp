// Keeps versions. Separate from history.cpp, so that only programs that keep versions link it.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <chrono>
#include <string_view>

using namespace remanence;

namespace remanence::capi {

namespace {

std::string_view name_given(const char* name) {
    if (name == nullptr)
        refuse_argument("a version needs a name: a text, not NULL.");
    return name;
}

rem_change as_c(version_difference::change how) {
    switch (how) {
    case version_difference::change::added:
        return REM_ADDED;
    case version_difference::change::removed:
        return REM_REMOVED;
    case version_difference::change::changed:
        break;
    }
    return REM_CHANGED;
}

/// Passes the entries one after the other, until the caller's function returns false.
template <class F>
void show(const version_difference& all, const F& visit) {
    for (const auto& each : all.ranges) {
        if (!visit({REM_RANGE_DIFFERS, REM_CHANGED, each.offset, each.bytes, "", "", "", ""}))
            return;
    }
    for (const auto& each : all.blocks) {
        if (!visit({REM_BLOCK_DIFFERS, as_c(each.how), each.offset, each.bytes, each.root.c_str(), "", "", ""}))
            return;
    }
    for (const auto& each : all.roots) {
        if (!visit({REM_ROOT_DIFFERS, as_c(each.how), 0, 0, each.name.c_str(), each.type.c_str(), "", ""}))
            return;
    }
    for (const auto& each : all.members) {
        if (!visit({REM_MEMBER_DIFFERS, as_c(each.how), 0, 0, each.path.c_str(), "", each.before.c_str(),
                    each.after.c_str()}))
            return;
    }
}

} // namespace

} // namespace remanence::capi

rem_status rem_squash(rem_heap* heap, uint64_t steps) {
    return capi::guard([&] {
        capi::opened(heap).of.squash(steps);
        return REM_OK;
    });
}

rem_status rem_keep(rem_heap* heap, const char* name, uint64_t* version) {
    return capi::guard([&] {
        const std::uint64_t kept = capi::opened(heap).of.keep(capi::name_given(name));
        if (version != nullptr)
            *version = kept;
        return REM_OK;
    });
}

rem_status rem_versions(rem_heap* heap, bool (*visit)(void* context, const rem_kept_version* version), void* context) {
    return capi::guard([&] {
        const remanence::heap& of = capi::opened(heap).of;
        if (visit == nullptr)
            capi::refuse_argument("rem_versions needs a function to call.");
        detail::heap_impl& impl = detail::impl_of(of);
        for (const kept_version& each : of.versions()) {
            const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(each.time.time_since_epoch());
            const rem_kept_version shown{
                each.version, each.parent.value_or(0), each.parent.has_value(), each.name.c_str(), time.count(),
                each.bytes,   each.is_present};
            if (!capi::call_back(impl, [&] { return visit(context, &shown); }))
                break;
        }
        return REM_OK;
    });
}

rem_status rem_find_version(rem_heap* heap, const char* name, uint64_t* version) {
    return capi::guard([&] {
        const remanence::heap& of = capi::opened(heap).of;
        const std::string_view wanted = capi::name_given(name);
        if (version == nullptr)
            capi::refuse_argument("rem_find_version needs a place for the number.");
        for (const kept_version& each : of.versions()) {
            if (each.name != wanted)
                continue;
            *version = each.version;
            return REM_OK;
        }
        const std::string why = of.path().string() + " keeps no version by the name \"" + std::string(wanted) +
                                "\". rem_versions() lists those that it keeps.";
        return capi::note(REM_NO_STEP, why.c_str(), of.path().string());
    });
}

rem_status rem_restore(rem_heap* heap, uint64_t version) {
    return capi::guard([&] {
        capi::opened(heap).of.restore(version);
        return REM_OK;
    });
}

rem_status rem_drop(rem_heap* heap, uint64_t version) {
    return capi::guard([&] {
        capi::opened(heap).of.drop(version);
        return REM_OK;
    });
}

rem_status rem_branch(rem_heap* heap, uint64_t version, const char* path) {
    return capi::guard([&] {
        remanence::heap& of = capi::opened(heap).of;
        if (path == nullptr || *path == '\0')
            capi::refuse_argument("rem_branch needs the path of the new heap.");
        of.branch(version, path);
        return REM_OK;
    });
}

rem_status rem_diff(rem_heap* heap, uint64_t before, uint64_t after,
                    bool (*visit)(void* context, const rem_difference* difference), void* context) {
    return capi::guard([&] {
        const remanence::heap& of = capi::opened(heap).of;
        if (visit == nullptr)
            capi::refuse_argument("rem_diff needs a function to call.");
        detail::heap_impl& impl = detail::impl_of(of);
        capi::show(of.diff(before, after), [&](const rem_difference& each) {
            return capi::call_back(impl, [&] { return visit(context, &each); });
        });
        return REM_OK;
    });
}
